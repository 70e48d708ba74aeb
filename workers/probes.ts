/**
 * Probes: what a lease left behind in this isolate, as far as it can be seen.
 *
 * Invariants: the baseline is taken at boot and after each module load, never at the start of a lease, so that a leak
 * cannot become normal; a look changes nothing but the environment, which it puts back; no code of a tool is relied on.
 * Deliberately absent: what a finding means (`decide/condemn.ts` on the host), and what no probe sees: module state,
 * unref'ed timers and sockets, open descriptors, pending promises, thread-pool work.
 */
import { toFailure } from '../src/wire/failure.ts';
import type { WireFinding } from '../src/wire/protocol.ts';
import { append, create, keys, ownKeys, textOf } from '../src/wire/uncurried.ts';
import type { Followed } from './followed.ts';
import { type Environment, type Intrinsics, snapshotEnv, snapshotIntrinsics } from './intrinsics.ts';
import { activeResources, getHeapStatistics } from './references.ts';

type Counts = Record<string, number>;
interface Listeners {
  readonly names: readonly PropertyKey[];
  readonly counts: readonly number[];
}
interface Baseline {
  readonly resources: readonly string[];
  readonly counts: Counts;
  readonly listeners: Listeners;
  readonly globals: number;
  readonly intrinsics: Intrinsics;
  readonly env: Environment;
}

export interface Probes {
  /** The cheap look, about 2 µs: resources, followed lives, listeners on `process`, stray keys. Empty is clean. */
  look(): WireFinding[];
  /** The cheap look and the full one, about 50 µs: intrinsics, all globals, environment. */
  lookFully(): WireFinding[];
  /** Bytes of heap in use. */
  heapBytes(): number;
  /** Keeps what earlier leases changed for the next full look, before a module is loaded and the baseline moves. */
  beforeLoad(): void;
  /** Makes what is here now the baseline. */
  rebase(): void;
}

/** Takes the first baseline. The isolate's own handles must be there already. */
export function openProbes(followed: Followed): Probes {
  let baseline = takeBaseline();
  let carried: readonly WireFinding[] = [];

  const look = (full: boolean): WireFinding[] => {
    const findings: WireFinding[] = [];
    try {
      lookAtAll(full, findings);
    } catch (error) {
      // A platform so patched that it cannot be looked at must not cost the record of what the tool did.
      append(findings, {
        kind: 'intrinsic-changed',
        detail: `a look failed: ${toFailure(error, 'UNCAUGHT').message}`,
      });
    }
    return findings;
  };
  const lookAtAll = (full: boolean, findings: WireFinding[]): void => {
    lookAtResources(baseline, findings);
    followed.look(findings);
    lookAtListeners(baseline, findings);
    lookForStrays(findings);
    // Only what is enumerable, as an assigned global is; the full look sees the rest.
    if (full || keys(globalThis).length > baseline.globals) appendAll(findings, baseline.intrinsics.addedGlobals());
    if (!full) return;
    appendAll(findings, carried);
    appendAll(findings, baseline.intrinsics.compare());
    appendAll(findings, baseline.env.restore());
  };
  return {
    look: () => look(false),
    lookFully() {
      const findings = look(true);
      carried = [];
      return findings;
    },
    heapBytes: () => getHeapStatistics().used_heap_size,
    beforeLoad() {
      const findings: WireFinding[] = [];
      const seen = look(true);
      for (let at = 0; at < seen.length; at += 1) {
        const finding = seen[at] as WireFinding;
        // Node itself adds symbols, late in its boot.
        if (finding.kind !== 'global-symbol-added') append(findings, finding);
      }
      carried = findings;
    },
    rebase() {
      followed.rebase();
      baseline = takeBaseline();
    },
  };
}

function takeBaseline(): Baseline {
  const resources = activeResources();
  return {
    resources,
    counts: countByType(resources),
    listeners: countListeners(),
    globals: keys(globalThis).length,
    intrinsics: snapshotIntrinsics(),
    env: snapshotEnv(),
  };
}

function lookAtResources(baseline: Baseline, findings: WireFinding[]): void {
  const resources = activeResources();
  if (isSameList(resources, baseline.resources)) return;
  const counts = countByType(resources);
  const types = keys(counts);
  for (let at = 0; at < types.length; at += 1) {
    const type = types[at] as string;
    const over = (counts[type] as number) - (baseline.counts[type] ?? 0);
    if (over > 0) append(findings, { kind: 'residual-handle', detail: `${type} × ${over}` });
  }
}

function lookAtListeners({ listeners }: Baseline, findings: WireFinding[]): void {
  const present = countListeners();
  if (isSameList(present.names, listeners.names) && isSameList(present.counts, listeners.counts)) return;
  findMore('process-listener', present, listeners, findings);
  findMore('listener-removed', listeners, present, findings);
}

function findMore(kind: WireFinding['kind'], of: Listeners, than: Listeners, findings: WireFinding[]): void {
  for (let at = 0; at < of.names.length; at += 1) {
    const name = of.names[at] as string;
    let count = 0;
    for (let other = 0; other < than.names.length; other += 1) {
      if (than.names[other] === name) count = than.counts[other] as number;
    }
    if ((of.counts[at] as number) > count) append(findings, { kind, detail: textOf(name) });
  }
}

/** From the emitter's own table, since its methods iterate and call what a tool may have patched. */
function countListeners(): Listeners {
  const table = (process as unknown as { _events: Record<PropertyKey, unknown> })._events;
  const names = ownKeys(table);
  const counts: number[] = [];
  for (let at = 0; at < names.length; at += 1) {
    const entry = table[names[at] as string];
    counts[at] = typeof entry === 'function' ? 1 : entry === undefined ? 0 : (entry as readonly unknown[]).length;
  }
  return { names, counts };
}

function lookForStrays(findings: WireFinding[]): void {
  // Nothing but an inherited key can appear here.
  for (const key in {}) append(findings, { kind: 'intrinsic-changed', detail: `Object.prototype.${key}` });
  for (const key in []) append(findings, { kind: 'intrinsic-changed', detail: `Array.prototype.${key}` });
}

function countByType(resources: readonly string[]): Counts {
  const counts = create(null) as Counts;
  for (let at = 0; at < resources.length; at += 1) {
    const type = resources[at] as string;
    counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at += 1) if (left[at] !== right[at]) return false;
  return true;
}

function appendAll(findings: WireFinding[], more: readonly WireFinding[]): void {
  for (let at = 0; at < more.length; at += 1) append(findings, more[at] as WireFinding);
}
