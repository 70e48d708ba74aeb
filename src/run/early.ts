/**
 * Early: what comes to a request before it has an attempt to take it: stops, and what observers did.
 *
 * Invariant: nothing is lost or put in another order. Deliberately absent: what becomes of it.
 */
import type { Budget } from '../scope/budget.ts';
import type { IncomingStop } from './attempt-setting.ts';

export class Early {
  readonly notes: string[] = [];
  readonly #budget: Budget;
  readonly #stops: IncomingStop[] = [];

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  stop(stop: IncomingStop): void {
    this.#stops.push(stop);
  }

  /** The stops so far, and the first deadline when it is due. */
  get stops(): readonly IncomingStop[] {
    const { due } = this.#budget;
    return due === null ? this.#stops : [...this.#stops, due];
  }
}
