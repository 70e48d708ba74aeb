/**
 * HeadTailKeeper: of a stream of any length, the beginning and the end.
 *
 * Invariants: bytes are counted before they are decoded; `bytesKept + bytesOmitted === bytesRead`; there is at most one
 * gap, and text is cut at character borders only. At each cut of its own it holds so many bytes more that a known value at the
 * edge is seen whole, and hidden whole. Deliberately absent: streams, clocks and the limits of several streams together
 * (`capture-limits.ts`).
 */
import { Blocks } from './blocks.ts';
import { joined, type Veiled, veiled } from './placeholder.ts';
import { type Cut, NOTHING_KNOWN, type Redactor } from './redaction.ts';

/** What was kept. */
export interface Kept {
  /** Redacted. Between head and tail stands a line that tells how many bytes were omitted. */
  readonly text: string;
  /** Head and tail as bytes, redacted; they may still belong to the keeper. */
  readonly parts: readonly Uint8Array[];
  readonly bytesRead: number;
  readonly bytesKept: number;
  readonly bytesOmitted: number;
  /** How many of the kept bytes come before the gap; all, when there is none. */
  readonly headBytes: number;
  readonly truncated: boolean;
  readonly redactions: number;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class HeadTailKeeper {
  readonly #limitBytes: number;
  readonly #headLimit: number;
  readonly #redactor: Redactor;
  /** How far a known value may reach over a cut. */
  readonly #spareBytes: number;
  readonly #head = new Blocks();
  readonly #tail = new Blocks();
  #headClosed = false;
  #gap = false;
  #bytesRead = 0;

  /** Keeps at most `limitBytes`, of which up to `headBytes` from the beginning (default a quarter). */
  constructor(limitBytes: number, redactor: Redactor = NOTHING_KNOWN, headBytes: number = Math.floor(limitBytes / 4)) {
    this.#limitBytes = limitBytes;
    this.#headLimit = Math.min(headBytes, limitBytes);
    this.#redactor = redactor;
    this.#spareBytes = Math.max(0, redactor.longest - 1);
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** How many bytes could be kept if the stream ended now. */
  get bytesHeld(): number {
    if (!this.#gap) return Math.min(this.#limitBytes, this.#bytesRead);
    return this.#headHeld + Math.min(this.#tail.length, this.#limitBytes - this.#headHeld);
  }

  get #headHeld(): number {
    return Math.min(this.#head.length, this.#headLimit);
  }

  /** Takes the next bytes; they belong to the keeper from now on. */
  write(bytes: Uint8Array): void {
    this.#bytesRead += bytes.length;
    let rest = bytes;
    if (!this.#headClosed) {
      const room = this.#headLimit + this.#spareBytes - this.#head.length;
      this.#head.append(bytes.subarray(0, room));
      if (bytes.length <= room) return;
      this.#headClosed = true;
      rest = bytes.subarray(room);
    }
    const room = this.#limitBytes - this.#headHeld + this.#spareBytes;
    if (rest.length > room) {
      this.#tail.clear();
      // A copy, so that a small window does not hold a large piece. (The `slice` of a Buffer would be none.)
      this.#tail.append(new Uint8Array(rest.subarray(rest.length - room)));
      this.#gap = true;
      return;
    }
    this.#tail.append(rest);
    if (this.#tail.length > room) {
      this.#tail.dropFront(this.#tail.length - room);
      this.#gap = true;
    }
  }

  /** Counts bytes that were dropped before they came here. What was kept of the end so far makes way: one gap only. */
  skip(bytes: number): void {
    if (bytes <= 0) return;
    this.#bytesRead += bytes;
    this.#headClosed = true;
    this.#tail.clear();
    this.#gap = true;
  }

  /**
   * What was kept, within `limitBytes` where that is less than the keeper's own limit. `cut`: whether the stream began before the
   * first byte that came here, or goes on after the last.
   */
  finish(limitBytes: number = this.#limitBytes, cut: Cut = {}): Kept {
    const redactor = this.#redactor;
    const limit = Math.min(limitBytes, this.#limitBytes);
    const head = this.#gap ? this.#head.join() : joined(this.#head.join(), this.#tail.join());
    if (!this.#gap && head.length <= limit) return this.#kept(veiled(head, redactor.spans(head, cut)), head.length);
    const headLimit = limit === 0 ? 0 : Math.floor((this.#headLimit * limit) / this.#limitBytes);
    // Where nothing was lost between them, head and tail are two views of the same bytes. Where something was, what a value
    // left at the far ends of the spare bytes is hidden too: after a cut of the keeper's own that is never seen.
    const tail = this.#gap ? this.#tail.join() : head;
    const headSpans = redactor.spans(head, this.#gap ? { ...cut, end: true } : cut);
    const tailSpans = this.#gap ? redactor.spans(tail, { ...cut, start: true }) : headSpans;
    const headEnd = wholeEnd(head.subarray(0, headLimit));
    const spare = Math.max(0, tail.length - (limit - Math.min(head.length, headLimit)));
    const tailStart = spare + wholeStart(tail.subarray(spare));
    return this.#kept(
      veiled(head, headSpans, 0, headEnd),
      headEnd,
      veiled(tail, tailSpans, tailStart),
      tail.length - tailStart,
    );
  }

  #kept(head: Veiled, headBytes: number, tail: Veiled | null = null, tailBytes = 0): Kept {
    const bytesKept = headBytes + tailBytes;
    const bytesOmitted = this.#bytesRead - bytesKept;
    const headText = decoder.decode(head.bytes);
    const gapLine = `${headText === '' || headText.endsWith('\n') ? '' : '\n'}… ${bytesOmitted} bytes omitted …\n`;
    return {
      text: tail === null ? headText : headText + gapLine + decoder.decode(tail.bytes),
      parts: tail === null ? [head.bytes] : [head.bytes, tail.bytes],
      bytesRead: this.#bytesRead,
      bytesKept,
      bytesOmitted,
      headBytes,
      truncated: tail !== null,
      redactions: head.placeholders + (tail?.placeholders ?? 0),
    };
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The length of `bytes` without a character that its end cuts off. */
function wholeEnd(bytes: Uint8Array): number {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead -= 1;
  const byte = bytes[lead] ?? 0;
  const needs = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
  return byte < 0xf5 && lead + needs > bytes.length ? lead : bytes.length;
}

/** How many bytes at the start of `bytes` are the rest of a character that was cut off. */
function wholeStart(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start += 1;
  return start;
}
