/**
 * Attempt: one try of a request, from the queue to the end of its lease.
 *
 * Invariants: a stop is entered once, after the isolate's port was swept; the lease's machine alone says what may follow;
 * once the lease has ended nothing is reclassified; every wait is an alarm, or bounded by the isolate's own.
 * Deliberately absent: the status (`decide/classify.ts`), admission, and the shape of a result (`report.ts`).
 */
import { looksBoundMs } from '../decide/bounds.ts';
import type { Isolate } from '../isolate/isolate.ts';
import type { TenureExit } from '../isolate/tenure.ts';
import type { Finding } from '../model/result.ts';
import type { Failure } from '../wire/failure.ts';
import type { IsolateMessage, SettledMessage, WireFinding } from '../wire/protocol.ts';
import { type Alarm, Alarms } from './alarms.ts';
import type { Answer, AttemptSetting, IncomingStop, Refusal } from './attempt-setting.ts';
import { Capture } from './capture.ts';
import { Drain } from './drain.ts';
import { Effects, type Gate } from './effects.ts';
import { exitText, failureOfExit } from './exit-failure.ts';
import { judged } from './findings.ts';
import type { Hold } from './hold.ts';
import { Journal } from './journal.ts';
import { Lease } from './lease.ts';
import { Ledger } from './ledger.ts';
import { type Startable, Starting } from './starting.ts';
import { type Stoppable, Stopping } from './stopping.ts';

export class Attempt implements Startable, Stoppable, Gate {
  readonly lease: Lease;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly capture: Capture;
  readonly calls: Effects;
  findings: readonly Finding[] = [];
  answer: Answer | null = null;
  late: null | 'within-grace' | 'after-kill' = null;
  exit: TenureExit | null = null;
  refusal: Refusal | null = null;
  /** The isolate has told how the tool ended, and with it everything it had held back. */
  hasSettled = false;
  hold: Hold | null = null;

  readonly #setting: AttemptSetting;
  readonly #alarms: Alarms;
  readonly #starting: Starting;
  readonly #stopping: Stopping;
  #drain: Drain | null = null;

  constructor(setting: AttemptSetting) {
    const { actors, clock, startedAt, arrivedAt } = setting;
    this.#setting = setting;
    this.lease = new Lease(actors, clock, arrivedAt);
    this.ledger = new Ledger(startedAt, setting.redactor);
    this.journal = new Journal(setting.eventLog, setting.names, clock);
    this.capture = new Capture(setting);
    this.calls = new Effects(setting, this.journal, this);
    this.#alarms = new Alarms(clock, (alarm) => this.#ring(alarm));
    this.#starting = new Starting(this, this.#alarms, setting);
    this.#stopping = new Stopping(this, this.#alarms, setting);
    for (const deadline of setting.deadlines) this.#starting.expect(deadline);
  }

  /** The isolate it holds, or held last. */
  get isolate(): Isolate | null {
    return this.hold?.isolate ?? null;
  }
  /** Enters the queue; its owner grants it an isolate in its turn. */
  enqueue(): void {
    this.#setting.emit({ type: 'lease.queued', lease: this.lease.id, attempt: this.#setting.names.attempt });
  }

  grant(isolate: Isolate): void {
    this.#starting.grant(isolate);
  }
  awaitGrant(): void {
    if (this.lease.state === 'queued') this.#starting.expectGrant();
  }
  begin(at: number): void {
    this.#starting.begin(at);
  }

  /** Enters a stop. False when the outcome was decided already: it is then only mentioned. */
  stop(incoming: IncomingStop): boolean {
    this.catchUp();
    if (!this.lease.ended) return this.#stopping.stop(incoming);
    this.capture.lateEvents += 1;
    return false;
  }

  stopUnswept(incoming: IncomingStop): void {
    this.#stopping.stop(incoming);
  }

  /** Enters a stop that came after the lease, while the value was still being checked. */
  enterAfter(stop: IncomingStop): void {
    this.#stopping.note(stop);
  }

