/**
 * Starting: from the grant of an isolate to the begin of the run on it.
 *
 * Invariants: `onPrepared` is called once per request; the body of an opaque tool is recorded before its run is posted; a run
 * that does not begin in time is taken back, and its lease may wait for another isolate.
 * Deliberately absent: stops (`stopping.ts`), and what the run does.
 */
import type { PendingStop } from '../decide/precedence.ts';
import type { Isolate } from '../isolate/isolate.ts';
import type { Occupant } from '../isolate/occupant.ts';
import { childSpan } from '../scope/trace.ts';
import type { Alarms } from './alarms.ts';
import type { AttemptSetting, IncomingStop, Refusal } from './attempt-setting.ts';
import type { Effects } from './effects.ts';
import { Hold } from './hold.ts';
import type { Journal } from './journal.ts';
import type { Lease } from './lease.ts';
import type { Ledger } from './ledger.ts';
import { runMessage } from './run-message.ts';

/** How soon the host looks whether a run has begun, when the isolate has said nothing. Milliseconds. */
const WATCH_MS = 10;

/** The attempt that is started. */
export interface Startable extends Occupant {
  readonly lease: Lease;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly calls: Effects;
  hold: Hold | null;
  enterDue(): void;
  /** Enters a stop before anything more is read: the isolate has been told of it already. */
  stopUnswept(incoming: IncomingStop): void;
  /** The tool is not to run on the isolate it holds, which is unharmed. */
  onRefused(refusal: Refusal): void;
  /** No isolate is left to try. */
  onUnavailable(): void;
}

export class Starting {
  readonly #attempt: Startable;
  readonly #alarms: Alarms;
  readonly #setting: AttemptSetting;
  #isPrepared = false;

  constructor(attempt: Startable, alarms: Alarms, setting: AttemptSetting) {
    this.#attempt = attempt;
    this.#alarms = alarms;
    this.#setting = setting;
  }

  /** A deadline to come: in the ledger, and as an alarm. */
  expect(deadline: PendingStop): void {
    this.#attempt.ledger.expect(deadline);
    this.#alarms.set(deadline.kind, deadline.atMs);
  }
  /** It waits for a grant from now on. Most are granted at once and never come here. */
  expectGrant(): void {
    const { arrivedAt, bounds } = this.#setting;
    this.expect({ kind: 'queue-timeout', atMs: arrivedAt + bounds.queueTimeoutMs });
  }

