/**
 * Recovery: decides what earlier hosts left open in a log, attempt by attempt, and tells it.
 *
 * Invariants: bounded for each attempt, and none waits for another for long; what fails is listed and left as it was; nothing is
 * written but `closed` and `reconciled`. Recovering again writes nothing, unless a hook knows more by then.
 * Deliberately absent: when it runs (`opening.ts`), and running anything again.
 */
import { type Aftermath, aftermath } from '../decide/aftermath.ts';
import type {
  AttemptName,
  HeldIntent,
  Reconcile,
  ReconciledIntent,
  RecoveryFailure,
  RecoveryReport,
  SurvivingProcess,
} from '../model/recovery.ts';
import type { BlobStore, EventLog, LogEvent, NewLogEvent, OpenIntent } from '../model/stores.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import { deepFrozen } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import { attemptKey } from './log-order.ts';
import { type LostAttempt, type LostIntent, lostAttempts } from './lost-attempts.ts';
import { type Answer, askHook, wordsOf } from './reconcile.ts';
import { attemptNameOf, loggedIntentsOf, rerunnableOf, withheldFrom } from './rerun.ts';

/** How many attempts are decided at once. */
const LANES = 16;
/** How long the log may take for one entry, and the system to list its processes. Milliseconds. */
const WRITE_MS = 5_000;
const LOOK_MS = 2_000;

export interface RecoverySetting {
  readonly eventLog: Pick<EventLog, 'read' | 'epoch'>;
  /** Null: nothing is written, and the report says what would be. */
  readonly append: EventLog['append'] | null;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly hooks: Readonly<Record<string, Reconcile>>;
  readonly reconcileMs: number;
  /** Ends it: nothing more is decided. */
  readonly ended: AbortSignal;
  /** Null where there is no way to look. */
  readonly survivors: () => Promise<readonly SurvivingProcess[] | null>;
}

export interface Recovered {
  readonly report: RecoveryReport;
  /** False: the log could not be read, so nothing is known. */
  readonly isRead: boolean;
}

/** Never rejects. The log is read as it is at the call. */
export async function recover(setting: RecoverySetting): Promise<Recovered> {
  return new Recovery(setting).run();
}

type Lists = { -readonly [Name in keyof RecoveryReport]: RecoveryReport[Name][number][] };

class Recovery {
  readonly #setting: RecoverySetting;
  readonly #lists: Lists = { closed: [], held: [], rerunnable: [], reconciled: [], failures: [], survivors: [] };

  constructor(setting: RecoverySetting) {
    this.#setting = setting;
  }

