/**
 * Series: the attempts of one request that may have more than one: what follows each, and the waits between them.
 *
 * Invariants: retries and repairs are counted apart, and each has its bound; every wait ends with a stop, which then ends the attempt
 * that was to follow; what the application throws ends the series and is told; the intents of every attempt count.
 * Deliberately absent: which end may be followed (`decide/retry.ts`), and the attempts themselves (`request.ts`).
 */
import type { Admission } from '../decide/admission.ts';
import { backoffMs, type NextStep, nextStep } from '../decide/retry.ts';
import type { RepairConfig, RetryConfig } from '../model/control-options.ts';
import type { AttemptEnd, Issue } from '../model/control-shapes.ts';
import { CancelledError } from '../model/errors.ts';
import type { EventLog } from '../model/stores.ts';
import type { Budget } from '../scope/budget.ts';
import { toFailure } from '../wire/failure.ts';
import type { Attempt } from './attempt.ts';
import { type Conclusion, errorOf, pastOf } from './conclusion.ts';
import type { Early } from './early.ts';
import type { Accepted, Checked, Intake } from './intake.ts';
import type { Journal } from './journal.ts';
import type { Particulars } from './particulars.ts';
import type { Past } from './report.ts';

/** The request, as its series moves it on. */
export interface Serial {
  /** `held`: the places in the queue that it has. */
  admission(held: 0): Admission;
  /** The next attempts run on this input. */
  accept(accepted: Accepted): void;
  /** Another attempt will come. */
  leaveBehind(past: Past): void;
  /** Now. */
  enqueue(): void;
  /** None will come. */
  tell(conclusion: Conclusion): void;
}

export class Series {
  /** What the attempts before the present one left behind. */
  past: Past | null = null;
  readonly #retry: RetryConfig | null;
  readonly #repair: RepairConfig | null;
  readonly #budget: Budget;
  readonly #early: Early;
  readonly #intake: Intake;
  readonly #serial: Serial;
  /** Keys of effects that must not run again while their end is unknown. */
  readonly #held = new Set<unknown>();
  /** Where each intent of `past` was written. */
  readonly #journals: Journal[] = [];
  #retries = 0;
  #repairs = 0;

  constructor(
    serial: Serial,
    retry: RetryConfig | null,
    repair: RepairConfig | null,
    budget: Budget,
    early: Early,
    intake: Intake,
  ) {
    this.#serial = serial;
    this.#retry = retry;
    this.#repair = repair;
    this.#budget = budget;
    this.#early = early;
    this.#intake = intake;
  }

  /** An isolate was granted to an earlier attempt. */
  get wasGranted(): boolean {
    return this.past?.attempts.some(({ lease }) => lease?.isolate != null) === true;
  }
  /** The number of the present attempt. */
  get number(): number {
    return (this.past?.attempts.length ?? 0) + 1;
  }

  /** A log for an attempt of the series, which notes what each intent says of running again. */
  watched(log: EventLog): EventLog {
    return {
      durability: log.durability,
      append: (event) => {
        if (event.kind === 'dispatched' && event.body['onAmbiguous'] !== 'rerun-same-key')
          this.#held.add(event.body['key']);
        return log.append(event);
      },
      read: (filter) => log.read(filter),
      openIntents: () => log.openIntents(),
    };
  }

  /** Its present attempt has ended. */
  follow(conclusion: Conclusion): void {
    const { attempt } = conclusion.of;
    this.#reconcile(conclusion);
    const step = attempt === null ? 'end' : this.#stepAfter(conclusion, attempt);
    if (attempt === null) this.#serial.tell(conclusion);
    else if (step === 'end' || !this.#mayGoOn(attempt)) this.#end(conclusion, attempt);
    else if (step === 'repair') void this.#followRepair(conclusion, attempt);
    else {
      this.#retries += 1;
      this.#leaveBehind(conclusion, attempt);
      // Whoever was told of the end may have stopped the request.
      if (this.#isStopped) this.#serial.enqueue();
      else void this.#budget.pause(step).then(() => this.#serial.enqueue());
    }
  }

  async #followRepair(conclusion: Conclusion, attempt: Attempt): Promise<void> {
    const accepted = this.#isStopped ? null : await this.#repaired(conclusion, attempt);
    if (accepted !== null) this.#serial.accept(accepted);
    if (this.#isStopped || (accepted !== null && this.#mayGoOn(attempt))) {
      this.#repairs += 1;
      this.#leaveBehind(conclusion, attempt);
      this.#serial.enqueue();
    } else this.#end(conclusion, attempt);
  }

  /** What came meanwhile came too late. */
  #end(conclusion: Conclusion, { capture }: Attempt): void {
    this.#early.noteIn(capture);
    capture.lateEvents += this.#early.count;
    this.#serial.tell(conclusion);
  }

