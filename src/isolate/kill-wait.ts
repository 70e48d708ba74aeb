/**
 * KillWait: from the kill of an isolate until its exit was seen, or nobody waits for it any longer.
 *
 * Invariants: it begins once and is over once; it may be hurried, and never takes longer for it.
 * Deliberately absent: the kill itself, and what becomes of the isolate.
 */
import type { Clock, Timer } from '../model/time.ts';

export class KillWait {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #timer: Timer | null = null;
  #dueAt = Number.POSITIVE_INFINITY;

  /** `onOver`: the exit was not seen in time. */
  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** The kill has been issued. */
  get hasBegun(): boolean {
    return this.#timer !== null;
  }

  begin(ms: number): void {
    this.#dueAt = this.#clock.now() + ms;
    this.#timer = this.#clock.setTimeout(this.#onOver, ms);
  }

  hurry(withinMs: number): void {
    if (this.#timer === null || this.#clock.now() + withinMs >= this.#dueAt) return;
    this.#clock.clearTimeout(this.#timer);
    this.begin(withinMs);
  }

  /** The exit was seen. */
  end(): void {
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
  }
}
