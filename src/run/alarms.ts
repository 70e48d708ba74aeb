/**
 * Alarms: the instants an attempt waits for, behind one timer.
 *
 * Invariants: an alarm rings once, no earlier than its instant, and never after it was cleared; after `clearAll`
 * no timer is armed. Deliberately absent: what an alarm means, and any order among those that are due together.
 */
import type { StopKind } from '../model/stop.ts';
import type { Clock, Timer } from '../model/time.ts';

/** Node's timers may fire a fraction of a millisecond early. */
const TOLERANCE_MS = 0.5;

/**
 * What an attempt waits for. `watch`: whether its run has begun. `grace`: the kill is due. `wait`: a bounded
 * wait is over. The rest are deadlines, by the kind of stop they become.
 */
export type Alarm = 'watch' | 'grace' | 'wait' | StopKind;

export class Alarms {
  readonly #clock: Clock;
  readonly #ring: (name: Exclude<Alarm, 'wait'>) => void;
  /** At most one per name, and a handful at a time: a list is smaller and faster than a map. */
  #set: { readonly name: Alarm; readonly dueAt: number }[] = [];
  #timer: Timer | null = null;
  #giveUp: () => void = () => undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: (name: Exclude<Alarm, 'wait'>) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets or moves an alarm to an instant of the clock. */
  set(name: Alarm, dueAt: number): void {
    this.#drop(name);
    this.#set.push({ name, dueAt });
    if (dueAt < this.#armedFor) this.#arm(dueAt);
  }

  /** A timer armed for it stays until it fires or all are cleared: moving it costs more than an idle wake. */
  clear(name: Alarm): void {
    this.#drop(name);
  }

  /** A wait that is going on ends with it. */
  clearAll(): void {
    if (this.#set.length > 0) this.#set = [];
    this.#disarm();
    this.#giveUp();
  }

  /** Waits for work for at most `ms`; null when the time is up or all alarms were cleared. One wait at a time. */
  within<T>(ms: number, work: Promise<T>): Promise<T | null> {
    return new Promise((resolve) => {
      const giveUp = () => resolve(null);
      this.#giveUp = giveUp;
      this.set('wait', this.#clock.now() + ms);
      void work.then((value) => {
        // Late work must not end the bound of the wait that followed.
        if (this.#giveUp === giveUp) this.clear('wait');
        // A wait may be the last thing an attempt does: nothing is to be held open for it.
        if (this.#set.length === 0) this.#disarm();
        resolve(value);
      });
    });
  }

  #drop(name: Alarm): boolean {
    const at = this.#set.findIndex((alarm) => alarm.name === name);
    if (at >= 0) this.#set.splice(at, 1);
    return at >= 0;
  }

  #disarm(): void {
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(dueAt: number): void {
    this.#disarm();
    this.#armedFor = dueAt;
    this.#timer = this.#clock.setTimeout(() => this.#fire(), Math.max(0, dueAt - this.#clock.now()));
  }

  #fire(): void {
    this.#disarm();
    const now = this.#clock.now();
    for (const alarm of [...this.#set]) {
      // Ringing one may clear or move others.
      if (alarm.dueAt - now > TOLERANCE_MS || !this.#set.includes(alarm)) continue;
      this.#drop(alarm.name);
      if (alarm.name === 'wait') this.#giveUp();
      else this.#ring(alarm.name);
    }
    const next = this.#set.reduce((soonest, { dueAt }) => Math.min(soonest, dueAt), Number.POSITIVE_INFINITY);
    if (next < this.#armedFor) this.#arm(next);
  }
}
