/**
 * The environment of a process, and the mark by which those that inherit it are known.
 *
 * Invariants: nothing of the host's environment is passed but what was named; the marker tells the host that made it, so
 * that the survivors of a killed host can be listed; a host that has marks itself passes them on, so that what it starts
 * is found by the hosts above it too. Deliberately absent: reading the environment of other processes.
 */
import { mintNonce } from '../model/ids.ts';

/**
 * The variable that marks a process: its own marker, then those of the hosts above, parted by commas. A marker is
 * `<pid of the host>.<start time of the host, or 0>.<random>`.
 */
export const MARKER = 'LEASEHOLD_RUN';

/** Hosts within hosts: of what is nested deeper the outermost markers are dropped. */
const MOST_MARKERS = 16;
const MARKER_FORM = /^\d{1,10}\.\d{1,20}\.[0-9a-f]{1,64}$/;

/** A marker for one process and all it starts. */
export function mintMarker(hostStart: number | null): string {
  return `${process.pid}.${hostStart ?? 0}.${mintNonce()}`;
}

/** The value of the variable for a process of this host. */
export function marked(marker: string, above: string = process.env[MARKER] ?? ''): string {
  return [marker, ...markersOf(above)].slice(0, MOST_MARKERS).join(',');
}

/** The markers of a process, its own first, by the entries of its environment. */
export function markersIn(entries: readonly string[]): string[] {
  const entry = entries.find((text) => text.startsWith(`${MARKER}=`));
  return entry === undefined ? [] : markersOf(entry.slice(MARKER.length + 1));
}

/** A process may have been given anything under this name. */
function markersOf(value: string): string[] {
  return value.split(',', MOST_MARKERS).filter((text) => MARKER_FORM.test(text));
}

/** The environment a plan asks for: the named variables of `host` that exist, and beside them what is set. */
export function childEnv(
  { inherit, set }: { readonly inherit: readonly string[]; readonly set: Readonly<Record<string, string>> },
  host: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of inherit) {
    const value = host[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...set };
}
