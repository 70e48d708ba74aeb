/**
 * Conclusion: from the end of an attempt to its verdict, its entry in the log, and the words for both.
 *
 * Invariants: the verdict is taken once, from the record as it stands; what follows is told after the log took the verdict, or
 * after a bound, and then the result says so. Deliberately absent: telling it, what follows it, and freeing anything.
 */
import { type AttemptRecord, classify, type Outcome, type Verdict } from '../decide/classify.ts';
import { joinedIntents } from '../decide/retry.ts';
import type { IntentRecord, RunError, RunResult } from '../model/result.ts';
import type { Denial } from '../model/ruling.ts';
import { settlesWithin } from '../model/time.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import { closedBody } from '../record/entry-bodies.ts';
import type { Attempt } from './attempt.ts';
import type { Refusal } from './attempt-setting.ts';
import { type Complaint, explain } from './explain.ts';
import { keepingOf, type Particulars } from './particulars.ts';
import {
  droppedIn,
  isCutOff,
  isOutputWhole,
  leaseOf,
  type Past,
  report,
  summaryOf,
  timingOf,
  toldOf,
} from './report.ts';

/** How a request came to its end, as far as its stops do not say it. */
export interface End {
  /** Never admitted: a code. */
  readonly rejected?: string;
  /** Refused by the authorizer, before it was admitted or on the way of its tool. */
  readonly denied?: Denial;
  readonly refusal?: Refusal;
  readonly outcome?: Outcome;
  /** What the tool gave, also where the schema refused it. */
  readonly value?: unknown;
  /** What a schema said against the input or the value. */
  readonly complaint?: Complaint;
}

export interface Circumstances {
  readonly particulars: Particulars;
  readonly labels: Readonly<Record<string, string>>;
  readonly attempt: Attempt | null;
  /** The attempts before it. */
  readonly past: Past | null;
  /** The instant from which the attempt waited. */
  readonly arrivedAt: number;
  /** What observers did before there was an attempt. */
  readonly notes: readonly string[];
  readonly redactor: Redactor;
}

/** An attempt, or a request without one, that has ended. */
export interface Conclusion {
  readonly of: Circumstances;
  readonly end: End;
  readonly record: AttemptRecord;
  readonly verdict: Verdict;
  /** Whether the log took it. */
  readonly isLogged: boolean;
}

/** Calls `then` once, at once unless the log needs time. */
export function conclude(end: End, circumstances: Circumstances, then: (conclusion: Conclusion) => void): void {
  const { particulars, attempt, redactor } = circumstances;
  const { clock, bounds } = particulars;
  attempt?.capture.flush(isOutputWhole(attempt), isCutOff(attempt));
  const record = recordOf(end, circumstances);
  const verdict = classify(record);
  const concluded = (isLogged: boolean) => then({ of: circumstances, end, record, verdict, isLogged });
  if (attempt === null) {
    // Nothing was written: a request that was never admitted leaves no entry.
    concluded(false);
    return;
  }
  const body = closedBody(verdict, end.value, keepingOf(particulars, redactor));
  const logged = attempt.journal.tryWrite('closed', body, attempt.capture);
  if (typeof logged === 'boolean') {
    concluded(logged);
    return;
  }
  void settlesWithin(clock, bounds.sweepMs, logged).then(async (isInTime) => {
    if (!isInTime)
      attempt.capture.note('LOG_FAILED', `The log did not acknowledge the end within ${bounds.sweepMs} ms.`);
    concluded(isInTime && (await logged));
  });
}

/** The words for a conclusion; null when it succeeded. */
export function errorOf({ of, end, verdict }: Conclusion): RunError | null {
  const { attempt, past, particulars, redactor } = of;
  const { bounds, options } = particulars;
  const { operationTimeoutMs } = options;
  const complaint = end.complaint ?? end.denied ?? null;
  const error = explain({ verdict, attempt, bounds, operationTimeoutMs, redactor, complaint });
  // What was stopped before it ran was on its way to make good for an earlier attempt: that one's error says why.
  const before = verdict.cause !== null && attempt?.isolate === null ? (past?.error ?? null) : null;
  return error === null || before === null ? error : Object.freeze({ ...error, cause: before });
}

/** The result of a request whose last attempt ended so. */
export function resultOf(conclusion: Conclusion): RunResult {
  const { end, record, verdict, isLogged } = conclusion;
  const { particulars, labels, attempt, past, arrivedAt, notes, redactor } = conclusion.of;
  const { clock, names, options, startedAt, startedWall, boundMs } = particulars;
  const { requestId: id, tenant, run, branch } = names;
  const group = options.group === null ? {} : { group: redactor.text(options.group) };
  return report({
    notes: notes.map((message) => boundText(redactor.text(message, { end: true }), TEXT_LIMITS.logLineBytes)),
    verdict,
    error: errorOf(conclusion),
    value: end.value,
    request: { id, tool: particulars.tool.name, tenant, run, branch, ...group, labels },
    attempt,
    past,
    beforeMs: arrivedAt - startedAt,
    intents: record.intents,
    startedWall,
    totalMs: clock.now() - startedAt,
    boundMs,
    durability: isLogged && past?.isLogged !== false ? particulars.durability : 'none',
  });
}

/** What is kept of an attempt that another one follows. */
export function pastOf(conclusion: Conclusion, attempt: Attempt): Past {
  const { record, verdict, isLogged } = conclusion;
  const { particulars, past, arrivedAt } = conclusion.of;
  const { clock, startedAt, startedWall, boundMs } = particulars;
  const beforeMs = arrivedAt - startedAt;
  const timing = timingOf({ attempt, startedWall, totalMs: clock.now() - startedAt, boundMs, beforeMs });
  const before = past?.attempts ?? [];
  return {
    attempts: [...before, summaryOf(before.length + 1, verdict, leaseOf(attempt), timing)],
    diagnostics: toldOf(attempt, past),
    dropped: droppedIn(attempt, past),
    intents: record.intents,
    error: errorOf(conclusion),
    isLogged: isLogged && past?.isLogged !== false,
  };
}

function recordOf(
  { rejected, denied, refusal, outcome }: End,
  { attempt, past, particulars, arrivedAt }: Circumstances,
): AttemptRecord {
  // An input that cannot cross was never admitted to an isolate: nothing has run.
  const refused = refusal?.code === 'NOT_CLONEABLE' && past === null ? refusal.code : null;
  const failed: Outcome | null =
    refusal === undefined ? null : { kind: 'exception', code: refusal.code, ofStop: false };
  const intents = attempt?.journal.intents() ?? NO_INTENTS;
  return {
    rejected: rejected ?? refused,
    denied: denied?.code ?? null,
    outcome: outcome ?? failed,
    stops: attempt?.ledger.stops ?? [],
    intents: past === null ? intents : joinedIntents(past.intents, later(intents, arrivedAt - particulars.startedAt)),
    discardLate: particulars.options.lateResults === 'discard',
  };
}

/** Times of one attempt as times of its request. */
function later(intents: readonly IntentRecord[], beforeMs: number): readonly IntentRecord[] {
  return intents.map((intent) => ({ ...intent, atMs: intent.atMs + beforeMs }));
}
const NO_INTENTS: readonly IntentRecord[] = Object.freeze([]);
