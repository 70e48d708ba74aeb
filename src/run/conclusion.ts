/**
 * Conclusion: from the end of an attempt to its result: the verdict, its entry in the log, the report.
 *
 * Invariants: the verdict is taken once, from the record as it stands; the result is told after the log took the verdict, or
 * after a bound, and then says so. Deliberately absent: telling it, and freeing anything.
 */
import { type AttemptRecord, classify, type Outcome } from '../decide/classify.ts';
import type { RunResult } from '../model/result.ts';
import type { Denial } from '../model/ruling.ts';
import { settlesWithin } from '../model/time.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Attempt } from './attempt.ts';
import type { Refusal } from './attempt-setting.ts';
import { type Complaint, explain } from './explain.ts';
import type { Particulars } from './particulars.ts';
import { isOutputWhole, report } from './report.ts';

/** How a request came to its end, as far as its stops do not say it. */
export interface End {
  /** Never admitted: a code. */
  readonly rejected?: string;
  /** Refused by the authorizer, before it was admitted or on the way of its tool. */
  readonly denied?: Denial;
  readonly refusal?: Refusal;
  readonly outcome?: Outcome;
  readonly value?: unknown;
  /** What a schema said against the input or the value. */
  readonly complaint?: Complaint;
}

export interface Circumstances {
  readonly particulars: Particulars;
  readonly labels: Readonly<Record<string, string>>;
  readonly attempt: Attempt | null;
  /** What observers did before there was an attempt. */
  readonly notes: readonly string[];
  readonly redactor: Redactor;
}

/** Calls `tell` once, at once unless the log needs time. */
export function conclude(end: End, circumstances: Circumstances, tell: (result: RunResult) => void): void {
  const { particulars, labels, attempt, notes, redactor } = circumstances;
  const { clock, bounds, names, startedAt, startedWall, boundMs } = particulars;
  const { operationTimeoutMs, group } = particulars.options;
  attempt?.capture.flush(isOutputWhole(attempt));
  const intents = attempt?.journal.intents() ?? [];
  const verdict = classify(recordOf(end, circumstances, intents));
  const reportNow = (isLogged: boolean) => {
    const { requestId: id, tenant, run, branch } = names;
    const complaint = end.complaint ?? end.denied ?? null;
    const error = explain({ verdict, attempt, bounds, operationTimeoutMs, redactor, complaint });
    tell(
      report({
        notes: notes.map((message) => boundText(redactor.text(message, { end: true }), TEXT_LIMITS.logLineBytes)),
        verdict,
        error,
        value: end.value,
        request: { id, tool: particulars.tool.name, tenant, run, branch, ...(group !== null && { group }), labels },
        attempt,
        intents,
        startedWall,
        totalMs: clock.now() - startedAt,
        boundMs,
        durability: isLogged ? particulars.durability : 'none',
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
  { rejected, denied, refusal, outcome }: End,
  { attempt, particulars }: Circumstances,
  intents: AttemptRecord['intents'],
): AttemptRecord {
  // An input that cannot cross was never admitted to an isolate: nothing has run.
  const refused = refusal?.code === 'NOT_CLONEABLE' ? refusal.code : null;
  const failed: Outcome | null =
    refusal === undefined ? null : { kind: 'exception', code: refusal.code, ofStop: false };
  return {
    rejected: rejected ?? refused,
    denied: denied?.code ?? null,
    outcome: outcome ?? failed,
    stops: attempt?.ledger.stops ?? [],
    intents,
    discardLate: particulars.options.lateResults === 'discard',
  };
}
