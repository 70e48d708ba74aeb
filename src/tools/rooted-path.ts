/**
 * Rooted paths: where a path leads below a root, and how it is opened without leaving it.
 *
 * Invariants: `..` is refused, links are followed only as far as they stay inside; what was opened is checked again after
 * the open, before anything is read or written, so a link put in between is noticed.
 * Deliberately absent: hard links and mounts, which lead where they lead and cannot be told from files; a directory moved out
 * of the root while it is held; and, where there is no `/proc`, a hold against paths that change after the check.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invalidOption } from '../model/errors.ts';
import { FileError, systemCodeOf, toFileError } from './file-error.ts';

/** Windows lacks them all: undefined, which counts as no bit. */
const { O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
const SEPARATOR = sep === '\\' ? /[\\/]/ : '/';

/** Where a path leads. */
export interface Place {
  /** The root, without links. */
  readonly root: string;
  /** The path, without links. What does not exist yet: its own name in the real path of its directory. */
  readonly real: string;
  /** As it was asked for, relative to the root; `.` for the root. */
  readonly shown: string;
}

/** Something that is held open, known to be inside the root. */
export interface Held {
  readonly handle: FileHandle;
  /**
   * A path to the very thing that is held, whatever is renamed meanwhile: on Linux by its descriptor. Elsewhere its real path,
   * which another process may change.
   */
  readonly at: string;
}

/** The `root` option. A relative one is resolved from the working directory of the moment. */
export function rootOf(root: unknown): string {
  const path = root instanceof URL && root.protocol === 'file:' ? fileURLToPath(root) : root;
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return resolve(path);
  throw invalidOption('root', root, 'a path or a file URL');
}

/**
 * Finds where `path` leads. An absolute one is accepted inside the root. `mayBeNew`: its last part need not exist.
 * @throws FileError `INVALID_PATH`, `OUTSIDE_ROOT`, or the system's code
 */
export async function locate(root: string, path: string, mayBeNew: boolean): Promise<Place> {
  if (path.includes('\0')) throw new FileError('INVALID_PATH', path, 'holds a NUL byte');
  const realRoot = await realpath(root).catch((error: unknown) => {
    throw toFileError('.', error, 'is the root, and could not be reached');
  });
  const parts = partsBelow([root, realRoot], path).filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new FileError('INVALID_PATH', path, "holds '..', which is not followed");
  const shown = parts.join('/') || '.';
  const real = await follow(join(realRoot, ...parts), mayBeNew).catch((error: unknown) => {
    throw toFileError(shown, error);
  });
  if (!isInside(realRoot, real)) throw new FileError('OUTSIDE_ROOT', shown, 'leads outside the root by a link');
  return { root: realRoot, real, shown };
}

/**
 * Opens `path`, whose last part must not be a link, and checks that it is inside. Never waits for the other end of a FIFO.
 * @throws FileError `OUTSIDE_ROOT`; the system's own error
 */
export async function openInside({ root, shown }: Place, path: string | Buffer, flags: number): Promise<Held> {
  const handle = await open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const descriptor = `/proc/self/fd/${handle.fd}`;
    const told = await readlink(descriptor).catch(() => null);
    const where = told ?? (await whereIs(handle, path));
    if (where === null || !isInside(root, where))
      throw new FileError('OUTSIDE_ROOT', shown, 'led outside the root when it was opened');
    return { handle, at: told === null ? where : descriptor };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function partsBelow(roots: readonly string[], path: string): string[] {
  if (!isAbsolute(path)) return path.split(SEPARATOR);
  const root = roots.find((candidate) => isInside(candidate, path));
  if (root === undefined) throw new FileError('OUTSIDE_ROOT', path, 'is outside the root');
  return path.slice(root.length).split(SEPARATOR);
}

async function follow(path: string, mayBeNew: boolean): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!mayBeNew || systemCodeOf(error) !== 'ENOENT') throw error;
    return join(await realpath(dirname(path)), basename(path));
  }
}

/** Where there is no `/proc`: the real path of now, if it still leads to what is held; null if not. */
export async function whereIs(handle: FileHandle, path: string | Buffer): Promise<string | null> {
  const now = await realpath(path);
  const [held, found] = await Promise.all([handle.stat({ bigint: true }), stat(now, { bigint: true })]);
  return held.dev === found.dev && held.ino === found.ino ? now : null;
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
