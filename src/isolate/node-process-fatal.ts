/**
 * FatalText: Node's last words on standard error, and what they say of an exit.
 *
 * Invariant: only the end of the text is kept; an exit is explained only by words that V8 itself writes before it aborts.
 * Deliberately absent: errors that JavaScript could still tell; the isolate tells those itself.
 */
import { LeaseholdError } from '../model/errors.ts';

const KEPT_BYTES = 16 * 1024;
const EXHAUSTED = /^FATAL ERROR: .*(?:heap out of memory|Allocation failed)/m;
/** How an abort ends where there are no signals. */
const ABORT_CODES: ReadonlySet<number | null> = new Set([134, 3, 5]);

export class FatalText {
  #tail: Uint8Array = new Uint8Array(0);

  push(bytes: Uint8Array): void {
    const joined = Buffer.concat([this.#tail, bytes]);
    this.#tail = joined.subarray(Math.max(0, joined.byteLength - KEPT_BYTES));
  }

  /** Null when the exit says it all. */
  errorOf(code: number | null, signal: string | null): Error | null {
    const isAbort = signal === 'SIGABRT' || signal === 'SIGTRAP' || signal === 'SIGILL' || ABORT_CODES.has(code);
    if (!isAbort || !EXHAUSTED.test(Buffer.from(this.#tail).toString('latin1'))) return null;
    return new LeaseholdError('OUT_OF_MEMORY', 'The process exhausted its heap.');
  }
}
