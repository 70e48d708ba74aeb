/**
 * The controls of one request: what is prepared of it, and when a further attempt follows one that ended.
 *
 * Invariant: public, optional, in milliseconds or counts, with the default told. Deliberately absent: their checks
 * (`control-options.ts`), and every decision (`decide/retry.ts`).
 */
import type { IntentRecord, RunError } from './result.ts';
import type { Status, Stop } from './stop.ts';
import type { Trace } from './trace.ts';
import type { Effects, Isolation } from './work.ts';

/** What is about to run, redacted and detached: the application may keep or change it. */
export interface PreparedRun {
  readonly tool: string;
  readonly input: unknown;
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly effects: Effects;
  readonly isolation: Isolation;
  readonly limits: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Under whose name it is about to run. */
export interface PreparedContext {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly signal: AbortSignal;
  readonly trace: Trace;
}

/**
 * A prepared request, good for one `runPrepared` of the scope that made it or of one around it, and of no other supervisor. Idle it
 * holds no timer, no isolate and no place in the queue.
 */
export interface PreparedExecution<Out = unknown> {
  readonly id: string;
  /** A copy of the caller's own, also after it ran or was discarded. */
  details(): PreparedRun;
  /** Drops input, options and callbacks. False when it was used or discarded before. */
  discard(): boolean;
  /** Types only; never present. */
  readonly '~output'?: Out;
}

/** What a schema has against a value. */
export interface Issue {
  /** Names and positions joined by dots; empty for the value itself. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}
export type Validation = { readonly ok: true } | { readonly ok: false; readonly issues: readonly Issue[] };

/** How an attempt ended. Frozen and redacted. */
export interface AttemptEnd {
  /** From 1. */
  readonly attempt: number;
  readonly status: Status;
  readonly error: RunError;
  readonly cause: Stop | null;
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
  /** Of all attempts so far. */
  readonly intents: readonly IntentRecord[];
  /** What decides without `when`. */
  readonly retrySafe: boolean;
}

export interface BackoffOptions {
  /** Before the second attempt, 0 or more. Default 100. */
  readonly initialMs?: number;
  /** What each further wait is multiplied with, 1 or more. Default 2. */
  readonly factor?: number;
  /** Default 10 000. */
  readonly maxMs?: number;
  /** The share of each wait that is left to chance, 0 to 1: `'full'` is 1, `'none'` 0. Default `'full'`. */
  readonly jitter?: 'full' | 'none' | number;
  /** From 0 to 1. For tests. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * When an attempt that did not succeed is followed by another with the same input, and the same keys of its intents. Never
 * after a cancel, a shutdown, a deadline of the scope or the operation, a refusal, or an `onPrepared` that threw; never while an
 * intent is open, unless each open one was dispatched with `onAmbiguous: 'rerun-same-key'`; never once `transfer` was moved.
 */
export interface RetryOptions {
  /** Attempts in all, 1 to 100. Default 3. */
  readonly attempts?: number;
  readonly backoff?: BackoffOptions;
  /**
   * Decides instead of `ERROR_CODES`, by which an isolate that died, a process that did not start, a run timeout and an
   * unavailable lease are tried again. Synchronous; a throw ends the retrying and is told in the diagnostics.
   */
  readonly when?: (end: AttemptEnd) => boolean;
}

/** Under whose name an output is repaired. */
export interface RepairContext {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  /** Whose output it is. */
  readonly attempt: number;
  /** Aborts when the answer is awaited no longer. */
  readonly signal: AbortSignal;
}

/**
 * Asked for another input when the output schema refused a value; `undefined` lets the request fail with `INVALID_OUTPUT`. What it
 * returns is validated, and the authorizer asked about it, as a first input is. A throw is told in the diagnostics.
 */
export type Repair = (invalidOutput: unknown, issues: readonly Issue[], context: RepairContext) => unknown;

export interface RepairOptions {
  readonly with: Repair;
  /** Repairs at most, 1 to 100. Default 3. */
  readonly attempts?: number;
  /** Milliseconds for each answer. Default: `validateMs`. */
  readonly withinMs?: number;
}
