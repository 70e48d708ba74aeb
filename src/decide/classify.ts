/**
 * The status of an attempt, decided from its record alone; nothing else may name a status.
 *
 * Invariants: pure and total; used when an attempt ends and after a crash. The first match in the order of the statuses
 * wins. Deliberately absent: error messages and shapes, and any reading of clocks, signals or isolates.
 */
import type { IntentRecord } from '../model/result.ts';
import type { Status, Stop, StopKind } from '../model/stop.ts';

/** What ended the tool's own work, if anything did. */
export type Outcome =
  | { readonly kind: 'value'; readonly accepted: boolean }
  /** `ofStop`: the exception is the stop's own, not the tool's. `code` is a suffix of `ERROR_CODES`. */
  | { readonly kind: 'exception'; readonly code: string; readonly ofStop: boolean };

export interface AttemptRecord {
  /** Never admitted, and why: a code. */
  readonly rejected: string | null;
  /** Refused by the authorizer, the request or a hop of it, and why: a code. */
  readonly denied: string | null;
  readonly outcome: Outcome | null;
  /** In recorded order; the first is the cause. */
  readonly stops: readonly Stop[];
  readonly intents: readonly IntentRecord[];
  /** True when a result that came after a stop is not to count. Stops recorded while draining came after it. */
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

/** What a stop that is the cause makes of an attempt. */
const BY_CAUSE: Readonly<Record<StopKind, readonly [Status, string]>> = {
  cancel: ['cancelled', 'CANCELLED'],
  'operation-timeout': ['timed-out', 'OPERATION_TIMEOUT'],
  'run-timeout': ['timed-out', 'RUN_TIMEOUT'],
  'queue-timeout': ['timed-out', 'QUEUE_TIMEOUT'],
  'parent-deadline': ['timed-out', 'PARENT_DEADLINE'],
  shutdown: ['interrupted', 'SHUTDOWN'],
  'health-failure': ['interrupted', 'HEALTH'],
  'lease-unavailable': ['interrupted', 'LEASE_UNAVAILABLE'],
  'host-lost': ['interrupted', 'HOST_LOST'],
  'output-limit': ['failed', 'OUTPUT_LIMIT'],
  'isolate-exit': ['failed', 'ISOLATE_EXITED'],
};
/** Exceptions the host makes of an isolate's end: the stop `isolate-exit` told more precisely, not the tool's own word. */
const EXITS: ReadonlySet<string> = new Set(['ISOLATE_EXITED', 'OUT_OF_MEMORY']);

/** Decides. An attempt whose record says nothing at all was lost with its host. */
export const classify: Classify = (record) => {
  const { rejected, denied, stops } = record;
  const first = stops[0] ?? null;
  if (rejected !== null) return explained('rejected', rejected, stops);
  // Once an effect was let go, a no on the way only ends the work: `denied` says that nothing has happened.
  const denial: Outcome | null = denied === null ? null : { kind: 'exception', code: denied, ofStop: false };
  if (denied !== null && record.intents.length === 0) return explained('denied', denied, stops);

  const late = first !== null && first.state !== 'draining';
  const outcome = denial ?? (record.discardLate && late ? null : record.outcome);
  if (outcome?.kind === 'value' && outcome.accepted) return explained('succeeded', null, stops);

  const exit = outcome?.kind === 'exception' && EXITS.has(outcome.code) ? outcome.code : null;
  const failure = exit === null ? failureOf(outcome, first) : first === null ? exit : null;
  if (record.intents.some((intent) => intent.state === 'dispatched')) {
    return failure === null
      ? caused('indeterminate', 'INDETERMINATE', stops)
      : explained('indeterminate', 'INDETERMINATE', stops);
  }
  if (failure !== null) return explained('failed', failure, stops);
  if (first === null) return explained('interrupted', 'HOST_LOST', stops);
  const [status, code] = BY_CAUSE[first.kind];
  return caused(status, first.kind === 'isolate-exit' ? (exit ?? code) : code, stops);
};

/** The code of an outcome that explains itself, or null when only the stops can. */
function failureOf(outcome: Outcome | null, first: Stop | null): string | null {
  if (outcome === null) return null;
  if (outcome.kind === 'value') return 'INVALID_OUTPUT';
  return outcome.ofStop && first !== null ? null : outcome.code;
}

function explained(status: Status, code: string | null, stops: readonly Stop[]): Verdict {
  return { status, cause: null, also: stops, code };
}
function caused(status: Status, code: string, stops: readonly Stop[]): Verdict {
  return { status, cause: stops[0] ?? null, also: stops.slice(1), code };
}
