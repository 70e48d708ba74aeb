/**
 * Attempt: one try of a request, from the queue to the end of its lease.
 *
 * Invariants: a stop is entered once, after the isolate's port was swept; the lease's machine alone says what may follow;
 * once the lease has ended nothing is reclassified; every wait is an alarm, or bounded by the isolate's own.
 * Deliberately absent: the status (`decide/classify.ts`), admission, and the shape of a result (`report.ts`).
 */
import type { PendingStop } from '../decide/precedence.ts';
import type { Isolate, Occupant } from '../isolate/isolate.ts';
import type { ThreadExit } from '../isolate/tenure.ts';
import type { Finding } from '../model/result.ts';
import { childSpan } from '../scope/trace.ts';
import type { Failure } from '../wire/failure.ts';
import type { IsolateMessage, SettledMessage, WireFinding } from '../wire/protocol.ts';
import { type Alarm, Alarms } from './alarms.ts';
import type { Answer, AttemptSetting, IncomingStop, Refusal } from './attempt-setting.ts';
import { Capture } from './capture.ts';
import { drain } from './drain.ts';
import { Effects } from './effects.ts';
import { failureOfExit } from './exit-failure.ts';
import { judged } from './findings.ts';
import { Hold } from './hold.ts';
import { Journal } from './journal.ts';
import { Lease } from './lease.ts';
import { Ledger } from './ledger.ts';

/** How soon the host looks whether a lease has started, when the isolate has said nothing. Milliseconds. */
const WATCH_MS = 10;
const nothing = (): void => undefined;

export class Attempt implements Occupant {
  readonly lease: Lease;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly capture: Capture;
  readonly calls: Effects;
  findings: readonly Finding[] = [];
  answer: Answer | null = null;
  late: null | 'within-grace' | 'after-kill' = null;
  exit: ThreadExit | null = null;
  refusal: Refusal | null = null;

  readonly #setting: AttemptSetting;
  readonly #alarms: Alarms;
  #hold: Hold | null = null;
  #hurryBy = Number.POSITIVE_INFINITY;
  #onLooked: (findings: readonly WireFinding[]) => void = nothing;
  #onTimeUp: () => void = nothing;

  constructor(setting: AttemptSetting) {
    const { actors, clock, startedAt } = setting;
    this.#setting = setting;
    this.lease = new Lease(actors, clock, startedAt);
    this.ledger = new Ledger(startedAt, setting.redactor);
    this.journal = new Journal(setting.eventLog, setting.names, clock);
    this.capture = new Capture(setting);
    this.calls = new Effects(setting, this.journal, this);
    this.#alarms = new Alarms(clock, (alarm) => this.#ring(alarm));
    for (const deadline of setting.deadlines) this.#expect(deadline);
  }

  /** The isolate it holds, or held last. */
  get isolate(): Isolate | null {
    return this.#hold?.isolate ?? null;
  }

  /** Enters the queue; its owner grants it an isolate in its turn. */
  enqueue(): void {
    this.#expectGrant();
    this.#setting.emit({ type: 'lease.queued', lease: this.lease.id, attempt: this.#setting.names.attempt });
  }

