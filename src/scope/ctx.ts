/**
 * Ctx: what a request may touch and under whose name. Explicit, frozen, passed along; never ambient.
 *
 * Invariants: derived only by `fork` of its scope, which may only tighten the deadline; the signal and a generated trace are
 * made when somebody asks, since most never do. Deliberately absent: the scope itself. A ctx cannot start anything.
 */
import type { Trace } from '../model/option-shapes.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';
import { newTrace } from './trace.ts';

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

export const NO_DEADLINE: Deadline = Object.freeze({ scope: null, remainingMs: () => Number.POSITIVE_INFINITY });

/** Who a ctx asks for what is made on demand, and for the stores. */
export interface CtxSource {
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
}

export class ScopeCtx implements Ctx {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly deadline: Deadline;
  readonly #source: CtxSource;
  #trace: Trace | null;

  constructor(source: CtxSource, tenant: string, run: string, branch: string, deadline: Deadline, trace: Trace | null) {
    this.tenant = tenant;
    this.run = run;
    this.branch = branch;
    this.deadline = deadline;
    this.#source = source;
    this.#trace = trace;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.#source.signal;
  }
  get trace(): Trace {
    this.#trace ??= newTrace();
    return this.#trace;
  }
  get eventLog(): EventLog {
    return this.#source.eventLog;
  }
  get blobs(): BlobStore {
    return this.#source.blobs;
  }
}
