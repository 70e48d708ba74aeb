/**
 * Reaper: comes back to a contaminated run until nothing of it is left.
 *
 * Invariants: one try at a time; the waits are 1, 2, 4 .. 60 s and hold no process open; once verified or stopped it does
 * nothing more. Deliberately absent: how to verify.
 */
import type { Clock, Timer } from '../model/time.ts';

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export class Reaper {
  readonly #clock: Clock;
  readonly #verify: () => Promise<boolean>;
  readonly #onVerified: () => void;
  #waitMs = FIRST_MS;
  #timer: Timer | null = null;
  #isOver = false;

  /** `verify` must not reject: whether nothing is left now. The first try comes after a second. */
  constructor(clock: Clock, verify: () => Promise<boolean>, onVerified: () => void) {
    this.#clock = clock;
    this.#verify = verify;
    this.#onVerified = onVerified;
    this.#arm();
  }

  /** Tells nothing from now on. */
  stop(): void {
    this.#isOver = true;
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#attempt(), this.#waitMs, false);
    this.#waitMs = Math.min(LONGEST_MS, this.#waitMs * 2);
  }

  async #attempt(): Promise<void> {
    this.#timer = null;
    const isVerified = await this.#verify();
    if (this.#isOver) return;
    if (!isVerified) {
      this.#arm();
      return;
    }
    this.#isOver = true;
    this.#onVerified();
  }
}
