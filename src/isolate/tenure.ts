/**
 * Tenure: an isolate's exclusive hold of one thread, from its install task until the thread's exit is seen.
 *
 * Invariants: records arrive in the order they were posted, `exit` after them; `receive` never waits; a tenure is never
 * handed back, only ended. Deliberately absent: what the records mean (`isolate.ts`) and how a thread is got
 * (`thread-pool.ts`). This file holds the seam that fakes implement.
 */
import type { HostMessage } from '../wire/protocol.ts';

/** How a thread ended. */
export interface ThreadExit {
  readonly code: number | null;
  /** The error Node reported, if any: `ERR_WORKER_OUT_OF_MEMORY`, or an uncaught error that nothing in the thread could take. */
  readonly error: Error | null;
}

/** Who hears of a tenure. Never called from within `receive`, `post` or `terminate`. */
export interface TenureListener {
  /** A record came. It is not validated: user code can reach the port. */
  onRecord(record: unknown): void;
  /** The thread is gone. Records it posted may still be there: `receive` until undefined. */
  onExit(exit: ThreadExit): void;
}

export interface Tenure {
  /** The shared words, see `WORD` in `wire/protocol.ts`. */
  readonly words: Int32Array;
  readonly nonce: string;
  /** Resolves when the install task returned; rejects when the boot failed, passed `bootMs`, or the thread died. */
  readonly installed: Promise<void>;
  /** Set once the thread's exit was seen. */
  readonly exit: ThreadExit | null;
  listen(listener: TenureListener): void;
  /** @throws DataCloneError when the message cannot be cloned; nothing is posted then. */
  post(message: HostMessage, transfer?: readonly ArrayBuffer[]): void;
  /** The next unread record, wrapped, since a record may be anything; undefined when there is none. */
  receive(): { readonly message: unknown } | undefined;
  /** Issues the kill. `exit` is the only proof of death. */
  terminate(): void;
  /** A ref'ed port holds the process open. */
  ref(): void;
  unref(): void;
  /** Closes the port. Only after the last `receive`. */
  close(): void;
}

/** Where tenures come from. */
export interface TenureSource {
  /** Starts to boot a thread; `bootMs` bounds it. Throws a `LeaseholdError` when the thread entry is missing. */
  open(bootMs: number): Tenure;
  /** Ends what is left of the pool, bounded by `withinMs`. Every tenure must have been terminated before. */
  close(withinMs: number): Promise<void>;
}