  /** Binds an isolate and starts the run on it. */
  grant(isolate: Isolate): void {
    const { emit, notifyPrepared } = this.#setting;
    const again = this.#hold !== null;
    const hold = new Hold(isolate, this, this.#now());
    this.#hold = hold;
    this.lease.send({ type: 'GRANTED', isolate: isolate.id, kind: isolate.kind }, hold.grantedAt);
    this.#alarms.clear('queue-timeout');
    this.ledger.forget('queue-timeout');
    emit({ type: 'lease.granted', lease: this.lease.id, isolate: isolate.id });
    if (notifyPrepared !== null && !again) {
      try {
        notifyPrepared();
      } catch (error) {
        this.#refuse('ON_PREPARED', error);
        return;
      }
      // The application's own time counts, and it may have cancelled.
      this.#enterDue();
    }
    if (this.lease.state !== 'acquired') return;
    const dispatched = this.calls.dispatchBody();
    if (dispatched === undefined) this.#post(hold);
    else this.#postAfter(dispatched, hold);
  }

  /** Enters a stop. False when the outcome was decided already: it is then only mentioned. */
  stop(incoming: IncomingStop): boolean {
    this.#catchUp();
    if (this.lease.ended) {
      this.capture.lateEvents += 1;
      return false;
    }
    const accepted = this.lease.state !== 'draining';
    this.#hurryBy = Math.min(this.#hurryBy, incoming.hurryBy ?? Number.POSITIVE_INFINITY);
    for (const pending of this.ledger.dueWith(incoming, this.#now())) {
      if (!this.lease.ended) this.#enter(pending);
    }
    if (this.#hold?.killed === true) this.#hold.isolate.hurryKill(this.#hurryMs());
    else if (this.lease.state === 'terminating') {
      if (incoming.force === true || incoming.kind === 'health-failure') this.#kill();
      else this.#alarms.set('grace', this.#graceEnd());
    }
    return accepted;
  }

  /** Whether the lease numbered `seq` runs and no stop is recorded or due. */
  mayDispatch(seq: number): boolean {
    this.#enterDue();
    return this.isOpen(seq) && this.lease.state === 'running';
  }
  isOpen(seq: number): boolean {
    return seq === this.#hold?.seq && !this.lease.ended;
  }

  onRecord(record: IsolateMessage): void {
    if (this.lease.ended) return;
    if (this.lease.state === 'acquired') this.#start(record.t === 'settled' ? this.#now() - record.ranMs : this.#now());
    switch (record.t) {
      case 'settled':
        this.#settle(record);
        break;
      case 'looked':
        this.isolate?.noteHeap(record.heapBytes);
        this.#onLooked(record.findings);
        break;
      case 'fatal':
        this.#fail(record.failure);
        break;
      case 'output':
      case 'progress':
      case 'log':
        this.capture.take(record, this.#hold?.killed === true);
    }
  }

  onExit(exit: ThreadExit): void {
    if (this.lease.ended) return;
    const { killed = false, hasStarted = false } = this.#hold ?? {};
    if (this.lease.state === 'acquired') {
      if (!hasStarted) {
        this.#lose();
        return;
      }
      this.#start(this.#now());
    }
    this.exit = exit;
    if (!killed && this.lease.state !== 'draining') {
      const failure = failureOfExit(exit);
      if (failure !== null) this.#decide({ ok: false, failure });
      this.#note({ kind: 'isolate-exit', atMs: this.#now() });
    }
    this.lease.send({ type: 'EXITED' });
    this.#quarantine([killed ? { kind: 'killed' } : { kind: 'exited', detail: `exit code ${exit.code}` }]);
  }

  onAbandoned(): void {
    if (this.lease.ended) return;
    this.lease.send({ type: 'ABANDONED' });
    this.#quarantine([{ kind: 'abandoned' }]);
  }

  #postAfter(dispatched: Promise<void>, hold: Hold): void {
    const isHeld = () => this.lease.state === 'acquired' && this.#hold === hold;
    dispatched.then(
      () => {
        // After a stop, what was recorded as dispatched has not been let go.
        if (isHeld()) this.#post(hold);
        else this.calls.withdrawBody();
      },
      (error: unknown) => {
        if (isHeld()) this.#refuse('INTENT_REFUSED', error);
      },
    );
  }

  #post(hold: Hold): void {
    const { bounds, tool, names, ctx, input, transfer } = this.#setting;
    const now = this.#now();
    const remainingMs = Math.min(bounds.runTimeoutMs, (this.ledger.earliest()?.atMs ?? Number.POSITIVE_INFINITY) - now);
    const { module, exportName, effects } = tool;
    const { tenant, run, branch, requestId, attempt } = names;
    const wireCtx = { tenant, run, branch, requestId, attempt, trace: childSpan(ctx.trace), remainingMs };
    try {
      hold.post({ module, exportName, effects, input, ctx: wireCtx }, transfer);
    } catch (error) {
      this.#refuse('NOT_CLONEABLE', error);
      return;
    }
    this.#alarms.set('watch', now + Math.min(WATCH_MS, bounds.runTimeoutMs));
  }

  #refuse(code: Refusal['code'], error: unknown): void {
    this.refusal = { code, error };
    this.calls.withdrawBody();
    this.lease.send({ type: 'FAILED' });
    this.#leaveUnharmed();
  }

  #start(at: number): void {
    const startedAt = Math.max(at, this.#hold?.grantedAt ?? at);
    this.lease.send({ type: 'STARTED' }, startedAt);
    this.#alarms.clear('watch');
    this.#alarms.clear('start');
    this.#expect({ kind: 'run-timeout', atMs: startedAt + this.#setting.bounds.runTimeoutMs });
  }

  /** The isolate died, or did not begin: nothing has run, so the lease may wait for another one. */
  #lose(): void {
    this.#alarms.clear('watch');
    this.#alarms.clear('start');
    this.isolate?.disown();
    if (this.lease.send({ type: 'LOST' }) === 'queued') {
      this.#expectGrant();
      this.#setting.host.onLost();
      return;
    }
    this.#note({ kind: 'lease-unavailable', atMs: this.#now() });
    this.calls.withdrawBody();
    this.#end();
  }

