/**
 * Processes on macOS, by `ps`. Untested on that platform.
 *
 * Invariant: the listing is bounded by a second of its own, and never on the way of a stop. Deliberately absent: sessions, and who holds a pipe, which `ps` does not tell.
 */
import { execFile } from 'node:child_process';
import type { Leader, ProcessBackend, Survivor } from './backend.ts';
import { markersIn } from './marker.ts';
import { signalGroup, signalProcess } from './signals.ts';
import { startProcess } from './spawn.ts';

const LISTING_MS = 1_000;
const LISTING_BYTES = 16 * 1024 * 1024;
/** `lstart` is a date of five words; with `-E` the environment follows the command. */
const LINE = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d+)\s+(.*)$/;

export function darwinBackend(): ProcessBackend {
  const identifying = {
    hostStart: null,
    identify: (pid: number, marker: string): Leader => ({ pid, marker, startTime: null, pipes: [] }),
  };
  return {
    start: (request, listener) => startProcess(request, listener, identifying),
    signal: ({ pid }, signal) => signalGroup(pid, signal),
    // A group of zombies answers EPERM here: only a look can tell.
    probe: ({ pid }) => (({ sent: 'alive', gone: 'gone', refused: 'unknown' }) as const)[signalGroup(pid, 0)],
    hasEnded: () => false,
    look,
    // The listing is a moment old, and a pid is not given anew so soon.
    kill: ({ pid }) => signalProcess(pid, 'SIGKILL'),
  };
}

function look({ pid, marker }: Leader): Promise<readonly Survivor[]> {
  const columns = ['pid', 'pgid', 'stat', 'lstart', 'command'].flatMap((name) => ['-o', `${name}=`]);
  const bounds = { timeout: LISTING_MS, killSignal: 'SIGKILL', maxBuffer: LISTING_BYTES } as const;
  return new Promise((resolve, reject) => {
    execFile('/bin/ps', ['-A', '-E', '-ww', ...columns], bounds, (error, listing) => {
      if (error !== null) reject(error);
      else resolve(survivorsIn(listing, pid, marker));
    });
  });
}

/** The live processes of a listing that are of the group, or carry the marker. */
export function survivorsIn(listing: string, group: number, marker: string): Survivor[] {
  return listing.split('\n').flatMap((line): Survivor[] => {
    const [, pid, pgid, state, started, command] = LINE.exec(line) ?? [];
    if (pid === undefined || started === undefined || command === undefined || state?.startsWith('Z')) return [];
    const isMember = Number(pgid) === group;
    if (!isMember && !markersIn(command.split(' ')).includes(marker)) return [];
    const program = command.split(' ')[0] ?? '';
    const name = program.slice(program.lastIndexOf('/') + 1).replace(/[^\x20-\x7e]/g, '?');
    return [{ pid: Number(pid), startTime: 0, name, holdsPipe: false, isMember, isForeign: false }];
  });
}
