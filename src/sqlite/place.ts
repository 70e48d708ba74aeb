/**
 * The place of a log file: whether a promise of durability can be kept there, and the file made in it.
 *
 * Invariants: a file that exists is never opened by anything but SQLite, since closing a second descriptor drops the locks
 * that the process holds on the file (POSIX); a new one is for its owner alone, and its directory entry is durable.
 * Deliberately absent: file systems other than by their kind on Linux, and UNC paths on Windows; no other place tells.
 */
import { open, realpath, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LeaseholdError } from '../model/errors.ts';

/**
 * Kinds whose locks or syncs are another machine's or a daemon's word. FUSE is among them: what is behind it cannot be
 * told, and many a network file system is.
 */
const FOREIGN_KINDS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x564c, 'NCP'],
  [0x73757245, 'Coda'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0x786f4256, 'a folder of VirtualBox'],
]);

/** The name of a kind of file system that may not hold a log; null when it may. */
export function foreignKind(type: number): string | null {
  return FOREIGN_KINDS.get(type >>> 0) ?? null;
}

/**
 * The file's path without links.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_UNREADABLE`, `ERR_LEASEHOLD_NOT_AVAILABLE`
 */
export async function placeOf(file: string): Promise<string> {
  const given = resolve(file);
  let path: string;
  try {
    path = await realpath(given).catch(async () => join(await realpath(dirname(given)), basename(given)));
  } catch (cause) {
    throw new LeaseholdError('LOG_UNREADABLE', 'The directory of the event log is missing, or out of reach.', {
      cause,
    });
  }
  const { type } = await statfs(dirname(path));
  const foreign = process.platform === 'linux' ? foreignKind(type) : /^\\\\[^.?]/.test(path) ? 'a share' : null;
  if (foreign !== null) {
    const why = `An event log cannot be kept on a network file system (${foreign}): its locks and syncs prove nothing.`;
    throw new LeaseholdError('NOT_AVAILABLE', why);
  }
  return path;
}

/**
 * Makes the file, unless there is one.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_UNREADABLE`
 */
export async function ensureFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'EEXIST') return;
    throw new LeaseholdError('LOG_UNREADABLE', 'The file of the event log cannot be made.', { cause });
  }
  // Windows has no descriptors of directories.
  if (process.platform === 'win32') return;
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