  mayDispatch(seq: number): boolean {
    this.enterDue();
    return this.isOpen(seq) && this.lease.state === 'running';
  }
  isOpen(seq: number): boolean {
    return seq === this.hold?.seq && !this.lease.ended;
  }

  onRecord(record: IsolateMessage): void {
    if (this.lease.ended) return;
    if (this.lease.state === 'acquired') this.begin(record.t === 'settled' ? this.#now() - record.ranMs : this.#now());
    switch (record.t) {
      case 'settled':
        this.#settle(record);
        break;
      case 'looked':
        this.isolate?.noteHeap(record.heapBytes);
        this.#drain?.looked(record.findings);
        break;
      case 'fatal':
        this.#fail(record.failure);
        break;
      case 'output':
      case 'progress':
      case 'log':
      case 'drained':
        if (this.capture.take(record, this.hold?.killed === true))
          this.stop({ kind: 'output-limit', atMs: this.#now() });
    }
  }

  onExit(exit: TenureExit, asked: boolean): void {
    if (this.lease.ended) return;
    const { hasStarted = false } = this.hold ?? {};
    const killed = asked || this.hold?.killed === true;
    const isWaiting = this.lease.state === 'acquired';
    if (isWaiting && !hasStarted) {
      this.#starting.lose();
      return;
    }
    if (isWaiting) this.begin(this.#now());
    // All it said was read: a body that was let go and never begun has done nothing.
    if (!hasStarted) void this.calls.withdrawBody();
    // A thread that was killed has no exit of its own; a process has, and it is told as the system gave it.
    if (!killed || this.isolate?.kind === 'process') this.exit ??= exit;
    if (!killed && this.lease.state !== 'draining') {
      const failure = failureOfExit(exit);
      if (failure !== null) this.#decide({ ok: false, failure });
      this.#stopping.note({ kind: 'isolate-exit', atMs: this.#now() });
    }
    this.lease.send({ type: 'EXITED' });
    this.#quarantine([killed ? { kind: 'killed' } : { kind: 'exited', detail: exitText(exit) }]);
  }

  onLate(record: IsolateMessage): void {
    if (record.t === 'settled') void this.journal.tryWrite('late', { fact: 'settled', ok: record.ok }, this.capture);
  }

  onAbandoned(): void {
    if (this.lease.ended) return;
    this.lease.send({ type: 'ABANDONED' });
    this.#quarantine([{ kind: 'abandoned' }]);
  }

  onRefused(refusal: Refusal): void {
    // `onPrepared` may cancel and then throw: the cancel came first.
    if (this.lease.ended) return;
    this.refusal = refusal;
    this.lease.send({ type: 'FAILED' });
    this.onStoppedBefore();
  }

  onUnavailable(): void {
    this.#stopping.note({ kind: 'lease-unavailable', atMs: this.#now() });
    void this.calls.withdrawBody();
    this.#end();
  }

  onStoppedBefore(): void {
    void this.calls.withdrawBody();
    this.#leaveUnharmed();
  }

  /** Reads what the isolate has already said, so that nothing is entered against a result that is here. */
  catchUp(): void {
    if (this.hold === null || this.lease.ended || this.lease.state === 'queued') return;
    if (this.lease.state === 'acquired' && this.hold.hasStarted) this.begin(this.#now());
    this.hold.isolate.sweep();
  }

  enterDue(): void {
    this.catchUp();
    const earliest = this.ledger.earliest();
    if (earliest !== undefined && earliest.atMs <= this.#now()) this.stop(earliest);
  }

  /** The outcome is decided: no deadline can come any more. */
  #decide(answer: Answer): void {
    this.answer = answer;
    if (this.ledger.stops.length > 0) this.late = this.hold?.killed === true ? 'after-kill' : 'within-grace';
    this.ledger.disarm();
    this.#alarms.clearAll();
  }

  #settle(record: SettledMessage): void {
    const hold = this.hold;
    if (this.answer !== null || hold === null) {
      this.capture.lateEvents += 1;
      return;
    }
    const now = this.#now();
    const { failure } = record;
    if (record.exit !== undefined) this.exit = { ...record.exit, error: null };
    if (failure?.ofStop === true) this.#stopping.enterOwn();
    const answer: Answer = failure === undefined ? { ok: true, value: record.value } : { ok: false, failure };
    if (record.recalled === true) void this.calls.withdrawBody();
    else this.calls.settleBody(answer, this.ledger.stops.length > 0);
    this.hasSettled = true;
    this.#decide(answer);
    this.lease.send({ type: 'SETTLED' }, now);
    if (hold.killed) return;
    if (record.clean && !record.reset && !record.healthCheck && hold.isolate.found.length === 0) this.#conclude(now);
    else this.#settleDown(record, hold.isolate);
  }

  #settleDown(record: SettledMessage, isolate: Isolate): void {
    isolate.release();
    const { bounds, tool } = this.#setting;
    this.#drain = new Drain(bounds, looksBoundMs(bounds, tool.work), (ms, work) => this.#alarms.within(ms, work));
    void this.#drain.run(record, isolate).then((found) => {
      if (this.lease.ended || this.hold?.killed === true) return;
      isolate.sweep();
      this.findings = judged([...found, ...isolate.found], this.#setting.condemn, this.#setting.redactor);
      if (this.findings.some(({ condemns }) => condemns)) this.#quarantine([]);
      else this.#conclude(this.#now());
    });
  }

  /** An error that nothing caught: the tool cannot go on, and what it still does until the thread ends counts as its own. */
  #fail(failure: Failure): void {
    if (this.answer !== null) return;
    if (failure.ofStop) this.#stopping.enterOwn();
    this.#decide({ ok: false, failure });
    this.lease.send({ type: 'SETTLED' });
    this.#stopping.condemn();
  }

  /** Ends the lease with a condemned isolate. A kill that is still to come goes on behind. */
  #quarantine(found: readonly WireFinding[]): void {
    const { isolate, lease } = this;
    if (isolate === null) return;
    if (found.length > 0)
      this.findings = judged([...isolate.found, ...found], this.#setting.condemn, this.#setting.redactor);
    lease.send({ type: 'DIRTY' });
    isolate.disown();
    isolate.condemn();
    this.#setting.emit({ type: 'lease.quarantined', lease: lease.id, isolate: isolate.id, findings: this.findings });
    this.#end();
  }

  #conclude(now: number): void {
    if (this.lease.send({ type: 'CLEAN' }, now) === 'completed') this.#leaveUnharmed();
  }

