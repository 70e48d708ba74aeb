/**
 * ValueCheck: whether the output schema accepts the value a tool gave.
 *
 * Invariants: until the schema accepts it there is no value, so a stop that comes meanwhile decides; what was recorded before
 * bounds the check no more. Deliberately absent: the verdict (`decide/classify.ts`).
 */
import type { z } from 'zod';
import type { Budget } from '../scope/budget.ts';
import type { Attempt } from './attempt.ts';
import type { IncomingStop } from './attempt-setting.ts';
import type { End } from './conclusion.ts';
import { unvalidated, type Validated, validate } from './validate.ts';

export class ValueCheck {
  /** An asynchronous schema is at work: a stop counts. */
  isGoingOn = false;
  readonly #attempt: Attempt;
  readonly #budget: Budget;
  readonly #validateMs: number;

  constructor(attempt: Attempt, budget: Budget, validateMs: number) {
    this.#attempt = attempt;
    this.#budget = budget;
    this.#validateMs = validateMs;
  }

  /** Calls `tell` once, at once unless the schema is asynchronous. Null accepts everything. */
  run(schema: z.ZodType | null, value: unknown, tell: (end: End) => void): void {
    const validated = schema === null ? { ok: true as const, value } : validate(schema, value, 'The value');
    if (!(validated instanceof Promise)) {
      tell(endOf(validated, value));
      return;
    }
    const { ledger } = this.#attempt;
    const before = ledger.stops.length;
    for (const { kind } of ledger.stops) this.#budget.drop(kind);
    this.isGoingOn = true;
    void this.#budget.within(this.#validateMs, validated).then((settled) => {
      this.isGoingOn = false;
      if (settled === null) this.#enterDue(Number.POSITIVE_INFINITY);
      const isStopped = settled === null && ledger.stops.length > before;
      tell(isStopped ? {} : endOf(settled ?? unvalidated('The value', this.#validateMs), value));
    });
  }

  /** Enters a stop that comes while the schema is at work, after a deadline that was due earlier. */
  enter(stop: IncomingStop): void {
    this.#enterDue(stop.atMs);
    if (stop.kind === 'cancel' || !this.#attempt.ledger.has(stop.kind)) this.#attempt.enterAfter(stop);
  }

  #enterDue(until: number): void {
    const { due } = this.#budget;
    if (due !== null && due.atMs <= until && !this.#attempt.ledger.has(due.kind)) this.#attempt.enterAfter(due);
  }
}

function endOf(validated: Validated, value: unknown): End {
  if (validated.ok) return { outcome: { kind: 'value', accepted: true }, value: validated.value };
  return { outcome: { kind: 'value', accepted: false }, value, complaint: validated };
}
