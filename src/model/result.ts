/**
 * The result of a request: its shape as types, and `runResultSchema`, which accepts exactly that shape.
 *
 * Invariant: plain data, JSON-safe apart from `value`; no getters, no methods.
 * Deliberately absent: how a result is made (`run/`), and how it becomes a throw (`unwrap` in `errors.ts`).
 */
import type { LeaseState, Status, Stop } from './stop.ts';

/** An error as plain data. Redacted; message at most 4 KiB, stack at most 16 KiB. */
export interface RunError {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: RunError;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly truncated: boolean;
}

/** What a probe saw in an isolate after a lease. */
export interface Finding {
  readonly kind: FindingKind;
  readonly condemns: boolean;
  readonly detail?: string;
}

export const FINDING_KINDS = [
  'residual-handle',
  'child-process',
  'nested-thread',
  'global-added',
  'global-symbol-added',
  'intrinsic-changed',
  'prepare-stack-trace-changed',
  'process-listener',
  'listener-removed',
  'late-error',
  'reset-failed',
  'health-failed',
  'nonce-violation',
  'env-changed',
  'killed',
  'abandoned',
  'exited',
  'orphans-killed',
  'orphans-left',
  'unverified',
  'contaminated',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

export interface LeaseRecord {
  readonly id: string;
  /** Null when no isolate was ever granted. */
  readonly isolate: { readonly id: string; readonly kind: 'thread' | 'process' | 'inline' } | null;
  readonly path: readonly LeaseState[];
  readonly end: 'completed' | 'quarantined';
  /** More than 16 are told once per kind, with their number. */
  readonly findings: readonly Finding[];
}

/** Milliseconds, of the whole request; states summed over attempts. */
export interface Timing {
  /** ISO 8601. */
  readonly startedAt: string;
  readonly queuedMs: number;
  readonly acquiredMs: number;
  readonly runningMs: number;
  readonly terminatingMs: number;
  readonly drainingMs: number;
  readonly totalMs: number;
  /** The longest a stop may take to end this request. */
  readonly boundMs: number;
}

export interface Attempt {
  readonly number: number;
  readonly status: Status;
  readonly cause: Stop | null;
  readonly lease: LeaseRecord | null;
  readonly timing: Timing;
}

export type IntentState = 'dispatched' | 'applied' | 'not-applied' | 'failed';

export interface IntentRecord {
  readonly name: string;
  readonly key: string;
  readonly state: IntentState;
  readonly atMs: number;
}

/** What is kept of one stream. Bytes are counted before decoding. */
export interface Stream {
  readonly text: string;
  /** With `encoding: 'bytes'` only: a copy of what was kept, redacted; not frozen. `bytesOmitted` are missing after `headBytes`. */
  readonly bytes?: Uint8Array;
  readonly bytesRead: number;
  readonly bytesKept: number;
  readonly bytesOmitted: number;
  readonly headBytes: number;
  readonly truncated: boolean;
  readonly eof: boolean;
  readonly redactions: number;
}

export interface Output {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly combinedBytes: number;
  readonly postKill: Stream;
  readonly drain: {
    readonly ended: 'eof' | 'settled' | 'quiet' | 'cap';
    readonly ms: number;
    readonly holders: readonly string[];
  };
}

export interface Diagnostic {
  readonly code: string;
  readonly message: string;
  readonly atMs: number;
}

/** A line the tool logged. Redacted, at most 2 KiB. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

export type Durability = 'none' | 'process' | 'synced';

/** How a request ended. Deep-frozen, except `value`, which is handed over as it came. `ok` and `status` tell them apart. */
export type RunResult<T = unknown> = RunReport & (Succeeded<T> | Unsuccessful);

interface Succeeded<T> {
  readonly status: 'succeeded';
  readonly ok: true;
  readonly value: T;
  readonly error: null;
}
interface Unsuccessful {
  readonly status: Exclude<Status, 'succeeded'>;
  readonly ok: false;
  readonly value?: undefined;
  readonly error: RunError;
}

/** What every result tells, whatever its status. */
export interface RunReport {
  readonly cause: Stop | null;
  readonly also: readonly Stop[];
  readonly late: null | 'within-grace' | 'after-kill';
  readonly request: {
    readonly id: string;
    readonly tool: string;
    readonly tenant: string;
    readonly run: string;
    readonly branch: string;
    readonly group?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly attempts: readonly Attempt[];
  };
  readonly lease: LeaseRecord | null;
  readonly timing: Timing;
  readonly exit: null | { readonly code: number | null; readonly signal: string | null };
  readonly output: Output;
  readonly intents: readonly IntentRecord[];
  readonly durability: Durability;
  readonly diagnostics: readonly Diagnostic[];
  /** What the tool logged, the first 200 lines. */
  readonly logs: readonly LogLine[];
  readonly dropped: { readonly diagnostics: number; readonly logLines: number; readonly lateEvents: number };
}
