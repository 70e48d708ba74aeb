/**
 * Probes: what a lease left behind in this isolate, as far as it can be seen.
 *
 * Invariants: the baseline is taken at boot and after each module load, never at the start of a lease, so that a leak
 * cannot become normal; a look changes nothing but the environment, which it puts back; no code of a tool is relied on.
 * Deliberately absent: what a finding means (`decide/condemn.ts` on the host), and what no probe sees: module state,
 * unref'ed timers and sockets, open descriptors, pending promises, thread-pool work.
 */
import type { WireFinding } from '../src/wire/protocol.ts';
import { keys, textOf } from '../src/wire/uncurried.ts';
import type { Followed } from './followed.ts';
import { type Environment, type Intrinsics, snapshotEnv, snapshotIntrinsics } from './intrinsics.ts';
import { activeResources, eventNames, getHeapStatistics, listenerCount } from './references.ts';

type Counts = Record<string, number>;
interface Baseline {
  readonly resources: readonly string[];
  readonly counts: Counts;
  readonly listeners: readonly { readonly name: string | symbol; readonly count: number }[];
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
  /** Makes what is here now the baseline. */
  rebase(): void;
}

/** Takes the first baseline. The isolate's own handles must be there already. */
export function openProbes(followed: Followed): Probes {
  let baseline = takeBaseline();

  const look = (full: boolean): WireFinding[] => {
    const findings: WireFinding[] = [];
    lookAtResources(baseline, findings);
    followed.look(findings);
    lookAtListeners(baseline, findings);
    lookForStrays(findings);
    // Only what is enumerable, as an assigned global is; the full look sees the rest.
    if (full || keys(globalThis).length > baseline.globals) append(findings, baseline.intrinsics.addedGlobals());
    return findings;
  };
  return {
    look: () => look(false),
    lookFully() {
      const findings = look(true);
      append(findings, baseline.intrinsics.compare());
      append(findings, baseline.env.restore());
      return findings;
    },
    heapBytes: () => getHeapStatistics().used_heap_size,
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
    listeners: eventNames(process).map((name) => ({ name, count: listenerCount(process, name) })),
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
    if (over > 0) findings[findings.length] = { kind: 'residual-handle', detail: `${type} × ${over}` };
  }
}

function lookAtListeners({ listeners }: Baseline, findings: WireFinding[]): void {
  let known = 0;
  for (let at = 0; at < listeners.length; at += 1) {
    const { name, count } = listeners[at] as Baseline['listeners'][number];
    const now = listenerCount(process, name);
    if (now > 0) known += 1;
    if (now > count) findings[findings.length] = { kind: 'process-listener', detail: textOf(name) };
    if (now < count) findings[findings.length] = { kind: 'listener-removed', detail: textOf(name) };
  }
  const names = eventNames(process);
  if (names.length === known) return;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string | symbol;
    let ours = false;
    for (let of = 0; of < listeners.length && !ours; of += 1) ours = listeners[of]?.name === name;
    if (!ours) findings[findings.length] = { kind: 'process-listener', detail: textOf(name) };
  }
}

function lookForStrays(findings: WireFinding[]): void {
  // Nothing but an inherited key can appear here.
  for (const key in {}) findings[findings.length] = { kind: 'intrinsic-changed', detail: `Object.prototype.${key}` };
  for (const key in []) findings[findings.length] = { kind: 'intrinsic-changed', detail: `Array.prototype.${key}` };
}

function countByType(resources: readonly string[]): Counts {
  const counts = Object.create(null) as Counts;
  for (let at = 0; at < resources.length; at += 1) {
    const type = resources[at] as string;
    counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

function isSameList(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at += 1) if (left[at] !== right[at]) return false;
  return true;
}

function append(findings: WireFinding[], more: readonly WireFinding[]): void {
  for (let at = 0; at < more.length; at += 1) findings[findings.length] = more[at] as WireFinding;
}
