/**
 * Processes that outlived the host that started them: told, and left alone.
 *
 * Invariants: a host is gone when no live process has both its pid and its start; where that cannot be told, nothing is claimed
 * of what it started. Deliberately absent: platforms without `/proc`, processes of other users, and signals.
 */
import { readFileSync } from 'node:fs';
import type { SurvivingProcess } from '../model/recovery.ts';
import { isoTime } from '../model/time.ts';
import { MARKER } from './marker.ts';
import { environmentOf, isAlive, type ProcessStat, processes } from './proc.ts';

/** Of a second: what start times count in, on every Linux that Node runs on. */
const TICKS = 100;

/** Null where processes cannot be listed. */
export async function survivorsOfLostHosts(): Promise<readonly SurvivingProcess[] | null> {
  if (process.platform !== 'linux' && process.platform !== 'android') return null;
  const all = processes().filter(isAlive);
  const startOf = new Map(all.map(({ pid, startTime }) => [pid, startTime]));
  const bootedAt = bootTime();
  const found = await Promise.all(
    all.map(async (stat): Promise<SurvivingProcess[]> => {
      const host = stat.pid === process.pid ? null : await hostOf(stat);
      if (host === null || startOf.get(host.pid) === host.startTime) return [];
      // Without its start, a host cannot be told from a process that has its pid by now.
      if (host.startTime === 0 && startOf.has(host.pid)) return [];
      const since = isoTime(bootedAt + (stat.startTime / TICKS) * 1_000);
      return [{ pid: stat.pid, name: stat.name, since, host: host.pid }];
    }),
  );
  return found.flat();
}

/** The host named by the mark in a process's environment; null without one, or when it may not be seen. */
async function hostOf({ pid }: ProcessStat): Promise<{ readonly pid: number; readonly startTime: number } | null> {
  try {
    const environment = await environmentOf(pid);
    const mark = environment.split('\0').find((entry) => entry.startsWith(`${MARKER}=`));
    const [, host, start] = /^(\d+)\.(\d+)\./.exec(mark?.slice(MARKER.length + 1) ?? '') ?? [];
    return host === undefined ? null : { pid: Number(host), startTime: Number(start) };
  } catch {
    return null;
  }
}

/** Milliseconds since the Unix epoch. */
function bootTime(): number {
  const [, seconds] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1')) ?? [];
  return Number(seconds ?? 0) * 1_000;
}
