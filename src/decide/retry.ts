/**
 * What follows an attempt: the end of its request, another attempt, or a repair of its output.
 *
 * Invariants: pure and total; nothing follows a stop that was meant for the whole request, and nothing runs again beside an intent
 * that may have happened, unless each such intent says that it may. Deliberately absent: the application's own say (`when`).
 */
import { ERROR_CODES, type ErrorCode } from '../model/errors.ts';
import type { IntentRecord } from '../model/result.ts';
import type { StopKind } from '../model/stop.ts';
import { type AttemptRecord, classify, type Verdict } from './classify.ts';

export interface EndView {
  /** With the intents of the attempts before it. */
  readonly record: AttemptRecord;
  readonly verdict: Verdict;
  /** Whether an open intent may run again under its key. */
  readonly mayRerun: (intent: IntentRecord) => boolean;
  /** Its input is not here any more: buffers of it were moved. */
  readonly isSpent: boolean;
  readonly retriesLeft: number;
  readonly repairsLeft: number;
}
/** `'retry'` is still subject to the application's say, else to `isSafe`. */
export type NextStep =
  | { readonly step: 'end' | 'repair' }
  | {
      readonly step: 'retry';
      /** Another attempt may end differently, by `ERROR_CODES`. */
      readonly isSafe: boolean;
    };

/** Stops of the request and not of one attempt. */
const OF_REQUEST: ReadonlySet<StopKind> = new Set([
  'cancel',
  'operation-timeout',
  'parent-deadline',
  'shutdown',
  'host-lost',
]);
const END: NextStep = Object.freeze({ step: 'end' });
const REPAIR: NextStep = Object.freeze({ step: 'repair' });

export function nextStep({ record, verdict, mayRerun, isSpent, retriesLeft, repairsLeft }: EndView): NextStep {
  const { status, code } = verdict;
  if (status === 'succeeded' || status === 'rejected' || status === 'denied' || code === 'ON_PREPARED') return END;
  if (isSpent || record.stops.some(({ kind }) => OF_REQUEST.has(kind))) return END;
  const open = record.intents.filter(({ state }) => state === 'dispatched');
  if (code === 'INVALID_OUTPUT' && repairsLeft > 0) return REPAIR;
  if (retriesLeft <= 0 || !open.every(mayRerun)) return END;
  // An intent that may run again is no reason to stop here: what else happened decides.
  const bare = open.length === 0 ? verdict : classify({ ...record, intents: [] });
  return { step: 'retry', isSafe: isRetrySafe(bare.code) };
}

/** Who waited the whole queue timeout does not wait a second one unasked. */
function isRetrySafe(code: string | null): boolean {
  return code !== null && code !== 'QUEUE_TIMEOUT' && ERROR_CODES[code as ErrorCode]?.retrySafe === true;
}

/** Milliseconds before the next attempt, `made` retries after the first. `chance` is from 0 to 1. */
export function backoffMs(
  { initialMs, factor, maxMs, jitter }: Readonly<Record<'initialMs' | 'factor' | 'maxMs' | 'jitter', number>>,
  made: number,
  chance: number,
): number {
  const fullMs = initialMs === 0 ? 0 : Math.min(maxMs, initialMs * factor ** made);
  return fullMs * (1 - jitter * chance);
}

/**
 * The intents of a request, after one more attempt. An open one of an earlier attempt is known to be applied once the same effect
 * was applied under the same key; nothing else that happens later tells what became of it.
 */
export function joinedIntents(earlier: readonly IntentRecord[], later: readonly IntentRecord[]): IntentRecord[] {
  const isApplied = ({ name, key, state }: IntentRecord) =>
    state === 'dispatched' && later.some((one) => one.state === 'applied' && one.key === key && one.name === name);
  const settled = earlier.map((one): IntentRecord => (isApplied(one) ? { ...one, state: 'applied' } : one));
  return [...settled, ...later];
}
