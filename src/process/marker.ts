/**
 * The environment of a process, and the mark by which those that inherit it are known.
 *
 * Invariants: nothing of the host's environment is passed but what was named; the marker tells the host that made it, so
 * that the survivors of a killed host can be listed. Deliberately absent: reading the environment of other processes.
 */
import { mintNonce } from '../model/ids.ts';

/** The name of the marker. Its value is `<pid of the host>.<start time of the host, or 0>.<random>`. */
export const MARKER = 'LEASEHOLD_RUN';

/** A marker for one process and all it starts. */
export function mintMarker(hostStart: number | null): string {
  return `${process.pid}.${hostStart ?? 0}.${mintNonce()}`;
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
