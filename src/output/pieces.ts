/**
 * Pieces: one stream of a request as those hear it who listen while it runs.
 *
 * Invariants: neither a character nor a known value is torn by the border of two pieces; a piece is a copy of at most
 * `PIECE_LENGTH`, and longer text comes as several; a gap is told once, with the first text after it. Deliberately absent: any
 * waiting for who listens, and what is kept for the result (`keeper.ts`).
 */
import type { OutputPiece } from '../model/event.ts';
import type { RedactedStream } from './redacted-stream.ts';
import type { Redactor } from './redaction.ts';

/** UTF-16 units. */
export const PIECE_LENGTH = 64 * 1024;

export class Pieces {
  readonly #stream: OutputPiece['stream'];
  readonly #text: RedactedStream;
  readonly #hear: (piece: OutputPiece) => void;
  #omittedBytes = 0;

  constructor(stream: OutputPiece['stream'], redactor: Redactor, hear: (piece: OutputPiece) => void) {
    this.#stream = stream;
    this.#text = redactor.stream();
    this.#hear = hear;
  }

  /** `omittedBytes` were dropped just before `bytes`. */
  write(bytes: Uint8Array, omittedBytes: number): void {
    if (omittedBytes > 0) {
      this.#tell(this.#text.cut());
      this.#omittedBytes += omittedBytes;
    }
    this.#tell(this.#text.write(bytes));
  }

  /** Tells what was held back. `torn`: more would have followed. */
  end(torn: boolean): void {
    this.#tell(this.#text.end(torn));
    if (this.#omittedBytes > 0) this.#piece('');
  }

  #tell(text: string): void {
    for (let at = 0; at < text.length; ) {
      const end = borderBefore(text, at + PIECE_LENGTH);
      this.#piece(text.slice(at, end));
      at = end;
    }
  }

  #piece(text: string): void {
    const piece = Object.freeze({ stream: this.#stream, text, omittedBytes: this.#omittedBytes });
    this.#omittedBytes = 0;
    this.#hear(piece);
  }
}

/** `at`, or one less where a surrogate pair would be torn. */
function borderBefore(text: string, at: number): number {
  if (at >= text.length) return text.length;
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at;
}
