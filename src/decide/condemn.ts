/**
 * Which findings condemn an isolate, and when one is recycled although nothing is wrong with it.
 *
 * Invariant: a killed, abandoned, exited or contaminated isolate is condemned whatever the policy says. Deliberately absent: looking
 * (`workers/probes.ts`) and setting aside (`isolate/`).
 */
import type { Finding, FindingKind } from '../model/result.ts';
import type { WireFinding } from '../wire/protocol.ts';

/** What condemns by default. */
export const CONDEMN_DEFAULTS: Readonly<Record<FindingKind, boolean>> = Object.freeze({
  'residual-handle': true,
  'child-process': true,
  'nested-thread': true,
  'global-added': true,
  'global-symbol-added': false,
  'intrinsic-changed': true,
  'prepare-stack-trace-changed': false,
  'process-listener': true,
  'listener-removed': true,
  'late-error': true,
  'reset-failed': true,
  'health-failed': true,
  'nonce-violation': true,
  'env-changed': false,
  killed: true,
  abandoned: true,
  exited: true,
  'orphans-killed': false,
  'orphans-left': false,
  unverified: false,
  contaminated: true,
});
const ENDED: ReadonlySet<FindingKind> = new Set(['killed', 'abandoned', 'exited', 'contaminated']);

/** Findings with their verdicts; `policy` overrides the defaults by kind. */
export function judge(
  findings: readonly WireFinding[],
  policy: Readonly<Partial<Record<FindingKind, boolean>>> = {},
): Finding[] {
  return findings.map(({ kind, detail }) => ({
    kind,
    condemns: ENDED.has(kind) || (policy[kind] ?? CONDEMN_DEFAULTS[kind]),
    ...(detail !== undefined && { detail }),
  }));
}

/** Leases in a row whose heap must be over the limit. */
const HEAPS_IN_A_ROW = 3;

/**
 * Why an idle isolate is to be retired, if it is: it served `maxLeases`, or its heap stayed over `maxHeapMb` for three
 * measured leases in a row. `heapBytes` is in order of time, the last one last.
 */
export function recycleFor(
  heapBytes: readonly number[],
  config: { readonly maxHeapMb: number; readonly maxLeases?: number | null },
  leases = 0,
): 'leases' | 'heap' | null {
  if (config.maxLeases != null && leases >= config.maxLeases) return 'leases';
  const last = heapBytes.slice(-HEAPS_IN_A_ROW);
  const high = last.length === HEAPS_IN_A_ROW && last.every((bytes) => bytes > config.maxHeapMb * 1024 * 1024);
  return high ? 'heap' : null;
}
