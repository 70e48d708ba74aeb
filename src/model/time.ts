/**
 * The one door through which time enters.
 *
 * Invariants: `now()` is monotonic and in milliseconds; a timer of any length fires no earlier than asked (Node fires
 * durations over 2^31-1 ms at once, so they are chunked); a timer holds the process open until it is cleared, unless it
 * says otherwise. Deliberately absent: dates as anything but text for people.
 */

/** The longest delay Node honours, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A pending timer. Cleared by `Clock.clearTimeout`; clearing twice is harmless. */
export interface Timer {
  readonly kind: 'timer';
}

/** Time as the runtime sees it. A fake one is used in tests. */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary origin. */
  now(): number;
  /** Milliseconds since the Unix epoch, for records read by people. */
  wall(): number;
  /** Calls `fire` once, `ms` milliseconds (0 or more) from now. `hold: false` lets the process end before that. */
  setTimeout(fire: () => void, ms: number, hold?: boolean): Timer;
  clearTimeout(timer: Timer): void;
}

class ChunkedTimer implements Timer {
  readonly kind = 'timer';
  #handle: NodeJS.Timeout;
  constructor(fire: () => void, ms: number, hold: boolean) {
    this.#handle = this.#arm(fire, ms, hold);
  }
  #arm(fire: () => void, ms: number, hold: boolean): NodeJS.Timeout {
    const handle =
      ms <= MAX_TIMER_MS
        ? setTimeout(fire, ms)
        : setTimeout(() => {
            this.#handle = this.#arm(fire, ms - MAX_TIMER_MS, hold);
          }, MAX_TIMER_MS);
    return hold ? handle : handle.unref();
  }
  clear(): void {
    clearTimeout(this.#handle);
  }
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimeout: (fire, ms, hold = true) => new ChunkedTimer(fire, ms, hold),
  clearTimeout: (timer) => {
    if (timer instanceof ChunkedTimer) timer.clear();
  },
};

/** Calls `run` once, at the end of this turn of the loop. Holds the process open until then. */
export function atEndOfTurn(run: () => void): void {
  setImmediate(run);
}

/** An instant of `Clock.wall` for people: ISO 8601 in UTC. */
export function isoTime(wall: number): string {
  return new Date(wall).toISOString();
}

/** Resolves with true once `work` has, or with false after `ms` milliseconds. `work` must not reject. */
export function settlesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => resolve(false), ms);
    void work.then(() => {
      clock.clearTimeout(timer);
      resolve(true);
    });
  });
}
