/**
 * Why a supervisor refuses admission: isolates, the log, a recovery that could not read it.
 *
 * Invariant: it is degraded while there is any reason, and whoever listens hears of the first and of none, not of those between.
 * Deliberately absent: what follows of it.
 */

export type ImpairedPart = 'isolates' | 'log' | 'recovery';

export class Impairments {
  readonly #reasons = new Map<ImpairedPart, string>();
  readonly #changed: (reason: string | null) => void;

  constructor(changed: (reason: string | null) => void) {
    this.#changed = changed;
  }

  /** Null: this part is well again. */
  note(part: ImpairedPart, reason: string | null): void {
    const was = this.#reasons.size > 0;
    if (reason === null) this.#reasons.delete(part);
    else this.#reasons.set(part, reason);
    const [first] = this.#reasons.values();
    if (was !== (first !== undefined)) this.#changed(first ?? null);
  }
}
