/**
 * Temporaries: what a file blob store puts beside its blobs while it writes or removes one.
 *
 * Invariants: a name tells whose it is, by process and by when that process began, so that what a dead one left is known at
 * once and what a living one works on stays; a blob that was set aside and not removed goes back to its place.
 * Deliberately absent: processes of other machines or containers on one root; what they work on may be taken for left.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, unless } from './blob-file.ts';

const NAME = /^(\d+)-(\d*)-[0-9a-f-]{36}(?:\.([0-9a-f]{64})\.([0-9a-f]{64}))?$/;
/** Where `/proc` tells no start, a process counts as the same as long as there is one of its number. */
const UNKNOWN = '';

/** A new name. `aside`: the folder and the name of the blob that is set aside under it. */
export async function temporaryName(aside?: readonly [folder: string, hex: string]): Promise<string> {
  const name = `${process.pid}-${await startOf(process.pid)}-${randomUUID()}`;
  return aside === undefined ? name : [name, ...aside].join('.');
}

/** Removes what dead processes left in `temporaries`, and puts back below `root` what they had set aside. */
export async function clearLeft(root: string, temporaries: string): Promise<void> {
  for (const name of await readdir(temporaries)) {
    const [, pid, start, folder, hex] = NAME.exec(name) ?? [];
    if (pid === undefined || (await isAlive(Number(pid), start ?? UNKNOWN))) continue;
    const path = join(temporaries, name);
    const done = folder === undefined || hex === undefined ? unlink(path) : rename(path, join(root, folder, hex));
    // Another store that opens at the same time was faster.
    await done.catch(unless('ENOENT'));
  }
}

async function isAlive(pid: number, start: string): Promise<boolean> {
  const now = await startOf(pid);
  return now !== null && (now === UNKNOWN || start === UNKNOWN || now === start);
}

/** When a process began, in the system's own count; null when there is none, or only what is left of one that ended. */
async function startOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return isThere(pid) ? UNKNOWN : null;
  // The name of the program stands in parentheses before, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? UNKNOWN);
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
