/**
 * Flow: a tool's output on its way to a stream of this process, which its reader may take as slowly as it likes.
 *
 * Invariants: what waits for the reader is bounded; what does not fit is left out whole and told as soon as anything fits
 * again, and at the end. Deliberately absent: whose output it is, and holding up the tool, which has bounds of its own.
 */
import { type Clock, settlesWithin } from '../model/time.ts';

/** What may wait for a reader. */
const MOST_BYTES = 32 * 1024 * 1024;
/** How long a reader that takes nothing is waited for at the end. Milliseconds. */
const PATIENCE_MS = 60_000;

/** The part of a writable stream that is needed here. */
export interface Sink {
  /** What waits for the reader. Bytes. */
  readonly writableLength: number;
  write(bytes: Uint8Array, done?: () => void): unknown;
}

export class Flow {
  readonly #sink: Sink;
  readonly #write: (text: string) => void;
  readonly #tellOmitted: (bytes: number) => void;
  #omitted = 0;

  /** `write` takes what fits; `tellOmitted` hears how many bytes did not. */
  constructor(sink: Sink, write: (text: string) => void, tellOmitted: (bytes: number) => void) {
    this.#sink = sink;
    this.#write = write;
    this.#tellOmitted = tellOmitted;
  }

  /** `omitted`: so many bytes were left out before, by somebody else. */
  write(text: string, omitted = 0): void {
    this.#omitted += omitted;
    const bytes = Buffer.byteLength(text);
    if (this.#sink.writableLength + bytes > MOST_BYTES) {
      this.#omitted += bytes;
      return;
    }
    this.end();
    this.#write(text);
  }

  /** Nothing follows: what was left out is told. */
  end(): void {
    if (this.#omitted === 0) return;
    this.#tellOmitted(this.#omitted);
    this.#omitted = 0;
  }
}

/**
 * Writes `text` and waits until the reader has taken it, and everything before it. False when the reader took nothing at all for
 * `PATIENCE_MS`: the rest is then given up.
 */
export async function printed(sink: Sink, text: string, clock: Clock): Promise<boolean> {
  const taken = new Promise<void>((done) => {
    sink.write(Buffer.from(text), () => done());
  });
  for (let left = Number.POSITIVE_INFINITY; left > sink.writableLength; ) {
    left = sink.writableLength;
    if (await settlesWithin(clock, PATIENCE_MS, taken)) return true;
  }
  return false;
}
