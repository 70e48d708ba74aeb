/**
 * Restarts: the deaths of isolates that never served, the pause they force, and when they are too many.
 *
 * Invariants: what dies at once is not started for ever; failures are forgotten by age, or once an isolate has served.
 * Deliberately absent: what a tool breaks, which is replaced without limit, and the booting itself (`fleet.ts`).
 */
import { restartDecision } from '../decide/restart.ts';
import type { Clock, Timer } from '../model/time.ts';

export interface RestartLimit {
  readonly maxReplacements: number;
  readonly withinMs: number;
}

export class Restarts {
  readonly #clock: Clock;
  readonly #limit: RestartLimit;
  readonly #onChange: () => void;
  #failures: number[] = [];
  #pause: Timer | null = null;
  #pauseEnd = 0;
  #ageing: Timer | null = null;

  /** `onChange`: a pause has ended, or failures have aged out: boots may be tried again. */
  constructor(clock: Clock, limit: RestartLimit, onChange: () => void) {
    this.#clock = clock;
    this.#limit = limit;
    this.#onChange = onChange;
  }

  /** Nothing is to be booted yet. */
  get isPaused(): boolean {
    return this.#pause !== null;
  }
  get hasFailures(): boolean {
    return this.#failures.length > 0;
  }
  get isOverLimit(): boolean {
    return restartDecision(this.#failures, this.#clock.now(), this.#limit).degraded;
  }

  /** `isAwaited`: somebody waits for isolates: the pause then holds the process. */
  note(isAwaited: boolean): void {
    const now = this.#clock.now();
    this.#failures = [...this.#recent(now), now];
    const { delayMs } = restartDecision(this.#failures, now, this.#limit);
    if (delayMs > 0 && this.#pause === null) {
      this.#pauseEnd = now + delayMs;
      this.#arm(delayMs, isAwaited);
    }
    this.#watchAge();
  }

  /** One has served: boots work. */
  forget(): void {
    this.#failures = [];
  }

  /** A pause that runs holds the process from now on. */
  hold(): void {
    if (this.#pause === null) return;
    this.#clock.clearTimeout(this.#pause);
    this.#arm(Math.max(0, this.#pauseEnd - this.#clock.now()), true);
  }

  end(): void {
    for (const timer of [this.#pause, this.#ageing]) if (timer !== null) this.#clock.clearTimeout(timer);
    this.#pause = null;
    this.#ageing = null;
  }

  #arm(ms: number, hold: boolean): void {
    this.#pause = this.#clock.setTimeout(
      () => {
        this.#pause = null;
        this.#onChange();
      },
      ms,
      hold,
    );
  }

  /** Failures age out without anything happening: somebody has to look. */
  #watchAge(): void {
    if (this.#ageing !== null) return;
    this.#ageing = this.#clock.setTimeout(
      () => {
        this.#ageing = null;
        this.#failures = this.#recent(this.#clock.now());
        if (this.#failures.length > 0) this.#watchAge();
        this.#onChange();
      },
      this.#limit.withinMs,
      false,
    );
  }

  #recent(now: number): number[] {
    return this.#failures.filter((at) => now - at < this.#limit.withinMs);
  }
}
