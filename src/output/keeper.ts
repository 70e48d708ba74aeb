/**
 * HeadTailKeeper: of a stream of any length, the beginning and the end.
 *
 * Invariants: bytes are counted before they are decoded; `bytesKept + bytesOmitted === bytesRead`; there is at most one
 * gap, and text is cut at character borders only. Deliberately absent: streams, clocks and the limits of several
 * streams together (`capture-limits.ts`).
 */
import { Blocks } from './blocks.ts';
import { NOTHING_KNOWN, type Redactor } from './redaction.ts';

/** What was kept. */
export interface Kept {
  /** Redacted. Between head and tail stands a line that tells how many bytes were omitted. */
  readonly text: string;
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
  readonly #head = new Blocks();
  readonly #tail = new Blocks();
  #headClosed = false;
  #gap = false;
  #bytesRead = 0;

  /** Keeps at most `limitBytes`, of which up to `headBytes` from the beginning (default a quarter). */
  constructor(limitBytes: number, headBytes: number = Math.floor(limitBytes / 4)) {
    this.#limitBytes = limitBytes;
    this.#headLimit = Math.min(headBytes, limitBytes);
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** How many bytes are held now. */
  get bytesHeld(): number {
    return this.#head.length + this.#tail.length;
  }

  /** Takes the next bytes; they belong to the keeper from now on. */
  write(bytes: Uint8Array): void {
    this.#bytesRead += bytes.length;
    let rest = bytes;
    if (!this.#headClosed) {
      const room = this.#headLimit - this.#head.length;
      this.#head.append(bytes.subarray(0, room));
      if (bytes.length <= room) return;
      this.#headClosed = true;
      rest = bytes.subarray(room);
    }
    const room = this.#limitBytes - this.#head.length;
    if (rest.length > room) {
      this.#tail.clear();
      // A copy, so that a small window does not hold a large piece.
      this.#tail.append(rest.slice(rest.length - room));
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

  /** What was kept, within `limitBytes` where that is less than the keeper's own limit. */
  finish(redactor: Redactor = NOTHING_KNOWN, limitBytes: number = this.#limitBytes): Kept {
    const before = redactor.count;
    let head = this.#head.join();
    let tail = this.#tail.join();
    if (!this.#gap && head.length + tail.length <= limitBytes) {
      const text = redactor.text(decoder.decode(joined(head, tail)));
      const bytesKept = this.#bytesRead;
      const redactions = redactor.count - before;
      return {
        text,
        bytesRead: bytesKept,
        bytesKept,
        bytesOmitted: 0,
        headBytes: bytesKept,
        truncated: false,
        redactions,
      };
    }
    const limit = Math.min(limitBytes, this.#limitBytes);
    const headLimit = limit === 0 ? 0 : Math.floor((this.#headLimit * limit) / this.#limitBytes);
    if (head.length > headLimit) {
      if (!this.#gap) tail = joined(head.subarray(headLimit), tail);
      head = head.subarray(0, headLimit);
    }
    head = head.subarray(0, wholeEnd(head));
    tail = tail.subarray(Math.max(0, tail.length - (limit - head.length)));
    tail = tail.subarray(wholeStart(tail));
    const bytesKept = head.length + tail.length;
    const bytesOmitted = this.#bytesRead - bytesKept;
    const headText = redactor.text(decoder.decode(head), { end: true });
    const tailText = redactor.text(decoder.decode(tail), { start: true });
    const text = `${headText}${headText === '' || headText.endsWith('\n') ? '' : '\n'}… ${bytesOmitted} bytes omitted …\n${tailText}`;
    const redactions = redactor.count - before;
    return {
      text,
      bytesRead: this.#bytesRead,
      bytesKept,
      bytesOmitted,
      headBytes: head.length,
      truncated: true,
      redactions,
    };
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (b.length === 0) return a;
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
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
