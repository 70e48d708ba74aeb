/**
 * Processes on Linux, by `/proc`.
 *
 * Invariants: a pid or a group id is compared by start time right before it is signalled, since both are given anew; what
 * is older than the leader is never signalled. Deliberately absent: other mounts of `/proc` and control groups.
 */
import type { Leader, ProcessBackend, Survivor } from './backend.ts';
import { markersIn } from './marker.ts';
import { afterPoll } from './poll.ts';
import { environmentOf, holdsOne, isAlive, outputLinks, type ProcessStat, processes, statOf } from './proc.ts';
import { signalGroup, signalProcess } from './signals.ts';
import { startProcess } from './spawn.ts';

/** `list`: for tests. */
export function linuxBackend(list: () => readonly ProcessStat[] = processes): ProcessBackend {
  const identifying = { hostStart: startTimeOf(process.pid), identify };
  return {
    start: (request, listener) => startProcess(request, listener, identifying),
    signal: (leader, signal) => (isReused(leader) ? 'gone' : signalGroup(leader.pid, signal)),
    probe: probing(list),
    hasEnded,
    look,
    kill: ({ pid, startTime }) => {
      const stat = statOf(pid);
      return stat?.startTime === startTime && isAlive(stat) ? signalProcess(pid, 'SIGKILL') : 'gone';
    },
  };
}

function identify(pid: number, marker: string): Leader {
  // The links first: they are gone as soon as it ends, while its start is told until it is reaped.
  const pipes = outputLinks(pid);
  return { pid, marker, startTime: startTimeOf(pid), pipes };
}

/** Null where `/proc` is missing or hides it. */
function startTimeOf(pid: number): number | null {
  try {
    return statOf(pid)?.startTime ?? null;
  } catch {
    return null;
  }
}

/** The pid, and with it the group id, belongs to another process now. */
function isReused({ pid, startTime }: Leader): boolean {
  const now = startTimeOf(pid);
  return startTime !== null && now !== null && now !== startTime;
}

function hasEnded({ pid, startTime }: Leader): boolean {
  if (startTime === null) return false;
  try {
    const stat = statOf(pid);
    return stat === null || stat.startTime !== startTime || !isAlive(stat);
  } catch {
    return false;
  }
}

/** A list of processes misses one that was born while another ended, so it has to agree with what the group answers. */
const MOST_LISTS = 3;

function probing(list: () => readonly ProcessStat[]): ProcessBackend['probe'] {
  const listed = sharedList(list);
  return (leader) => {
    if (isReused(leader) || signalGroup(leader.pid, 0) === 'gone') return 'gone';
    // While the leader lives nothing else has to be looked at.
    if (leader.startTime !== null && !hasEnded(leader)) return 'alive';
    for (let count = 0; count < MOST_LISTS; count += 1) {
      const members = membersIn(() => listed(count === 0), leader);
      if (members === null || members.some(isAlive)) return 'alive';
      // Zombies answer too, and stay what they are.
      if (members.length > 0 || signalGroup(leader.pid, 0) === 'gone') return 'gone';
    }
    return 'alive';
  };
}

/**
 * A list of all processes for every group that is asked for in a turn of the loop. What is old in it makes a group that
 * has ended look alive until the next turn, and never the other way.
 */
function sharedList(list: () => readonly ProcessStat[]): (mayBeShared: boolean) => readonly ProcessStat[] {
  let latest: readonly ProcessStat[] | null = null;
  return (mayBeShared) => {
    if (mayBeShared && latest !== null) return latest;
    const isFirst = latest === null;
    latest = list();
    if (isFirst) {
      afterPoll(() => {
        latest = null;
      });
    }
    return latest;
  };
}

/** Zombies included; null when they cannot be listed. */
function membersIn(list: () => readonly ProcessStat[], { pid }: Leader): readonly ProcessStat[] | null {
  try {
    return list().filter(({ group }) => group === pid);
  } catch {
    return null;
  }
}

async function isMarked(pid: number, { marker }: Leader): Promise<boolean> {
  return markersIn(await environmentOf(pid)).includes(marker);
}

async function look(leader: Leader, isRead: boolean): Promise<readonly Survivor[] | null> {
  const { startTime } = leader;
  if (startTime === null) return null;
  const hasOwnIds = !isReused(leader);
  const others = processes().filter((stat) => stat.pid !== process.pid && isAlive(stat));
  const seen = await Promise.all(
    others.map(async (stat) => {
      const isForeign = stat.startTime < startTime;
      const isMember = hasOwnIds && !isForeign && stat.group === leader.pid;
      const isOfSession = hasOwnIds && !isForeign && stat.session === leader.pid;
      const isOfRun = isMember || isOfSession || (!isForeign && (await isMarked(stat.pid, leader)));
      return { stat, isForeign, isMember, isOfRun };
    }),
  );
  const pipes = new Set(isRead ? [] : leader.pipes);
  // A leader that ended at once could not be asked for its pipes; what it started has inherited them. They are sockets.
  if (!isRead && pipes.size === 0) {
    const inherited = seen.flatMap(({ stat, isOfRun }) => (isOfRun ? outputLinks(stat.pid) : []));
    for (const link of inherited) if (link.startsWith('socket:')) pipes.add(link);
  }
  return seen.flatMap(({ stat: { pid, startTime: since, name }, isForeign, isMember, isOfRun }): Survivor[] => {
    const holdsPipe = holdsOne(pid, pipes);
    return isOfRun || holdsPipe ? [{ pid, startTime: since, name, holdsPipe, isMember, isForeign }] : [];
  });
}
