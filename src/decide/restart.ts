/**
 * When a dead isolate is replaced, and when so many died that the supervisor is degraded.
 *
 * Invariant: only isolates that died booting, or before they served a lease, are counted; what a tool breaks is replaced
 * without limit. Deliberately absent: the waiting, and the list of failures.
 */

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

/**
 * `failures` are instants, `now` another of the same clock. The first replacement is made at once, the next after
 * 100 ms, doubled each time up to 5 s. Degraded heals when the failures have aged out of `withinMs`.
 */
export function restartDecision(
  failures: readonly number[],
  now: number,
  limit: { readonly maxReplacements: number; readonly withinMs: number },
): { degraded: boolean; delayMs: number } {
  const recent = failures.filter((at) => now - at < limit.withinMs).length;
  const delayMs = recent < 2 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (recent - 2));
  return { degraded: recent > limit.maxReplacements, delayMs };
}