  /** Binds the isolate and starts the run on it. */
  grant(isolate: Isolate): void {
    const attempt = this.#attempt;
    const { lease } = attempt;
    const hold = new Hold(isolate, attempt, this.#now());
    attempt.hold = hold;
    lease.send({ type: 'GRANTED', isolate: isolate.id, kind: isolate.kind }, hold.grantedAt);
    this.#alarms.clear('queue-timeout');
    attempt.ledger.forget('queue-timeout');
    this.#setting.emit({ type: 'lease.granted', lease: lease.id, isolate: isolate.id });
    let code: Refusal['code'] = 'ON_PREPARED';
    try {
      this.#notify();
      if (lease.state !== 'acquired') return;
      code = 'INTENT_REFUSED';
      const dispatched = attempt.calls.dispatchBody();
      if (dispatched === undefined) this.#post(hold);
      else this.#postAfter(dispatched, hold);
    } catch (error) {
      attempt.onRefused({ code, error });
    }
  }

  /** The isolate has begun: user code may run from here on. */
  begin(at: number): void {
    const startedAt = Math.max(at, this.#attempt.hold?.grantedAt ?? at);
    this.#attempt.lease.send({ type: 'STARTED' }, startedAt);
    this.#alarms.clear('watch');
    this.expect({ kind: 'run-timeout', atMs: startedAt + this.#setting.bounds.runTimeoutMs });
    if (this.#attempt.hold?.givenUp === true)
      this.#attempt.stopUnswept({ kind: 'lease-unavailable', atMs: this.#now() });
  }

  /** It has not begun: looks again after as long as it has taken so far, and gives it up `startMs` after it was there. */
  keepWatch(): void {
    const { hold } = this.#attempt;
    if (hold === null) return;
    const now = this.#now();
    const end = hold.grantedAt + this.#setting.bounds.startMs + hold.isolate.reach.transitMs;
    if (now < end) this.#alarms.set('watch', Math.min(end, now + Math.max(WATCH_MS, now - hold.grantedAt)));
    else this.#giveUp(hold);
  }

  #giveUp(hold: Hold): void {
    if (hold.posted && !hold.isolate.reach.sharesWords && !hold.givenUp) {
      // Whether it has begun is known once all it said was read, at its end: until then the lease stays where it is.
      hold.givenUp = true;
      this.#alarms.set('watch', this.#now() + this.#setting.bounds.killMs);
      hold.isolate.condemn();
      return;
    }
    if (hold.givenUp) {
      // Its end was not seen in time: it may have begun.
      this.begin(this.#now());
      return;
    }
    if (hold.recall('lease-unavailable')) {
      hold.isolate.condemn();
      this.lose();
      return;
    }
    // It was faster, and has been told to stop all the same.
    this.begin(this.#now());
    this.#attempt.stopUnswept({ kind: 'lease-unavailable', atMs: this.#now() });
  }

  /** The isolate died or was given up: nothing has run, so the lease may wait for another one. */
  lose(): void {
    const { hold, lease } = this.#attempt;
    this.#alarms.clear('watch');
    hold?.isolate.disown();
    // What was moved to the lost isolate is gone: another one would run on an empty input.
    const spent = hold?.hasMoved === true && this.#setting.transfer.length > 0;
    if (lease.send(spent ? { type: 'FAILED' } : { type: 'LOST' }) === 'queued') this.#setting.host.onLost();
    else this.#attempt.onUnavailable();
  }

  #notify(): void {
    if (this.#setting.notifyPrepared === null || this.#isPrepared) return;
    this.#isPrepared = true;
    this.#setting.notifyPrepared();
    // The application's own time counts, and it may have cancelled.
    this.#attempt.enterDue();
  }

  #postAfter(dispatched: Promise<void>, hold: Hold): void {
    const attempt = this.#attempt;
    const isHeld = () => attempt.lease.state === 'acquired' && attempt.hold === hold;
    const refuse = (error: unknown) => {
      if (isHeld()) attempt.onRefused({ code: 'INTENT_REFUSED', error });
    };
    const posted = dispatched.then(() => {
      // After a stop, what was recorded as dispatched has not been let go: the record is to say so before the attempt ends.
      if (attempt.lease.ended) return attempt.calls.withdrawBody();
      if (isHeld()) this.#post(hold);
    }, refuse);
    attempt.journal.track(posted);
    const { sweepMs } = this.#setting.bounds;
    void this.#alarms
      .within(
        sweepMs,
        posted.then(() => true),
      )
      .then((isInTime) => {
        if (isInTime === null) refuse(new Error(`the log did not acknowledge the intent within ${sweepMs} ms`));
      });
  }

  #post(hold: Hold): void {
    const { bounds, names, ctx, transfer } = this.#setting;
    const { ledger, calls } = this.#attempt;
    const now = this.#now();
    const remainingMs = Math.min(bounds.runTimeoutMs, (ledger.earliest()?.atMs ?? Number.POSITIVE_INFINITY) - now);
    const { tenant, run, branch, requestId, attempt } = names;
    const wireCtx = { tenant, run, branch, requestId, attempt, trace: childSpan(ctx.trace), remainingMs };
    let code: Refusal['code'] = 'TOOL_ERROR';
    try {
      const message = runMessage(this.#setting, hold.seq, wireCtx, calls);
      code = 'NOT_CLONEABLE';
      hold.post(message, transfer);
      this.#alarms.set('watch', now + Math.min(WATCH_MS, bounds.runTimeoutMs));
    } catch (error) {
      this.#attempt.onRefused({ code, error });
    }
  }

  #now(): number {
    return this.#setting.clock.now();
  }
}
