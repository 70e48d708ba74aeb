/**
 * A clock that moves only when told.
 *
 * Invariants: timers fire in the order of their due times, at their due times, never inside `setTimeout`; what a timer
 * set off in microtasks is over before the next timer fires. `jump` moves time without firing, as a blocked host does.
 * Deliberately absent: anything that waits.
 */
import type { Clock, Timer } from '../../src/model/time.ts';

interface Pending extends Timer {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Lets everything that promises alone have set off come to rest. */
export async function settle(turns = 60): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
}

export class FakeClock implements Clock {
  #now = 1_000;
  #order = 0;
  readonly #pending = new Set<Pending>();

  now(): number {
    return this.#now;
  }

  wall(): number {
    return 1_700_000_000_000 + this.#now;
  }

  setTimeout(fire: () => void, ms: number): Timer {
    if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`a timer of ${ms} ms`);
    this.#order += 1;
    const timer: Pending = { kind: 'timer', due: this.#now + ms, order: this.#order, fire };
    this.#pending.add(timer);
    return timer;
  }

  clearTimeout(timer: Timer): void {
    this.#pending.delete(timer as Pending);
  }

  /** Timers that have neither fired nor been cleared. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Moves time without firing what becomes due, as when the host's loop is blocked. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Fires what is due, earliest first, without moving time and without a pause between. */
  fireDue(): void {
    for (let next = this.#next(this.#now); next !== null; next = this.#next(this.#now)) this.#fire(next);
  }

  /** Moves time by `ms`, stopping at each timer on the way. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (let next = this.#next(until); next !== null; next = this.#next(until)) {
      this.#now = Math.max(this.#now, next.due);
      this.#fire(next);
      await settle();
    }
    this.#now = until;
    await settle();
  }

  /** Moves time to the next timer and fires it. False when there is none. */
  async step(): Promise<boolean> {
    const next = this.#next(Number.POSITIVE_INFINITY);
    if (next === null) return false;
    this.#now = Math.max(this.#now, next.due);
    this.#fire(next);
    await settle();
    return true;
  }

  #next(until: number): Pending | null {
    let first: Pending | null = null;
    for (const timer of this.#pending) {
      if (timer.due > until) continue;
      if (first === null || timer.due < first.due || (timer.due === first.due && timer.order < first.order)) {
        first = timer;
      }
    }
    return first;
  }

  #fire(timer: Pending): void {
    this.#pending.delete(timer);
    timer.fire();
  }
}