  #expectGrant(): void {
    this.#expect({ kind: 'queue-timeout', atMs: this.#setting.startedAt + this.#setting.bounds.queueTimeoutMs });
  }
  #expect(deadline: PendingStop): void {
    this.ledger.expect(deadline);
    this.#alarms.set(deadline.kind, deadline.atMs);
  }

  /** Reads what the isolate has already said, so that nothing is entered against a result that is here. */
  #catchUp(): void {
    if (this.#hold === null || this.lease.ended || this.lease.state === 'queued') return;
    if (this.lease.state === 'acquired' && this.#hold.hasStarted) this.#start(this.#now());
    this.#hold.isolate.sweep();
  }

  #enterDue(): void {
    const earliest = this.ledger.earliest();
    if (earliest !== undefined && earliest.atMs <= this.#now()) this.stop(earliest);
  }

  #note(pending: PendingStop): void {
    const stop = this.ledger.enter(pending, this.lease.state);
    this.#setting.emit({ type: 'stop.recorded', stop, accepted: stop.state !== 'draining' });
  }

  #enter(pending: PendingStop): void {
    const { kind, reason = null } = pending;
    this.#alarms.clear(kind);
    this.#note(pending);
    if (this.lease.state === 'acquired' && this.#hold?.recall(kind) === false) this.#start(this.#now());
    else if (this.lease.state === 'running') this.isolate?.tellStop(kind, reason);
    if (this.lease.state === 'acquired') this.calls.withdrawBody();
    if (this.lease.send({ type: 'STOP', kind }) === 'completed') this.#leaveUnharmed();
  }

  #graceEnd(): number {
    const { graceMs, killMs } = this.#setting.bounds;
    return Math.max(this.#now(), Math.min(this.lease.enteredAt + graceMs, this.#hurryBy - killMs));
  }
  #hurryMs(): number {
    return Math.max(0, this.#hurryBy - this.#now());
  }

  #kill(): void {
    this.#catchUp();
    if (this.lease.state === 'terminating' && this.#hold?.killed === false) this.#condemn();
  }
  #condemn(): void {
    this.#alarms.clear('grace');
    this.#hold?.kill(this.#hurryMs());
  }

  /** The outcome is decided: no deadline can come any more. */
  #decide(answer: Answer): void {
    this.answer = answer;
    if (this.ledger.stops.length > 0) this.late = this.#hold?.killed === true ? 'after-kill' : 'within-grace';
    this.ledger.disarm();
    this.#alarms.clearAll();
  }

  #settle(record: SettledMessage): void {
    const hold = this.#hold;
    if (this.answer !== null || hold === null) {
      this.capture.lateEvents += 1;
      return;
    }
    const now = this.#now();
    const { failure } = record;
    // The isolate's own timer may abort the tool a moment before the host's would have: the deadline came first all the same.
    const earliest = failure?.ofStop === true && this.ledger.stops.length === 0 ? this.ledger.earliest() : undefined;
    if (earliest !== undefined) this.#enter({ ...earliest, atMs: Math.min(earliest.atMs, now) });
    const answer: Answer = failure === undefined ? { ok: true, value: record.value } : { ok: false, failure };
    this.calls.settleBody(answer, this.ledger.stops.length > 0);
    this.#decide(answer);
    this.lease.send({ type: 'SETTLED' }, now);
    if (hold.killed) return;
    if (record.clean && !record.reset && !record.healthCheck && hold.isolate.found.length === 0) this.#conclude(now);
    else this.#drain(record, hold.isolate);
  }

  #drain(record: SettledMessage, isolate: Isolate): void {
    isolate.release();
    const looks = new Promise<readonly WireFinding[]>((resolve) => {
      this.#onLooked = resolve;
    });
    void drain(record, isolate, looks, this.#setting.bounds, (ms, work) => this.#within(ms, work)).then((found) => {
      if (this.lease.ended) return;
      isolate.sweep();
      this.findings = this.#judge([...found, ...isolate.found]);
      if (this.findings.some(({ condemns }) => condemns)) this.#quarantine([]);
      else this.#conclude(this.#now());
    });
  }

  #conclude(now: number): void {
    if (this.lease.send({ type: 'CLEAN' }, now) === 'completed') this.#leaveUnharmed();
  }

  /** An error that nothing caught: the tool cannot go on, and what it still does until the thread ends counts as its own. */
  #fail(failure: Failure): void {
    if (this.answer !== null) return;
    this.#decide({ ok: false, failure });
    this.lease.send({ type: 'SETTLED' });
    this.#condemn();
  }

  /** Null when the time is up, or when the lease has ended meanwhile. */
  #within<T>(ms: number, work: Promise<T>): Promise<T | null> {
    return new Promise((resolve) => {
      this.#onTimeUp = () => resolve(null);
      this.#alarms.set('wait', this.#now() + ms);
      void work.then((value) => {
        this.#alarms.clear('wait');
        resolve(value);
      });
    });
  }

  #judge(findings: readonly WireFinding[]): readonly Finding[] {
    return judged(findings, this.#setting.condemn, this.#setting.redactor);
  }

  /** Ends the lease with a condemned isolate. A kill that is still to come goes on behind. */
  #quarantine(found: readonly WireFinding[]): void {
    const { isolate, lease } = this;
    if (isolate === null) return;
    if (found.length > 0) this.findings = this.#judge([...isolate.found, ...found]);
    lease.send({ type: 'DIRTY' });
    isolate.disown();
    isolate.condemn();
    this.#setting.emit({ type: 'lease.quarantined', lease: lease.id, isolate: isolate.id, findings: this.findings });
    this.#onTimeUp();
    this.#end();
  }

  #leaveUnharmed(): void {
    const { isolate } = this;
    if (isolate?.isHeldBy(this) === true) isolate.vacate();
    this.#end();
  }

  #end(): void {
    this.ledger.disarm();
    this.#alarms.clearAll();
    const { host, bounds } = this.#setting;
    const acknowledged = this.journal.untilAcknowledged();
    // What the log does not acknowledge in time is as if it had not been written: an open intent stays open.
    if (acknowledged === null) host.onEnded();
    else void this.#within(bounds.sweepMs, acknowledged).then(() => host.onEnded());
  }

  #ring(alarm: Alarm): void {
    switch (alarm) {
      case 'watch':
        this.#catchUp();
        if (this.lease.state === 'acquired') this.#alarms.set('start', (this.#hold?.grantedAt ?? 0) + this.#setting.bounds.startMs);
        break;
      case 'start':
        this.#catchUp();
        if (this.lease.state !== 'acquired') break;
        if (this.#hold?.recall('lease-unavailable') === true) {
          this.isolate?.condemn();
          this.#lose();
        } else this.#start(this.#now());
        break;
      case 'grace':
        this.#kill();
        break;
      case 'wait':
        this.#onTimeUp();
        break;
      default: {
        const deadline = this.ledger.expected(alarm);
        if (deadline !== undefined) this.stop(deadline);
      }
    }
  }

  #now(): number {
    return this.#setting.clock.now();
  }
}