  #leaveUnharmed(): void {
    if (this.isolate?.isHeldBy(this) === true) this.isolate.vacate();
    this.#end();
  }

  #end(): void {
    this.ledger.disarm();
    this.#alarms.clearAll();
    const { host, bounds } = this.#setting;
    host.onLeaseEnded();
    const acknowledged = this.journal.untilAcknowledged();
    // What the log does not acknowledge in time is as if it had not been written: an open intent stays open.
    if (acknowledged === null) host.onEnded();
    else void this.#alarms.within(bounds.sweepMs, acknowledged).then(() => host.onEnded());
  }

  #ring(alarm: Exclude<Alarm, 'wait'>): void {
    if (alarm === 'watch') {
      this.catchUp();
      if (this.lease.state === 'acquired') this.#starting.keepWatch();
      return;
    }
    const act = () => (alarm === 'grace' ? this.#stopping.kill() : this.#enterExpected(alarm));
    if (this.hold === null) act();
    else this.hold.isolate.poll(act);
  }

  #enterExpected(alarm: Exclude<Alarm, 'wait' | 'watch' | 'grace'>): void {
    // A result that is here decides, and disarms what has just rung.
    this.catchUp();
    const deadline = this.lease.ended ? undefined : this.ledger.expected(alarm);
    if (deadline !== undefined) this.stop(deadline);
  }

  #now(): number {
    return this.#setting.clock.now();
  }
}
