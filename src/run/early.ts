/**
 * Early: what comes to a request while it has no attempt to take it: stops, and what observers did before the first one.
 *
 * Invariant: nothing is lost or put in another order. Deliberately absent: what becomes of it.
 */
import type { Budget } from '../scope/budget.ts';
import type { IncomingStop } from './attempt-setting.ts';
import type { Notes } from './journal.ts';

export class Early {
  notes: string[] = [];
  readonly #budget: Budget;
  #stops: IncomingStop[] = [];

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  stop(stop: IncomingStop): void {
    this.#stops.push(stop);
  }

  /** How many have come. */
  get count(): number {
    return this.#stops.length;
  }

  /** The stops so far, and the first deadline when it is due. */
  get stops(): readonly IncomingStop[] {
    const { due } = this.#budget;
    return due === null ? this.#stops : [...this.#stops, due];
  }

  /** The same, for an attempt that takes them: what comes later is for the next one. */
  take(): readonly IncomingStop[] {
    const { stops } = this;
    if (this.#stops.length > 0) this.#stops = [];
    return stops;
  }

  /** Puts what observers did among the diagnostics of an attempt. */
  noteIn(notes: Notes): void {
    for (const message of this.notes) notes.note('OBSERVER_THREW', message);
    if (this.notes.length > 0) this.notes = [];
  }
}
