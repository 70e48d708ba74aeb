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

/** What was found. `looks` settles with the findings of the isolate's own looks. */
export async function drain(
  { clean, reset, healthCheck, seq }: SettledMessage,
  isolate: Isolate,
  looks: Promise<readonly WireFinding[]>,
  bounds: Bounds,
  within: Within,
): Promise<readonly WireFinding[]> {
  if (!clean) {
    const found = await within(bounds.sweepMs, looks);
    if (found === null) return [late('health-failed', 'the isolate did not answer after the run', bounds.sweepMs)];
    if (found.length > 0) return found;
  }
  if (reset) {
    const found = await within(
      bounds.resetMs,
      isolate
        .hooks()
        .reset(seq)
        .then(({ findings }) => findings, thrown('reset-failed')),
    );
    if (found === null) return [late('reset-failed', 'reset did not return', bounds.resetMs)];
    if (found.length > 0) return found;
  }
  if (healthCheck) {
    const found = await within(
      bounds.healthMs,
      isolate
        .hooks()
        .healthCheck(seq)
        .then(() => [], thrown('health-failed')),
    );
    if (found === null) return [late('health-failed', 'healthCheck did not return', bounds.healthMs)];
    return found;
  }
  return [];
}

const late = (kind: FindingKind, what: string, ms: number): WireFinding => ({
  kind,
  detail: `${what} within ${ms} ms`,
});
const thrown =
  (kind: FindingKind) =>
  (error: unknown): WireFinding[] => [{ kind, detail: toFailure(error, 'TOOL_ERROR').message }];
