/**
 * Whether a request may wait for an isolate.
 *
 * Invariant: a supervisor that is open and has an isolate for everyone who waits refuses nobody, also with a queue of
 * capacity 0. Deliberately absent: waiting for room (`untilCapacity`), which is the queue's.
 */

/** What `admit` looks at. */
export interface AdmissionView {
  /** A state of `machines/supervisor.ts`. */
  readonly state: 'opening' | 'open' | 'degraded' | 'draining' | 'closing' | 'closed';
  /** Requests not yet leased, without the one that asks. */
  readonly waiting: number;
  readonly capacity: number;
  /** Those of them that wait for isolates of the same lane. */
  readonly ahead: number;
  /** Isolates of the lane that could be leased at once. */
  readonly idle: number;
}
export type Admission = 'ok' | 'QUEUE_FULL' | 'CLOSED' | 'DEGRADED';

/** `'ok'`, or the suffix of the code of the refusal. */
export function admit({ state, waiting, capacity, ahead, idle }: AdmissionView): Admission {
  return refusalIn(state) ?? (waiting < capacity || ahead < idle ? 'ok' : 'QUEUE_FULL');
}

/** Why nobody is admitted, whoever waits; null where it depends on that. */
export function refusalIn(state: AdmissionView['state']): 'CLOSED' | 'DEGRADED' | null {
  if (state === 'draining' || state === 'closing' || state === 'closed') return 'CLOSED';
  return state === 'degraded' ? 'DEGRADED' : null;
}