  get #isStopped(): boolean {
    return this.#early.stops.length > 0;
  }

  /** Whether another attempt may get in line. It comes from among the leased: the queue's capacity is not asked again. */
  #mayGoOn({ capture }: Attempt): boolean {
    const admission = this.#serial.admission(0);
    if (admission === 'ok' || admission === 'QUEUE_FULL') return true;
    capture.note('NO_FURTHER_ATTEMPT', `Another attempt was refused: ${admission}.`);
    return false;
  }

  /** Writes down what the present attempt tells of the intents of earlier ones: their own entries leave them open. */
  #reconcile({ record }: Conclusion): void {
    for (const [at, journal] of this.#journals.entries()) {
      const { name, state } = this.past?.intents[at] ?? {};
      if (name === undefined || state !== 'dispatched' || record.intents[at]?.state !== 'applied') continue;
      const evidence = `applied by attempt ${this.number} under the same key`;
      try {
        void journal.write('reconciled', name, { verdict: 'applied', evidence })?.catch(() => undefined);
      } catch {
        // A log that refuses it keeps the intent open, which somebody may look into.
      }
    }
  }

  /** Milliseconds until a retry, `'repair'`, or `'end'`. */
  #stepAfter(conclusion: Conclusion, attempt: Attempt): number | 'repair' | 'end' {
    const next = this.#next(conclusion, attempt);
    if (next.step !== 'retry') return next.step;
    try {
      const { when, backoff } = this.#retry as RetryConfig;
      const again: unknown = when === null ? next.isSafe : when(endOf(conclusion, attempt, this.number, next.isSafe));
      if (typeof again !== 'boolean') throw new TypeError('it must return true or false, and at once');
      if (!again) return 'end';
      const chance = backoff.jitter === 0 ? 0 : Number(backoff.random());
      return backoffMs(backoff, this.#retries, chance >= 0 && chance <= 1 ? chance : 0);
    } catch (error) {
      attempt.capture.note('RETRY_ENDED', `retry.when threw: ${toFailure(error, 'TOOL_ERROR').message}`);
      return 'end';
    }
  }

  #leaveBehind(conclusion: Conclusion, attempt: Attempt): void {
    this.past = pastOf(conclusion, attempt);
    while (this.#journals.length < this.past.intents.length) this.#journals.push(attempt.journal);
    this.#serial.leaveBehind(this.past);
  }

  /**
   * Another input, and allowed as the first one was; null, with a diagnostic unless the application had none, when there is none.
   * Never rejects; ends with a stop, or at its bound.
   */
  async #repaired(conclusion: Conclusion, attempt: Attempt): Promise<Accepted | null> {
    const { end, of } = conclusion;
    const { names, bounds } = of.particulars;
    const { with: repair, withinMs } = this.#repair as RepairConfig;
    const ms = withinMs ?? bounds.validateMs;
    const controller = new AbortController();
    const { tenant, run, branch, requestId } = names;
    const context = { tenant, run, branch, requestId, attempt: this.number, signal: controller.signal };
    const issues = end.complaint?.fields?.['issues'] ?? [];
    const asked = (async () => repair(end.value, issues as readonly Issue[], Object.freeze(context)))().then(
      (input) => ({ input }),
      (error: unknown) => ({ error }),
    );
    const answer = await this.#budget.within(ms, asked);
    const ended = (why: string): null => {
      attempt.capture.note('REPAIR_ENDED', why);
      return null;
    };
    if (answer === null) {
      controller.abort(new CancelledError('CANCELLED', 'The answer of repair is awaited no longer.'));
      return ended(`repair was given up, after ${ms} ms at the longest`);
    }
    if ('error' in answer) return ended(`repair threw: ${toFailure(answer.error, 'TOOL_ERROR').message}`);
    if (answer.input === undefined) return null;
    const checked = await new Promise<Checked>((resolve) => this.#intake.check(answer.input, of.redactor, resolve));
    if (checked === 'stopped' || checked.ok) return checked === 'stopped' ? null : checked;
    const { complaint, denied } = checked.end;
    const why = checked.redactor.text((complaint ?? denied)?.message ?? '', { end: true });
    return ended(`the input that repair returned may not run: ${why}`);
  }

  #next({ record, verdict, of }: Conclusion, attempt: Attempt): NextStep {
    return nextStep({
      record,
      verdict,
      mayRerun: ({ key }) => !this.#held.has(key),
      isSpent: isSpent(of.particulars, attempt),
      retriesLeft: (this.#retry?.attempts ?? 1) - 1 - this.#retries,
      repairsLeft: (this.#repair?.attempts ?? 0) - this.#repairs,
    });
  }
}

/** What was moved to an isolate is gone from here. */
function isSpent({ options }: Particulars, { hold }: Attempt): boolean {
  return options.transfer.length > 0 && hold?.posted === true;
}

function endOf(conclusion: Conclusion, { exit }: Attempt, attempt: number, retrySafe: boolean): AttemptEnd {
  const { verdict, record } = conclusion;
  return Object.freeze({
    attempt,
    status: verdict.status,
    // Whatever may be tried again did not succeed.
    error: errorOf(conclusion) as NonNullable<ReturnType<typeof errorOf>>,
    cause: verdict.cause,
    exit: exit === null ? null : Object.freeze({ code: exit.code, signal: exit.signal ?? null }),
    intents: Object.freeze(record.intents.map((intent) => Object.freeze({ ...intent }))),
    retrySafe,
  });
}

/**
 * The input of every attempt: a copy, so that what its owner changes between two of them changes nothing. What does not cross into
 * an isolate anyway, and what is moved there, stays itself.
 */
export function detached({ tool, transfer }: Particulars, input: unknown): unknown {
  if (tool.work.kind !== 'module' || transfer.length > 0) return input;
  try {
    return structuredClone(input);
  } catch {
    return input;
  }
}

/** Null where there can be one attempt only. `standing`: the supervisor's, which a request's own replaces. */
export function seriesOf(
  serial: Serial,
  standing: RetryConfig | null,
  { options }: Particulars,
  ...within: readonly [Budget, Early, Intake]
): Series | null {
  const retry = options.retry ?? standing;
  const again = retry !== null && retry.attempts > 1 ? retry : null;
  return again === null && options.repair === null ? null : new Series(serial, again, options.repair, ...within);
}
