/**
 * What recovery tells, and what it asks the application: the shapes of its report and of the `reconcile` hooks.
 *
 * Invariants: plain and frozen; nothing in it that the log does not hold, and the log holds nothing that was to be hidden.
 * Deliberately absent: how an attempt is decided (`decide/aftermath.ts`), and doing it (`record/recovery.ts`).
 */
import type { IntentState } from './result.ts';
import type { Status } from './stop.ts';
import type { OpenIntent } from './stores.ts';

/** Under whose name an attempt was made. */
export interface AttemptName {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly tool: string;
}

/** One effect of an attempt, as far as the log knows it. */
export interface LoggedIntent {
  /** `''` for the body of an opaque tool. */
  readonly intent: string;
  readonly key: string;
  readonly state: IntentState;
}

/** An attempt whose host was lost, and what was written about it. */
export interface ClosedAttempt extends AttemptName {
  readonly status: Status;
  readonly code: string | null;
  readonly intents: readonly LoggedIntent[];
  /** Why it is not among `rerunnable` though nothing of it took effect; null otherwise. */
  readonly withheld: string | null;
}

/** An effect that may or may not have happened. Somebody has to find out, and to append `reconciled`. */
export interface HeldIntent extends OpenIntent {
  readonly why: string;
}

/**
 * What may be tried again: an attempt of which nothing took effect, or one whose open effects are all `rerun-same-key`. With the
 * same tenant, run, branch, tool and input, or the same `idempotencyKey`, its intents have the same keys again.
 */
export interface RerunnableAttempt extends AttemptName {
  /** As the input schema returned it; absent when that was `undefined`, or when it is a blob. */
  readonly input?: unknown;
  /** The blob of the tenant that holds the input, as JSON. */
  readonly inputBlob?: string;
  /** The caller's, or null. */
  readonly idempotencyKey: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The blob that holds the labels, when they are too many for an entry; `labels` is empty then. */
  readonly labelsBlob?: string;
  readonly intents: readonly LoggedIntent[];
}

/** An open effect whose end is known now, and was written. */
export interface ReconciledIntent extends OpenIntent {
  readonly verdict: 'applied' | 'not-applied';
  /** By `onAmbiguous: 'assume-applied'`, and not because anybody looked. */
  readonly assumed: boolean;
  readonly evidence: unknown;
}

/** What recovery could not do. Whatever it was about is as it was before. */
export interface RecoveryFailure {
  readonly step: 'read' | 'close' | 'reconcile' | 'survivors';
  readonly requestId: string | null;
  readonly attempt: number | null;
  readonly intent: string | null;
  readonly message: string;
}

/** A live process that a host started which is gone. It was not touched. */
export interface SurvivingProcess {
  readonly pid: number;
  /** The name of its program. */
  readonly name: string;
  /** When it started, ISO 8601. */
  readonly since: string;
  /** The pid its host had. */
  readonly host: number;
}

export interface RecoveryReport {
  readonly closed: readonly ClosedAttempt[];
  readonly held: readonly HeldIntent[];
  readonly rerunnable: readonly RerunnableAttempt[];
  readonly reconciled: readonly ReconciledIntent[];
  readonly failures: readonly RecoveryFailure[];
  readonly survivors: readonly SurvivingProcess[];
}

/** What a hook found out. `evidence` is redacted, and cut to 2 KiB of JSON, before it is kept. */
export interface Reconciliation {
  readonly verdict: 'applied' | 'not-applied' | 'unknown';
  readonly evidence?: unknown;
}
export interface ReconcileContext {
  /** Aborts when the answer is awaited no longer. */
  readonly signal: AbortSignal;
  /** Blobs of the intent's tenant. */
  readonly blobs: { get(digest: string): Promise<Uint8Array> };
}
/**
 * Finds out, by reading only, whether an effect happened. It is asked again, at most three times, when it throws or does not
 * know, all within `reconcileMs`; the answer may also be asked for again by a later recovery.
 */
export type Reconcile = (intent: OpenIntent, ctx: ReconcileContext) => Reconciliation | Promise<Reconciliation>;
