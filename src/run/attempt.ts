/**
 * Attempt: one try of a request, from the queue to the end of its lease.
 *
 * Invariants: a stop is entered once, after the isolate's port was swept; the lease's machine alone says what may follow;
 * once the lease has ended nothing is reclassified; every wait is an alarm, or bounded by the isolate's own.
 * Deliberately absent: the status (`decide/classify.ts`), admission, and the shape of a result (`report.ts`).
 */
import { judge } from '../decide/condemn.ts';
import type { PendingStop } from '../decide/precedence.ts';
import type { Isolate, Occupant } from '../isolate/isolate.ts';
import type { ThreadExit } from '../isolate/tenure.ts';
import type { Finding } from '../model/result.ts';
import type { StopKind } from '../model/stop.ts';
import type { Failure } from '../wire/failure.ts';
import type { IsolateMessage, SettledMessage, WireFinding } from '../wire/protocol.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import { Alarms } from './alarms.ts';
import type { Answer, AttemptSetting } from './attempt-setting.ts';
import { Capture } from './capture.ts';
import { drain } from './drain.ts';
import { Effects } from './effects.ts';
import { failureOfExit } from './exit-failure.ts';
import { Journal } from './journal.ts';
import { Lease } from './lease.ts';
import { Ledger } from './ledger.ts';

/** How soon the host looks whether a lease has started, when the isolate has said nothing. Milliseconds. */
const WATCH_MS = 10;

/** `watch`, `start`: the run has begun, or is lost. `grace`: the kill is due. `wait`: a step of the drain is over time. */
type Alarm = 'watch' | 'start' | 'grace' | 'wait' | StopKind;

