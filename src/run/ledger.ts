/**
 * Ledger: the stops recorded for one attempt, and the deadlines that may still become one.
 *
 * Invariants: append-only, in recorded order, each kind of deadline once; a deadline that was due earlier is entered before
 * a stop that is noticed now. Deliberately absent: what a stop does to the lease (`attempt.ts`), and timers (`alarms.ts`).
 */
import { type PendingStop, stopsToRecord } from '../decide/precedence.ts';
import type { LeaseState, Stop, StopKind } from '../model/stop.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';

const NONE: readonly PendingStop[] = Object.freeze([]);

export class Ledger {
  readonly stops: Stop[] = [];
  readonly #startedAt: number;
  readonly #redactor: Redactor;
  /** At most one per kind. */
  #expected: readonly PendingStop[] = NONE;

  /** `startedAt`: the instant from which `Stop.atMs` counts. */
  constructor(startedAt: number, redactor: Redactor) {
    this.#startedAt = startedAt;
    this.#redactor = redactor;
  }

  /** A deadline to come. `atMs` is an instant of the clock, as in every pending stop. */
  expect(deadline: PendingStop): void {
    this.#expected = [...this.#expected.filter(({ kind }) => kind !== deadline.kind), deadline];
  }
  forget(kind: StopKind): void {
    this.#expected = this.#expected.filter((deadline) => deadline.kind !== kind);
  }
  /** No deadline can come any more: the outcome is decided. */
  disarm(): void {
    this.#expected = NONE;
  }
  expected(kind: StopKind): PendingStop | undefined {
    return this.#expected.find((deadline) => deadline.kind === kind);
  }
  /** The deadline that comes first, ties in the order of precedence. */
  earliest(): PendingStop | undefined {
    const [first, ...rest] = this.#expected;
    return first === undefined ? undefined : stopsToRecord(first, rest)[0];
  }

  has(kind: StopKind): boolean {
    return this.stops.some((stop) => stop.kind === kind);
  }

  /** What is to be entered now that `incoming` is noticed: it, and each deadline due by `now`, in their order. */
  dueWith(incoming: PendingStop, now: number): PendingStop[] {
    const due = this.#expected.filter(({ kind, atMs }) => kind !== incoming.kind && atMs <= now);
    return due.length === 0 ? [incoming] : stopsToRecord(incoming, due);
  }

  /** Enters a stop, recorded in `state`. */
  enter({ kind, atMs, scope, reason }: PendingStop, state: LeaseState): Stop {
    this.forget(kind);
    const stop: Stop = Object.freeze({
      kind,
      atMs: Math.max(0, atMs - this.#startedAt),
      state,
      ...(scope === undefined ? {} : { scope }),
      ...(reason === undefined ? {} : { reason: boundText(this.#redactor.text(reason), TEXT_LIMITS.reasonBytes) }),
    });
    this.stops.push(stop);
    return stop;
  }
}
