/**
 * The drain of a lease whose tool has answered: the isolate's looks, then the module's `reset` and `healthCheck`.
 *
 * Invariants: each step is bounded and the first finding ends it; what is late or throws is a finding, never a status.
 * Deliberately absent: which findings condemn (`decide/condemn.ts`), and anything after a kill.
 */
import type { Isolate } from '../isolate/isolate.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { FindingKind } from '../model/result.ts';
import { toFailure } from '../wire/failure.ts';
import type { SettledMessage, WireFinding } from '../wire/protocol.ts';

/** Waits for work for at most `ms`; null when the time is up or the lease has ended. */
export type Within = <T>(ms: number, work: Promise<T>) => Promise<T | null>;

export class Drain {
  readonly #bounds: Bounds;
  readonly #looksMs: number;
  readonly #within: Within;
  #onLooked: (findings: readonly WireFinding[]) => void = () => undefined;

  /** `looksMs`: for how long the isolate may look. */
  constructor(bounds: Bounds, looksMs: number, within: Within) {
    this.#bounds = bounds;
    this.#looksMs = looksMs;
    this.#within = within;
  }

  /** The isolate has told what its looks found. */
  looked(findings: readonly WireFinding[]): void {
    this.#onLooked(findings);
  }

  /** Resolves with what was found. */
  async run({ clean, reset, healthCheck, seq }: SettledMessage, isolate: Isolate): Promise<readonly WireFinding[]> {
    if (!clean) {
      const looks = new Promise<readonly WireFinding[]>((resolve) => {
        this.#onLooked = resolve;
      });
      const found = await this.#within(this.#looksMs, looks);
      if (found === null) return [late('health-failed', 'the isolate did not answer after the run', this.#looksMs)];
      if (found.length > 0) return found;
    }
    if (reset) {
      const asked = isolate.hooks().reset(seq);
      const told = asked.then(({ findings }) => findings, thrown('reset-failed'));
      const found = await this.#within(this.#bounds.resetMs, told);
      if (found === null) return [late('reset-failed', 'reset did not return', this.#bounds.resetMs)];
      if (found.length > 0) return found;
    }
    if (healthCheck) {
      const asked = isolate.hooks().healthCheck(seq);
      const told = asked.then(() => [], thrown('health-failed'));
      const found = await this.#within(this.#bounds.healthMs, told);
      return found ?? [late('health-failed', 'healthCheck did not return', this.#bounds.healthMs)];
    }
    return [];
  }
}

const late = (kind: FindingKind, what: string, ms: number): WireFinding => ({
  kind,
  detail: `${what} within ${ms} ms`,
});
const thrown =
  (kind: FindingKind) =>
  (error: unknown): WireFinding[] => [{ kind, detail: toFailure(error, 'TOOL_ERROR').message }];
