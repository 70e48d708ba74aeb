/**
 * Stops: the recorded reasons to end an attempt.
 *
 * Invariant: the words here are the only ones a result, an event or a log uses for why something ended.
 * Deliberately absent: which stop wins (`decide/precedence.ts`) and what status follows (`decide/classify.ts`).
 */

/** Every reason to end an attempt. `host-lost` is written only by recovery. */
export const STOP_KINDS = [
  'shutdown',
  'cancel',
  'parent-deadline',
  'operation-timeout',
  'queue-timeout',
  'run-timeout',
  'output-limit',
  'health-failure',
  'isolate-exit',
  'lease-unavailable',
  'host-lost',
] as const;
export type StopKind = (typeof STOP_KINDS)[number];

/** The states of a lease, in the words of `machines/lease.ts`. */
export const LEASE_STATES = [
  'queued',
  'acquired',
  'running',
  'terminating',
  'draining',
  'completed',
  'quarantined',
] as const;
export type LeaseState = (typeof LEASE_STATES)[number];

/** One recorded reason to end an attempt. */
export interface Stop {
  readonly kind: StopKind;
  /** Milliseconds since the request began: the instant it was due, not the instant it was noticed. */
  readonly atMs: number;
  /** The state of the lease when it was recorded. */
  readonly state: LeaseState;
  /** The scope that owns the deadline or was cancelled, where it is not the request itself. */
  readonly scope?: string;
  /** The caller's words, redacted. */
  readonly reason?: string;
}

/** How a request ended. */
export const STATUSES = [
  'rejected',
  'denied',
  'succeeded',
  'indeterminate',
  'failed',
  'cancelled',
  'timed-out',
  'interrupted',
] as const;
export type Status = (typeof STATUSES)[number];
