/**
 * The status of an attempt, decided from its record alone; nothing else may name a status.
 *
 * Invariants: pure and total; used when an attempt ends and after a crash. The first match in the order of the statuses
 * wins. Deliberately absent: error messages and shapes, and any reading of clocks, signals or isolates.
 */
import type { IntentRecord } from '../model/result.ts';
import type { Status, Stop } from '../model/stop.ts';

/** What ended the tool's own work, if anything did. */
export type Outcome =
  | { readonly kind: 'value'; readonly accepted: boolean }
  /** `ofStop`: the exception is the stop's own, not the tool's. */
  | { readonly kind: 'exception'; readonly code: string; readonly ofStop: boolean };

export interface AttemptRecord {
  /** Never admitted, and why: a code. */
  readonly rejected: string | null;
  /** Refused by the authorizer, and why: a code. */
  readonly denied: string | null;
  readonly outcome: Outcome | null;
  /** In recorded order; the first is the cause. */
  readonly stops: readonly Stop[];
  readonly intents: readonly IntentRecord[];
  /** True when a result that came after a stop is not to count. */
  readonly discardLate: boolean;
}

export interface Verdict {
  readonly status: Status;
  /** Null when the outcome explains itself. */
  readonly cause: Stop | null;
  readonly also: readonly Stop[];
  /** The suffix of the error's code, see `ERROR_CODES`; null when succeeded. */
  readonly code: string | null;
}
export type Classify = (record: AttemptRecord) => Verdict;
