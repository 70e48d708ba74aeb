/**
 * Alarms: the instants an attempt waits for, behind one timer.
 *
 * Invariants: an alarm rings once, no earlier than its instant, and never after it was cleared; with no alarm set no timer
 * is armed. Deliberately absent: what an alarm means, and any order among those that are due together.
 */
import type { Clock, Timer } from '../model/time.ts';

export class Alarms<Name extends string> {
  readonly #clock: Clock;
  readonly #ring: (name: Name, dueAt: number) => void;
  readonly #due = new Map<Name, number>();
  #timer: Timer | null = null;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: (name: Name, dueAt: number) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets or moves an alarm to an instant of the clock. */
  set(name: Name, dueAt: number): void {
    this.#due.set(name, dueAt);
    if (dueAt < this.#armedFor) this.#arm(dueAt);
  }

  /** A timer armed for it stays until it fires or the last alarm goes: moving it costs more than an idle wake. */
  clear(name: Name): void {
    if (this.#due.delete(name) && this.#due.size === 0) this.#disarm();
  }

  clearAll(): void {
    this.#due.clear();
    this.#disarm();
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
    for (const [name, dueAt] of [...this.#due]) {
      // Node's timers may fire a fraction of a millisecond early; ringing may clear others.
      if (dueAt - now > 0.5 || this.#due.get(name) !== dueAt) continue;
      this.#due.delete(name);
      this.#ring(name, dueAt);
    }
    let next = Number.POSITIVE_INFINITY;
    for (const dueAt of this.#due.values()) next = Math.min(next, dueAt);
    if (next < this.#armedFor) this.#arm(next);
  }
}
