/**
 * Budget: the deadlines that hold for one request from the call on, and waits within them.
 *
 * Invariants: the earliest comes first, the outer one in a tie; a wait ends with its work, at its bound, at the first
 * deadline, or when it is woken, whichever is first. Deliberately absent: what a deadline does to a request.
 */
import { type PendingStop, stopsToRecord } from '../decide/precedence.ts';
import type { StopKind } from '../model/stop.ts';
import type { Clock } from '../model/time.ts';

/** Node's timers may fire a fraction of a millisecond early. */
const TOLERANCE_MS = 0.5;

/** Whether the instant of a deadline has come. */
export const isDue = ({ atMs }: PendingStop, now: number): boolean => atMs <= now + TOLERANCE_MS;

export class Budget {
  /** Instants of the clock, the earliest first. */
  deadlines: readonly PendingStop[];
  readonly #clock: Clock;
  /** What ends each wait at hand. */
  #wakes: Set<() => void> | null = null;

  /** `outer`: the deadline of the request's scope. `operationTimeoutMs` counts from `startedAt`. */
  constructor(clock: Clock, startedAt: number, operationTimeoutMs: number | null, outer: PendingStop | null) {
    this.#clock = clock;
    const own =
      operationTimeoutMs === null ? null : { kind: 'operation-timeout' as const, atMs: startedAt + operationTimeoutMs };
    if (own === null || outer === null) this.deadlines = own === null ? (outer === null ? NONE : [outer]) : [own];
    // Asked about the own one, the outer comes back with it only when it is due no later.
    else this.deadlines = stopsToRecord(own, [outer]).length === 2 ? [outer, own] : [own, outer];
  }

  /** The first deadline, if its instant has come. */
  get due(): PendingStop | null {
    const [first] = this.deadlines;
    return first !== undefined && isDue(first, this.#clock.now()) ? first : null;
  }

  /** A deadline that has been recorded bounds nothing any more. */
  drop(kind: StopKind): void {
    this.deadlines = this.deadlines.filter((deadline) => deadline.kind !== kind);
  }

  /** Null when the time is up or somebody woke it. `work` must not reject. */
  within<T>(ms: number, work: Promise<T>): Promise<T | null> {
    const untilFirst = (this.deadlines[0]?.atMs ?? Number.POSITIVE_INFINITY) - this.#clock.now();
    this.#wakes ??= new Set();
    const wakes = this.#wakes;
    return new Promise((resolve) => {
      const settle = (value: T | null) => {
        this.#clock.clearTimeout(timer);
        wakes.delete(wake);
        resolve(value);
      };
      const wake = () => settle(null);
      const timer = this.#clock.setTimeout(wake, Math.max(0, Math.min(ms, untilFirst)));
      wakes.add(wake);
      void work.then(settle);
    });
  }

  /** Waits, and does nothing else meanwhile. */
  async pause(ms: number): Promise<void> {
    await this.within(ms, new Promise<never>(() => undefined));
  }

  /** Ends the waits at hand. */
  wake(): void {
    if (this.#wakes !== null) for (const wake of [...this.#wakes]) wake();
  }
}

const NONE: readonly PendingStop[] = Object.freeze([]);
