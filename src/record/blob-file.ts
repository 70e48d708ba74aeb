/**
 * One blob as a file: written, read and held against its name, in steps between which the host's loop goes on.
 *
 * Invariants: what is hashed is what is written; what was written is on the disk when a function here resolves; links are
 * not followed. Deliberately absent: which file is whose, and limits.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../model/time.ts';
import { corrupt, notFound, STEP, stepsOf } from './blob-digest.ts';

/** Windows lacks some: undefined, which counts as no bit. */
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
/** Where directories cannot be synced, the rename is all there is. */
const UNSYNCABLE = new Set<unknown>(['EINVAL', 'ENOTSUP', 'EBADF', 'EPERM', 'EISDIR']);
const HEX = /^[0-9a-f]{64}$/;
/** Files that are looked at together. */
const BATCH = 64;

export interface FoundBlob {
  readonly folder: string;
  readonly hex: string;
  readonly path: string;
  readonly size: number;
  /** When it was last put. */
  readonly mtimeMs: number;
}

/**
 * Writes a new file of the chunks, dated by the clock and synced, and tells what it holds by its digest.
 * `admit` is asked before each step and may throw.
 */
export async function writeBlob(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  clock: Clock,
  admit: ((bytes: number) => void) | null,
): Promise<string> {
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const hash = createHash('sha256');
    for await (const chunk of chunks) {
      for (const given of stepsOf(chunk)) {
        admit?.(given.byteLength);
        // A copy: whoever gave it may change it before it is on the disk.
        const step = new Uint8Array(given);
        hash.update(step);
        for (let at = 0; at < step.byteLength; ) at += (await handle.write(step, at)).bytesWritten;
      }
    }
    const seconds = clock.wall() / 1_000;
    await handle.utimes(seconds, seconds);
    await handle.sync();
    return hash.digest('hex');
  } finally {
    await handle.close();
  }
}

/** @throws LeaseholdError `ERR_LEASEHOLD_BLOB_NOT_FOUND`, or `ERR_LEASEHOLD_BLOB_CORRUPT` for anything but a file */
export async function openBlob(path: string): Promise<{ readonly handle: FileHandle; readonly size: number }> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    const code = codeOf(error);
    throw code === 'ENOENT' ? notFound() : code === 'ELOOP' || code === 'EMLINK' ? corrupt() : error;
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw corrupt();
    return { handle, size: stat.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** All of a file, in steps. A step is valid until the next is asked for, unless `fresh`. */
export async function* stepsFrom(handle: FileHandle, fresh = false): AsyncGenerator<Uint8Array, void, void> {
  let step = new Uint8Array(STEP);
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(step, 0, STEP, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield step.subarray(0, bytesRead);
    if (fresh) step = new Uint8Array(STEP);
  }
}

/** Reads all of a file. @throws LeaseholdError `ERR_LEASEHOLD_BLOB_CORRUPT` when it does not hold what its name says */
export async function verify(
  handle: FileHandle,
  hex: string,
  see?: (step: Uint8Array, at: number) => void,
): Promise<void> {
  const hash = createHash('sha256');
  let at = 0;
  for await (const step of stepsFrom(handle)) {
    hash.update(step);
    see?.(step, at);
    at += step.byteLength;
  }
  if (hash.digest('hex') !== hex) throw corrupt();
}

/** Makes the names in a directory last. */
export async function syncDirectory(path: string): Promise<void> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, O_RDONLY | O_DIRECTORY);
    await handle.sync();
  } catch (error) {
    if (!UNSYNCABLE.has(codeOf(error))) throw error;
  } finally {
    await handle?.close();
  }
}

/** Every blob below a root. What comes or goes meanwhile may be among them or not. */
export async function* blobsUnder(root: string): AsyncGenerator<FoundBlob, void, void> {
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!entry.isDirectory() || !HEX.test(entry.name)) continue;
    const folder = entry.name;
    const names = (await readdir(join(root, folder))).filter((name) => HEX.test(name));
    for (let at = 0; at < names.length; at += BATCH) {
      const looks = names.slice(at, at + BATCH).map(async (hex) => {
        const path = join(root, folder, hex);
        const stat = await lstat(path).catch(unless('ENOENT'));
        return stat === undefined ? [] : [{ folder, hex, path, size: stat.size, mtimeMs: Math.round(stat.mtimeMs) }];
      });
      yield* (await Promise.all(looks)).flat();
    }
  }
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** For `catch`: passes over one code of the system. */
export function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}
