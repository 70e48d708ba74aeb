/**
 * FatalText: Node's last words on standard error, and what they say of an exit.
 *
 * Invariant: only the end of the text is kept; an exit is explained only by all that V8 itself writes before it aborts,
 * its account of the last collections by this very process included, so that a tool's own words do not pass for it.
 * Deliberately absent: errors that JavaScript could still tell; the isolate tells those itself.
 */
import { LeaseholdError } from '../model/errors.ts';

const KEPT_BYTES = 16 * 1024;
const LAST_WORDS = 1024;
/** How an abort ends where there are no signals. */
const ABORT_CODES: ReadonlySet<number | null> = new Set([134, 3, 5]);

export class FatalText {
  readonly #pid: number | null;
  #tail: Uint8Array = new Uint8Array(0);

  /** `pid`: of the process whose words they are. */
  constructor(pid: number | null) {
    this.#pid = pid;
  }

  push(bytes: Uint8Array): void {
    const joined = Buffer.concat([this.#tail, bytes]);
    this.#tail = joined.subarray(Math.max(0, joined.byteLength - KEPT_BYTES));
  }

  /** The end of the text, printable and of a bounded length. */
  get lastWords(): string {
    const text = Buffer.from(this.#tail).toString('utf8');
    return text
      .replace(/[^\n\x20-\x7e\u00a0-\uffff]/g, '?')
      .trim()
      .slice(-LAST_WORDS);
  }

  /** Null when the exit says it all. */
  errorOf(code: number | null, signal: string | null): Error | null {
    const isAbort = signal === 'SIGABRT' || signal === 'SIGTRAP' || signal === 'SIGILL' || ABORT_CODES.has(code);
    if (!isAbort || !this.#isExhausted()) return null;
    return new LeaseholdError('OUT_OF_MEMORY', 'The process exhausted its heap.');
  }

  #isExhausted(): boolean {
    const [, account] = Buffer.from(this.#tail)
      .toString('latin1')
      .split(/^<--- Last few GCs --->$/m);
    // Not from the start of a line: what V8 remembers of older collections may be cut in the middle.
    const collected = new RegExp(`\\[${this.#pid}:0x[0-9a-f]+\\] +[0-9]+ ms: `);
    if (account === undefined || !collected.test(account)) return false;
    return /^FATAL ERROR: .*(?:heap out of memory|Allocation failed)/m.test(account.slice(account.search(collected)));
  }
}
