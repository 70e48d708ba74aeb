/**
 * Ctx: what a request may touch and under whose name. Explicit, frozen, passed along; never ambient.
 *
 * Invariants: derived only by `fork` of its scope, which may only tighten the deadline; the signal is made when somebody
 * asks for it, since most never do. Deliberately absent: the scope itself. A ctx cannot start anything.
 */
import type { Trace } from '../model/option-shapes.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';

/** When everything in a scope is to have ended. */
export interface Deadline {
  /** The scope that set it; null when nothing bounds the scope. */
  readonly scope: string | null;
  /** Milliseconds until then, not below 0; `Infinity` without a deadline. */
  remainingMs(): number;
}

export interface Ctx {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  /** Aborts when the scope is cancelled, closed or past its deadline. */
  readonly signal: AbortSignal;
  readonly deadline: Deadline;
  readonly trace: Trace;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
}

/** A ctx whose signal is made on demand. */
export function makeCtx(fields: Omit<Ctx, 'signal'>, signal: () => AbortSignal): Ctx {
  return Object.freeze(
    Object.defineProperty({ ...fields }, 'signal', { enumerable: true, get: signal }) as typeof fields & Pick<Ctx, 'signal'>,
  );
}
