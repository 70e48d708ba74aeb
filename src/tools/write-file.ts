/**
 * `writeFileTool`: the whole content of a file below a root, replaced at one instant.
 *
 * Invariants: until the rename nobody sees anything of the new content, and the old file is whole; whatever ends a write
 * before it removes what was written. The rename is the cut: before it nothing was applied, after it everything was.
 * Deliberately absent: appending, making directories, and the owner of the old file, which only a superuser could keep.
 */
import { Buffer, constants as buffers } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { NotAppliedError } from '../model/not-applied.ts';
import { countOr } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import type { InlineContext } from '../model/work.ts';
import { FileError, systemCodeOf, toFileError, wordsOf } from './file-error.ts';
import { requireKind } from './file-kind.ts';
import { DEFAULT_BYTES, type FileToolOptions, fileTool, pathSchema, STEP } from './file-tool.ts';
import { type Held, openInside, type Place } from './rooted-path.ts';

const inputSchema = z.strictObject({
  path: pathSchema,
  content: z.union([z.string(), z.instanceof(Uint8Array)]),
});
const outputSchema = z.strictObject({ bytesWritten: z.number(), committed: z.boolean() });
const { O_WRONLY, O_CREAT, O_EXCL, O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Where directories cannot be synced, the rename is all there is. */
const UNSYNCABLE = new Set(['EINVAL', 'ENOTSUP', 'EBADF', 'EPERM', 'EISDIR']);
const NAME_LIMIT = 256;

export interface WriteFileToolOptions extends FileToolOptions<typeof inputSchema> {
  /** What one file may hold; more is refused before anything is written. Default 16 MiB. */
  readonly maxBytes?: number;
}
export type WriteFileInput = z.input<typeof inputSchema>;
/** `committed`: the new content has taken the old one's place. Always true in a value: what did not happen is told as a failure. */
export type WriteFileValue = z.output<typeof outputSchema>;

/**
 * A tool that writes one file: into a temporary sibling (`.leasehold-….tmp`), synced, renamed, and the directory synced. `path`
 * is relative to the root, or absolute inside it; its directory must exist. A link inside the root is written through: its
 * target is replaced, and the link stays. An existing file keeps its permissions, and is refused when they forbid writing it.
 * Strings are written as UTF-8. Of two writers at once the last rename wins, and the file is whole.
 *
 * It dispatches one intent, `write <path>`. A stop or an error before the rename settles it as not applied, and removes the
 * sibling; from the rename on it is applied, and stops come too late. When the disk does not confirm the rename the run fails with
 * the intent applied. A call of the file system that blocks cannot be ended, as told at `readFileTool`: the intent is then open.
 * Should that call return later, nothing is renamed any more, unless it was the rename itself.
 *
 * The run fails with a `FileError` (before anything began) or a `NotAppliedError` whose `code` is `INVALID_PATH`, `OUTSIDE_ROOT`,
 * `NOT_A_FILE`, `TOO_LARGE` or the system's (`ENOSPC`, `EACCES`, `EROFS`).
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function writeFileTool(options: WriteFileToolOptions): Tool<WriteFileInput, WriteFileValue> {
  const maxBytes = countOr('maxBytes', options?.maxBytes, DEFAULT_BYTES, 0, buffers.MAX_LENGTH);
  return fileTool(options, {
    of: 'writeFileTool',
    limit: 'maxBytes',
    input: inputSchema,
    output: outputSchema,
    effects: 'declared',
    mayBeNew: true,
    serve: (place, { content }, context) => write(place, content, maxBytes, context),
  });
}

async function write(
  place: Place,
  content: string | Uint8Array,
  maxBytes: number,
  { perform, signal }: InlineContext,
): Promise<WriteFileValue> {
  const { root, real, shown } = place;
  const size = Buffer.byteLength(content);
  if (size > maxBytes) throw new FileError('TOO_LARGE', shown, `takes at most ${maxBytes} bytes; given were ${size}`);
  if (real === root) throw new FileError('NOT_A_FILE', shown, 'is a directory, not a regular file');
  const directory = await openInside(place, dirname(real), O_RDONLY | O_DIRECTORY);
  try {
    const target = join(directory.at, basename(real));
    const old = await lookAt(target);
    if (old !== null) {
      requireKind('file', shown, old);
      await access(target, constants.W_OK);
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const unconfirmed = await perform({ name: intentName(shown) }, () =>
      replace({ directory, target, old, bytes, shown }, signal),
    );
    if (unconfirmed !== null)
      throw toFileError(shown, unconfirmed, 'was replaced, but the disk did not confirm that it will last');
    return { bytesWritten: size, committed: true };
  } finally {
    await directory.handle.close();
  }
}

interface Replacement {
  readonly directory: Held;
  /** The path to replace, through the directory that is held. */
  readonly target: string;
  readonly old: Stats | null;
  readonly bytes: Uint8Array;
  readonly shown: string;
}

/** Resolves once the content is in its place: with the error of the directory's sync, or null. */
async function replace({ directory, target, old, bytes, shown }: Replacement, signal: AbortSignal): Promise<unknown> {
  const sibling = `.leasehold-${randomUUID()}.tmp`;
  const temporary = join(directory.at, sibling);
  // What the set-id bits allowed was meant for the old content.
  const mode = old === null ? null : old.mode & 0o777;
  let handle: FileHandle;
  try {
    signal.throwIfAborted();
    handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o666);
  } catch (error) {
    throw notApplied(shown, error, signal);
  }
  try {
    await fill(handle, mode, bytes, signal);
    signal.throwIfAborted();
  } catch (error) {
    const left = await unlink(temporary).then(nothing, systemCodeOf);
    throw notApplied(shown, error, signal, left === null || left === 'ENOENT' ? null : sibling);
  }
  try {
    await rename(temporary, target);
  } catch (error) {
    const left = await unlink(temporary).then(nothing, systemCodeOf);
    // Still there, so it was not renamed. Gone: a file system that lost its answer may have done it, and nobody can tell.
    if (left === 'ENOENT') throw toFileError(shown, error, 'may or may not have been replaced');
    throw notApplied(shown, error, signal, left === null ? null : sibling);
  }
  return directory.handle.sync().then(nothing, (error) => (UNSYNCABLE.has(systemCodeOf(error) ?? '') ? null : error));
}
const nothing = (): null => null;

async function fill(handle: FileHandle, mode: number | null, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    // The mask of the process has no say in what the old file had.
    if (mode !== null) await handle.chmod(mode);
    for (let at = 0; at < bytes.length; ) {
      signal.throwIfAborted();
      at += (await handle.write(bytes, at, Math.min(STEP, bytes.length - at))).bytesWritten;
    }
    signal.throwIfAborted();
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `left`: the name of a sibling that could not be removed. */
function notApplied(shown: string, error: unknown, signal: AbortSignal, left: string | null = null): NotAppliedError {
  const rest = left === null ? '' : ` A part of it was left as ${left}, which could not be removed.`;
  const path = JSON.stringify(shown);
  if (signal.aborted && error === signal.reason)
    return new NotAppliedError(`${path} was not written: the stop came first.${rest}`, { cause: error });
  const code = systemCodeOf(error);
  const told = new NotAppliedError(`${path} was not written: ${wordsOf(error)}.${rest}`);
  return code === null ? told : Object.assign(told, { code });
}

async function lookAt(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** A long path is told by its end, which says more. */
function intentName(shown: string): string {
  const name = `write ${shown}`;
  return name.length <= NAME_LIMIT ? name : `write …${shown.slice(7 - NAME_LIMIT)}`;
}
