/**
 * Stopping: from the first stop of an attempt to the kill of its isolate.
 *
 * Invariants: a stop is entered once, after the isolate's port was swept and after each deadline that was due earlier; a run
 * that had not begun is taken back, one that had is told, given its grace, then killed; a later stop may only shorten that.
 * Deliberately absent: what follows a kill (the attempt hears of the exit), and the status.
 */
import type { PendingStop } from '../decide/precedence.ts';
import type { Alarms } from './alarms.ts';
import type { AttemptSetting, IncomingStop } from './attempt-setting.ts';
import type { Hold } from './hold.ts';
import type { Lease } from './lease.ts';
import type { Ledger } from './ledger.ts';

/** The attempt that is stopped. */
export interface Stoppable {
  readonly lease: Lease;
  readonly ledger: Ledger;
  readonly hold: Hold | null;
  /** Hears what the isolate has already said, so that nothing is entered against a result that is here. */
  catchUp(): void;
  /** The isolate was found to have begun. */
  begin(at: number): void;
  /** The stop ended the lease before user code ran. */
  onStoppedBefore(): void;
}

export class Stopping {
  readonly #attempt: Stoppable;
  readonly #alarms: Alarms;
  readonly #setting: Pick<AttemptSetting, 'actors' | 'names' | 'clock' | 'bounds' | 'emit'>;
  /** The instant by which the attempt is to have ended, where a stop asked for less than its own bounds. */
  #hurryBy = Number.POSITIVE_INFINITY;

  constructor(
    attempt: Stoppable,
    alarms: Alarms,
    setting: Pick<AttemptSetting, 'actors' | 'names' | 'clock' | 'bounds' | 'emit'>,
  ) {
    this.#attempt = attempt;
    this.#alarms = alarms;
    this.#setting = setting;
  }

  /** Enters a stop and acts on it. False when the outcome was decided already: it is then only mentioned. */
  stop(incoming: IncomingStop): boolean {
    const { lease, ledger } = this.#attempt;
    const accepted = lease.state !== 'draining';
    this.#hurryBy = Math.min(this.#hurryBy, incoming.hurryBy ?? Number.POSITIVE_INFINITY);
    // A supervisor closes once, however often it insists, and a deadline passes once, whoever tells of it.
    const known = incoming.kind !== 'cancel' && ledger.has(incoming.kind);
    for (const pending of known ? [] : ledger.dueWith(incoming, this.#now())) {
      if (!lease.ended) this.#enter(pending);
    }
    const { hold } = this.#attempt;
    if (hold?.killed === true) hold.isolate.hurryKill(this.#leftMs());
    else if (lease.state === 'terminating') {
      if (incoming.force === true || incoming.kind === 'health-failure') this.kill();
      else this.#alarms.set('grace', this.#graceEnd());
    } else if (lease.state === 'draining' && this.#hurryBy < Number.POSITIVE_INFINITY) {
      this.#alarms.set('grace', Math.max(this.#now(), this.#hurryBy - this.#setting.bounds.killMs));
    }
    return accepted;
  }

  /** The isolate's own timer aborted the tool a moment before the host's would have: the deadline came first all the same. */
  enterOwn(): void {
    const { ledger } = this.#attempt;
    const earliest = ledger.stops.length === 0 ? ledger.earliest() : undefined;
    if (earliest !== undefined) this.stop({ ...earliest, atMs: Math.min(earliest.atMs, this.#now()) });
  }

  /** Enters a stop without acting on it. */
  note(pending: PendingStop): void {
    const { lease, ledger } = this.#attempt;
    const { actors, names, emit } = this.#setting;
    const stop = ledger.enter(pending, lease.state);
    actors.tell({ type: 'STOP', request: names.requestId, kind: stop.kind });
    emit({ type: 'stop.recorded', stop, accepted: stop.state !== 'draining' });
  }

  /** The grace is over. */
  kill(): void {
    this.#attempt.catchUp();
    const { state } = this.#attempt.lease;
    if ((state === 'terminating' || state === 'draining') && this.#attempt.hold?.killed === false) this.condemn();
  }

  /** Issues the kill whatever the tool has answered. */
  condemn(): void {
    this.#alarms.clear('grace');
    this.#attempt.hold?.kill(this.#leftMs());
  }

  #enter(pending: PendingStop): void {
    const { lease, hold } = this.#attempt;
    const { kind, reason = null } = pending;
    this.#alarms.clear(kind);
    this.note(pending);
    if (lease.state === 'acquired' && hold?.recall(kind) === false) this.#attempt.begin(this.#now());
    else if (lease.state === 'running') hold?.isolate.tellStop(kind, reason);
    if (lease.send({ type: 'STOP', kind }) === 'completed') this.#attempt.onStoppedBefore();
  }

  #graceEnd(): number {
    const { graceMs, killMs } = this.#setting.bounds;
    return Math.max(this.#now(), Math.min(this.#attempt.lease.enteredAt + graceMs, this.#hurryBy - killMs));
  }
  #leftMs(): number {
    return Math.max(0, this.#hurryBy - this.#now());
  }
  #now(): number {
    return this.#setting.clock.now();
  }
}
