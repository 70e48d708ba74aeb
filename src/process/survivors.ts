/**
 * Processes that outlived the host that started them: told, and left alone.
 *
 * Invariants: a host is gone when no live process has both its pid and its start; where that cannot be told, nothing is claimed
 * of what it started; of several hosts, one within the other, the nearest that is gone is told. Deliberately absent: platforms without `/proc`, processes of other users, and signals.
 */
import { readFileSync } from 'node:fs';
import type { SurvivingProcess } from '../model/recovery.ts';
import { isoTime } from '../model/time.ts';
import { markersIn } from './marker.ts';
import { environmentOf, isAlive, type ProcessStat, processes } from './proc.ts';

/** Of a second: what start times count in, on every Linux that Node runs on. */
const TICKS = 100;

/** Null where processes cannot be listed. */
export async function survivorsOfLostHosts(): Promise<readonly SurvivingProcess[] | null> {
  if (process.platform !== 'linux' && process.platform !== 'android') return null;
  const all = processes().filter(isAlive);
  const startOf = new Map(all.map(({ pid, startTime }) => [pid, startTime]));
  const bootedAt = bootTime();
  /** Without its start, a host cannot be told from a process that has its pid by now. */
  const isLost = ({ pid, startTime }: Host) => (startTime === 0 ? !startOf.has(pid) : startOf.get(pid) !== startTime);
  const found = await Promise.all(
    all.map(async (stat): Promise<SurvivingProcess[]> => {
      const hosts = stat.pid === process.pid ? [] : await hostsOf(stat);
      const isOwn = hosts.some((host) => host.pid === process.pid && !isLost(host));
      const lost = hosts.find(isLost);
      // What this host itself has started is looked after, whoever is lost above it.
      if (isOwn || lost === undefined) return [];
      const since = isoTime(bootedAt + (stat.startTime / TICKS) * 1_000);
      return [{ pid: stat.pid, name: stat.name, since, host: lost.pid }];
    }),
  );
  return found.flat();
}

interface Host {
  readonly pid: number;
  readonly startTime: number;
}

/** The hosts a process runs under, by the marks in its environment, the nearest first; none when it may not be seen. */
async function hostsOf({ pid }: ProcessStat): Promise<Host[]> {
  return markersIn(await environmentOf(pid)).map((marker) => {
    const [host, start] = marker.split('.').map(Number);
    return { pid: host ?? 0, startTime: start ?? 0 };
  });
}

/** Milliseconds since the Unix epoch. */
function bootTime(): number {
  const [, seconds] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1')) ?? [];
  return Number(seconds ?? 0) * 1_000;
}