  async run(): Promise<Recovered> {
    const { eventLog } = this.#setting;
    let lost: readonly LostAttempt[];
    try {
      lost = await lostAttempts({ epoch: eventLog.epoch, read: () => eventLog.read() });
    } catch (error) {
      this.#fail('read', null, null, error);
      return this.#told(false);
    }
    const left = lost.values();
    const lane = async () => {
      for (const attempt of left) if (!this.#setting.ended.aborted) await this.#decide(attempt);
    };
    await Promise.all([...Array.from({ length: LANES }, lane), this.#look()]);
    this.#sort(lost);
    return this.#told(true);
  }

  async #decide(attempt: LostAttempt): Promise<void> {
    const record = { intents: attempt.intents, checksOutput: attempt.prepared?.body['checksOutput'] === true };
    const fate = aftermath(record);
    if (!attempt.isClosed && !(await this.#close(attempt, fate))) return;
    const held: HeldIntent[] = [];
    const again: OpenIntent[] = [];
    for (const lost of attempt.open) {
      const why = await this.#resolve(lost);
      if (this.#setting.ended.aborted) return;
      if (why === RERUN) again.push(lost.open);
      else if (why !== null) held.push({ ...lost.open, why });
    }
    // One effect that must not be repeated keeps the whole attempt from being repeated.
    const withheld = withheldFrom(attempt) ?? (held.length > 0 ? 'another effect of the same attempt is held' : null);
    if (withheld !== null) held.push(...again.map((open) => ({ ...open, why: withheld })));
    else if (again.length > 0) this.#lists.rerunnable.push(rerunnableOf(attempt));
    this.#lists.held.push(...held);
  }

  /** Whether it was written. */
  async #close(attempt: LostAttempt, fate: Aftermath): Promise<boolean> {
    const { status, code, cause, isUntouched } = fate;
    const body = { status, cause: cause?.kind ?? null, code, recovered: true, ...lossOf(fate) };
    if (!(await this.#write('close', attempt.first, 'closed', '', body))) return false;
    const withheld = isUntouched ? withheldFrom(attempt) : null;
    this.#lists.closed.push({ ...attemptNameOf(attempt), status, code, intents: loggedIntentsOf(attempt), withheld });
    if (isUntouched && withheld === null) this.#lists.rerunnable.push(rerunnableOf(attempt));
    return true;
  }

  /** Null when its end is known now; else why it is not. */
  async #resolve(lost: LostIntent): Promise<string | null> {
    const { open, appliedBy } = lost;
    switch (open.onAmbiguous) {
      case 'assume-applied':
        return this.#settle(open, { verdict: 'applied', evidence: null, failure: null }, { assumed: true });
      case 'rerun-same-key': {
        if (appliedBy === null) return RERUN;
        const evidence = { requestId: appliedBy };
        return this.#settle(open, { verdict: 'applied', evidence, failure: null }, {});
      }
      case 'reconcile':
        return this.#ask(lost);
      default:
        return 'its onAmbiguous is hold';
    }
  }

  async #ask({ open, unknown }: LostIntent): Promise<string | null> {
    const { hooks, append, clock, blobs, redactor, reconcileMs, ended } = this.#setting;
    const hook = Object.hasOwn(hooks, open.intent) ? hooks[open.intent] : undefined;
    if (hook === undefined || append === null) return `there is no hook reconcile["${open.intent}"] here`;
    const answer = await askHook(hook, Object.freeze({ ...open }), {
      clock,
      blobs,
      redactor,
      budgetMs: reconcileMs,
      ended,
    });
    if (ended.aborted) return 'the supervisor was closed';
    if (answer.failure !== null) {
      this.#fail('reconcile', open, open.intent, new Error(`the hook gave no answer: ${answer.failure}`));
      return `its hook gave no answer: ${answer.failure}`;
    }
    if (answer.verdict !== 'unknown') return this.#settle(open, answer, {});
    const body = { verdict: 'unknown', evidence: answer.evidence };
    if (JSON.stringify(body) !== unknown) await this.#write('reconcile', open, 'reconciled', open.intent, body);
    return 'its hook does not know';
  }

  async #settle(open: OpenIntent, { verdict, evidence }: Answer, mark: { assumed?: true }): Promise<string | null> {
    const body = { verdict, evidence, ...mark };
    if (!(await this.#write('reconcile', open, 'reconciled', open.intent, body))) return 'the log did not take its end';
    const known = verdict as ReconciledIntent['verdict'];
    this.#lists.reconciled.push({ ...open, verdict: known, assumed: mark.assumed ?? false, evidence });
    return null;
  }

  /** Appends one entry within its bound. False, and listed, when the log did not take it. */
  async #write(
    step: RecoveryFailure['step'],
    name: Omit<AttemptName, 'tool'>,
    kind: 'closed' | 'reconciled',
    intent: string,
    body: LogEvent['body'],
  ): Promise<boolean> {
    const { append, clock } = this.#setting;
    if (append === null) return true;
    const { tenant, run, branch, requestId, attempt } = name;
    const entry: NewLogEvent = { tenant, run, branch, requestId, attempt, kind, intent, atWall: clock.wall(), body };
    const state: { error: unknown } = { error: new Error(`the log did not take an entry within ${WRITE_MS} ms`) };
    const written = (async () => {
      await append(entry);
      state.error = null;
    })().catch((error: unknown) => {
      state.error = error;
    });
    await settlesWithin(clock, WRITE_MS, written);
    if (state.error !== null) this.#fail(step, name, kind === 'closed' ? null : intent, state.error);
    return state.error === null;
  }

  async #look(): Promise<void> {
    const { clock, survivors } = this.#setting;
    const seen: { found: readonly SurvivingProcess[] | null; error: unknown } = {
      found: null,
      error: new Error('processes that lost their host cannot be listed here, or not in time'),
    };
    const looked = survivors().then(
      (found) => {
        seen.found = found;
      },
      (error: unknown) => {
        seen.error = error;
      },
    );
    await settlesWithin(clock, LOOK_MS, looked);
    if (seen.found === null) this.#fail('survivors', null, null, seen.error);
    else this.#lists.survivors.push(...seen.found);
  }

  #fail(
    step: RecoveryFailure['step'],
    name: Pick<AttemptName, 'requestId' | 'attempt'> | null,
    intent: string | null,
    error: unknown,
  ): void {
    const { requestId = null, attempt = null } = name ?? {};
    const message = wordsOf(error, this.#setting.redactor);
    this.#lists.failures.push({ step, requestId, attempt, intent, message });
  }

  /** Lists are in the order of the log, whichever attempt was decided first. */
  #sort(lost: readonly LostAttempt[]): void {
    const places = new Map(lost.map(({ first }, place) => [attemptKey(first), place]));
    const placeOf = (item: { readonly requestId: string; readonly attempt: number }) =>
      places.get(attemptKey(item)) ?? lost.length;
    const { closed, held, rerunnable, reconciled } = this.#lists;
    for (const list of [closed, held, rerunnable, reconciled]) list.sort((a, b) => placeOf(a) - placeOf(b));
  }

  #told(isRead: boolean): Recovered {
    return { report: deepFrozen<RecoveryReport>({ ...this.#lists }), isRead };
  }
}

/** What `#resolve` says of an effect that may be tried again. */
const RERUN = 'it may be tried again under the same key';

/** The effect of a body is known; what it returned was lost with the host. */
function lossOf({ status }: Aftermath): { valueLost?: true } {
  return status === 'succeeded' ? { valueLost: true } : {};
}