/** A stop on its way to the ledger. */
export interface IncomingStop extends PendingStop {
  /** No grace: kill at once. */
  readonly force?: boolean;
  /** The instant by which the attempt is to have ended, where that is sooner than its own bounds. */
  readonly hurryBy?: number;
}

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
  isolate: Isolate | null = null;
  /** Why the tool did not run, where no stop says it. */
  refusal: { readonly code: 'ON_PREPARED' | 'NOT_CLONEABLE' | 'INTENT_REFUSED'; readonly error: unknown } | null = null;

  readonly #setting: AttemptSetting;
  readonly #alarms: Alarms<Alarm>;
  #seq = 0;
  #held = false;
  #posted = false;
  #grantedAt = 0;
  #killed = false;
  #hurryBy = Number.POSITIVE_INFINITY;
  #onLooked: (findings: readonly WireFinding[]) => void = () => undefined;
  #onTimeUp: () => void = () => undefined;

  constructor(setting: AttemptSetting) {
    const { actors, clock, startedAt } = setting;
    this.#setting = setting;
    this.lease = new Lease(actors, clock, startedAt);
    this.ledger = new Ledger(startedAt, setting.redactor);
    this.journal = new Journal(setting.eventLog, setting.names, clock);
    this.capture = new Capture(setting);
    const isOpen = (seq: number) => seq === this.#seq && !this.lease.ended;
    this.calls = new Effects(setting, this.journal, (seq) => this.#mayDispatch(seq), isOpen);
    this.#alarms = new Alarms(clock, (alarm) => this.#ring(alarm));
    for (const deadline of setting.deadlines) this.#expect(deadline);
  }

  /** Enters the queue; the host grants it an isolate in its turn. */
  enqueue(): void {
    this.#expect({ kind: 'queue-timeout', atMs: this.#setting.startedAt + this.#setting.bounds.queueTimeoutMs });
    this.#setting.emit({ type: 'lease.queued', lease: this.lease.id, attempt: this.#setting.names.attempt });
  }

  /** Binds an isolate and starts the run on it. */
  grant(isolate: Isolate): void {
    const { emit, notifyPrepared } = this.#setting;
    const again = this.isolate !== null;
    this.isolate = isolate;
    this.#grantedAt = this.#now();
    this.#seq = isolate.occupy(this);
    this.#held = true;
    this.#posted = false;
    this.lease.send({ type: 'GRANTED', isolate: isolate.id, kind: isolate.kind }, this.#grantedAt);
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
    if (dispatched === undefined) this.#post();
    else this.#postAfter(dispatched);
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
    if (this.#killed) this.#hurryKill();
    else if (this.lease.state === 'terminating') {
      if (incoming.force === true || incoming.kind === 'health-failure') this.#kill();
      else this.#alarms.set('grace', this.#graceEnd());
    }
    return accepted;
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
        this.capture.take(record, this.#killed);
    }
  }

  onExit(exit: ThreadExit): void {
    if (this.lease.ended) return;
    if (this.lease.state === 'acquired') {
      if (!this.#hasStarted()) {
        this.#lose();
        return;
      }
      this.#start(this.#now());
    }
    this.exit = exit;
    if (!this.#killed && this.lease.state !== 'draining') {
      const failure = failureOfExit(exit);
      if (failure !== null) this.#decide({ ok: false, failure });
      this.#note({ kind: 'isolate-exit', atMs: this.#now() });
    }
    this.lease.send({ type: 'EXITED' });
    this.#quarantine([this.#killed ? { kind: 'killed' } : { kind: 'exited', detail: `exit code ${exit.code}` }]);
  }

  onAbandoned(): void {
    if (this.lease.ended) return;
    this.lease.send({ type: 'ABANDONED' });
    this.#quarantine([{ kind: 'abandoned' }]);
  }

  #postAfter(dispatched: Promise<void>): void {
    dispatched.then(
      () => {
        if (this.lease.state === 'acquired') this.#post();
        // A stop came first: what was recorded as dispatched has not been let go.
        else this.calls.withdrawBody();
      },
      (error: unknown) => {
        if (this.lease.state === 'acquired') this.#refuse('INTENT_REFUSED', error);
      },
    );
  }

  #post(): void {
    const { bounds, tool, names, trace, input, transfer } = this.#setting;
    const now = this.#now();
    const first = this.ledger.earliest()?.atMs ?? Number.POSITIVE_INFINITY;
    const remainingMs = Math.min(bounds.runTimeoutMs, first - now);
    const { module, exportName, effects } = tool;
    try {
      const run = { t: 'run' as const, seq: this.#seq, module, exportName, effects, input };
      this.isolate?.run({ ...run, ctx: { ...names, trace, remainingMs } }, transfer);
    } catch (error) {
      this.#refuse('NOT_CLONEABLE', error);
      return;
    }
    this.#posted = true;
    this.#alarms.set('watch', now + Math.min(WATCH_MS, bounds.runTimeoutMs));
  }

  #refuse(code: NonNullable<Attempt['refusal']>['code'], error: unknown): void {
    this.refusal = { code, error };
    this.calls.withdrawBody();
    this.lease.send({ type: 'FAILED' });
    this.#leaveUnharmed();
  }

  #hasStarted(): boolean {
    return this.#posted && this.isolate?.hasStarted() === true;
  }

  #start(at: number): void {
    const startedAt = Math.max(at, this.#grantedAt);
    this.lease.send({ type: 'STARTED' }, startedAt);
    this.#alarms.clear('watch');
    this.#alarms.clear('start');
    this.#expect({ kind: 'run-timeout', atMs: startedAt + this.#setting.bounds.runTimeoutMs });
  }

  /** Takes the run back from an isolate that has not begun it. False when the isolate was faster. */
  #recall(kind: string): boolean {
    if (!this.#posted) return true;
    // Here the flag is set before the look; there the start is marked before the flag is read: one of both sees the other.
    this.isolate?.tellStop(kind, null);
    return !this.#hasStarted();
  }

  /** The isolate died, or did not begin: nothing has run, so the lease may wait for another one. */
  #lose(): void {
    this.#alarms.clear('watch');
    this.#alarms.clear('start');
    this.isolate?.disown();
    const next = this.lease.send({ type: 'LOST' });
    this.#held = false;
    if (next === 'queued') {
      this.#expect({ kind: 'queue-timeout', atMs: this.#setting.startedAt + this.#setting.bounds.queueTimeoutMs });
      this.#setting.host.onLost(this);
      return;
    }
    this.#note({ kind: 'lease-unavailable', atMs: this.#now() });
    this.calls.withdrawBody();
    this.#end();
  }

  #mayDispatch(seq: number): boolean {
    this.#enterDue();
    return seq === this.#seq && this.lease.state === 'running';
  }

  #expect(deadline: PendingStop): void {
    this.ledger.expect(deadline);
    this.#alarms.set(deadline.kind, deadline.atMs);
  }

  /** Reads what the isolate has already said, so that nothing is entered against a result that is here. */
  #catchUp(): void {
    if (this.isolate === null || this.lease.ended) return;
    if (this.lease.state === 'acquired' && this.#hasStarted()) this.#start(this.#now());
    if (this.lease.state !== 'queued') this.isolate.sweep();
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
    if (this.lease.state === 'acquired' && !this.#recall(kind)) this.#start(this.#now());
    else if (this.lease.state === 'running') this.isolate?.tellStop(kind, reason);
    const before = this.lease.state;
    if (this.lease.send({ type: 'STOP', kind }) !== 'completed') return;
    if (before === 'acquired') this.calls.withdrawBody();
    this.#leaveUnharmed();
  }

  #graceEnd(): number {
    const { graceMs, killMs } = this.#setting.bounds;
    const told = this.lease.enteredAt + graceMs;
    return Math.max(this.#now(), Math.min(told, this.#hurryBy - killMs));
  }

  #kill(): void {
    this.#catchUp();
    if (this.lease.state !== 'terminating' || this.#killed) return;
    this.#condemn();
  }

  /** Issues the kill: the isolate's slot is free now, its end is still awaited. */
  #condemn(): void {
    this.#killed = true;
    this.#alarms.clear('grace');
    this.isolate?.condemn();
    this.#hurryKill();
  }

  #hurryKill(): void {
    if (this.#hurryBy < Number.POSITIVE_INFINITY) this.isolate?.hurryKill(Math.max(0, this.#hurryBy - this.#now()));
  }

  /** The outcome is decided: no deadline can come any more. */
  #decide(answer: Answer): void {
    this.answer = answer;
    if (this.ledger.stops.length > 0) this.late = this.#killed ? 'after-kill' : 'within-grace';
    this.ledger.disarm();
    this.#alarms.clearAll();
  }

  #settle(record: SettledMessage): void {
    if (this.answer !== null) {
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
    const isolate = this.isolate as Isolate;
    if (this.#killed) return;
    if (record.clean && !record.reset && !record.healthCheck && isolate.found.length === 0) {
      this.lease.send({ type: 'CLEAN' }, now);
      this.#leaveUnharmed();
      return;
    }
    isolate.release();
    const looks = new Promise<readonly WireFinding[]>((resolve) => {
      this.#onLooked = resolve;
    });
    void drain(record, isolate, looks, this.#setting.bounds, (ms, work) => this.#within(ms, work)).then((found) => {
      if (this.lease.ended) return;
      isolate.sweep();
      this.findings = this.#judge([...found, ...isolate.found]);
      if (this.findings.some(({ condemns }) => condemns)) this.#quarantine([]);
      else if (this.lease.send({ type: 'CLEAN' }) === 'completed') this.#leaveUnharmed();
    });
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
    const { redactor, condemn } = this.#setting;
    const told = findings.map(({ kind, detail }) => ({
      kind,
      ...(detail === undefined ? {} : { detail: boundText(redactor.text(detail), TEXT_LIMITS.logLineBytes) }),
    }));
    return Object.freeze(judge(told, condemn).map((finding) => Object.freeze(finding)));
  }

  /** Ends the lease with a condemned isolate. A kill that is still to come goes on behind. */
  #quarantine(found: readonly WireFinding[]): void {
    const isolate = this.isolate as Isolate;
    if (found.length > 0) this.findings = this.#judge([...isolate.found, ...found]);
    this.lease.send({ type: 'DIRTY' });
    isolate.disown();
    isolate.condemn();
    const { findings } = this;
    this.#setting.emit({ type: 'lease.quarantined', lease: this.lease.id, isolate: isolate.id, findings });
    this.#onTimeUp();
    this.#end();
  }

  #leaveUnharmed(): void {
    if (this.#held) this.isolate?.vacate();
    this.#held = false;
    this.#end();
  }

  #end(): void {
    this.ledger.disarm();
    this.#alarms.clearAll();
    const { host, bounds } = this.#setting;
    const acknowledged = this.journal.untilAcknowledged();
    // What the log does not acknowledge in time is as if it had not been written: an open intent stays open.
    if (acknowledged === null) host.onEnded(this);
    else void this.#within(bounds.sweepMs, acknowledged).then(() => host.onEnded(this));
  }

  #ring(alarm: Alarm): void {
    switch (alarm) {
      case 'watch':
        this.#catchUp();
        if (this.lease.state === 'acquired') this.#alarms.set('start', this.#grantedAt + this.#setting.bounds.startMs);
        break;
      case 'start':
        this.#catchUp();
        if (this.lease.state !== 'acquired') break;
        if (this.#recall('lease-unavailable')) {
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
