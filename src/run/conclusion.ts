/**
 * Conclusion: from the end of an attempt to its result: the verdict, its entry in the log, the report.
 *
 * Invariants: the verdict is taken once, from the record as it stands; the result is told after the log took the verdict, or
 * after a bound, and then says so. Deliberately absent: telling it, and freeing anything.
 */
import { type AttemptRecord, classify, type Outcome } from '../decide/classify.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Attempt } from './attempt.ts';
import type { Refusal } from './attempt-setting.ts';
import { type Complaint, explain } from './explain.ts';
import { report } from './report.ts';

/** How a request came to its end, as far as its stops do not say it. */
export interface End {
  /** Never admitted: a code. */
  readonly rejected?: string;
  readonly refusal?: Refusal;
  readonly outcome?: Outcome;
  readonly value?: unknown;
  /** What a schema said against the input or the value. */
  readonly complaint?: Complaint;
}

export interface Circumstances {
  readonly clock: Clock;
  readonly request: Omit<RunResult['request'], 'attempts'>;
  readonly attempt: Attempt | null;
  /** What observers did before there was an attempt. */
  readonly notes: readonly string[];
  readonly bounds: Bounds;
  readonly boundMs: number;
  readonly operationTimeoutMs: number | null;
  readonly redactor: Redactor;
  readonly discardLate: boolean;
  /** When the request began, by both clocks. */
  readonly startedAt: number;
  readonly startedWall: number;
  readonly durability: RunResult['durability'];
}

/** Calls `tell` once, at once unless the log needs time. */
export function conclude(end: End, circumstances: Circumstances, tell: (result: RunResult) => void): void {
  const { attempt, clock, bounds } = circumstances;
  const intents = attempt?.journal.intents() ?? [];
  const verdict = classify(recordOf(end, circumstances, intents));
  const reportNow = (isLogged: boolean) => {
    const { request, startedAt, startedWall, boundMs, redactor, notes } = circumstances;
    const error =
      verdict.code === null ? null : explain({ ...circumstances, verdict, complaint: end.complaint ?? null });
    const durability = isLogged ? circumstances.durability : 'none';
    const totalMs = clock.now() - startedAt;
    const { value } = end;
    tell(
      report({
        notes: notes.map((message) => boundText(redactor.text(message, { end: true }), TEXT_LIMITS.logLineBytes)),
        verdict,
        error,
        value,
        request,
        attempt,
        intents,
        startedWall,
        totalMs,
        boundMs,
        durability,
      }),
    );
  };
  if (attempt === null) {
    // Nothing was written: a request that was never admitted leaves no entry.
    reportNow(false);
    return;
  }
  const { status, cause, code } = verdict;
  const logged = attempt.journal.tryWrite('closed', { status, cause: cause?.kind ?? null, code }, attempt.capture);
  if (typeof logged === 'boolean') {
    reportNow(logged);
    return;
  }
  void settlesWithin(clock, bounds.sweepMs, logged).then(async (isInTime) => {
    if (!isInTime)
      attempt.capture.note('LOG_FAILED', `The log did not acknowledge the end within ${bounds.sweepMs} ms.`);
    reportNow(isInTime && (await logged));
  });
}

function recordOf(
  { rejected, refusal, outcome }: End,
  { attempt, discardLate }: Circumstances,
  intents: AttemptRecord['intents'],
): AttemptRecord {
  // An input that cannot cross was never admitted to an isolate: nothing has run.
  const refused = refusal?.code === 'NOT_CLONEABLE' ? refusal.code : null;
  const failed: Outcome | null =
    refusal === undefined ? null : { kind: 'exception', code: refusal.code, ofStop: false };
  return {
    rejected: rejected ?? refused,
    denied: null,
    outcome: outcome ?? failed,
    stops: attempt?.ledger.stops ?? [],
    intents,
    discardLate,
  };
}
