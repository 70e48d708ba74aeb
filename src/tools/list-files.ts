/**
 * `listFilesTool`: what stands in a directory below a root.
 *
 * Invariants: links are told and never followed; no more than `maxEntries` are ever held; what appears, goes or cannot be read
 * meanwhile is no failure of the whole. Deliberately absent: patterns, and contents.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { z } from 'zod';
import { countOr } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import { systemCodeOf } from './file-error.ts';
import { FILE_KINDS, kindOf, requireKind } from './file-kind.ts';
import { type FileToolOptions, fileTool, pathSchema } from './file-tool.ts';
import { openInside, type Place } from './rooted-path.ts';

const DEFAULT_ENTRIES = 10_000;

const inputSchema = z.strictObject({ path: pathSchema, depth: z.int().min(1).default(1) });
const entrySchema = z.strictObject({
  path: z.string(),
  kind: z.enum(FILE_KINDS),
  size: z.number().nullable(),
  unreadable: z.literal(true).optional(),
  lossy: z.literal(true).optional(),
});
const outputSchema = z.strictObject({ entries: z.array(entrySchema), truncated: z.boolean() });

export interface ListFilesToolOptions extends FileToolOptions<typeof inputSchema> {
  /** How many are told. Default 10 000. */
  readonly maxEntries?: number;
}
/** `depth`: how many levels. Default 1, the directory itself. */
export type ListFilesInput = z.input<typeof inputSchema>;
/**
 * `path`: relative to the root, parted by `/`. `size`: bytes, of files only. `unreadable`: a directory that could not be looked
 * into. `lossy`: its name is no UTF-8; U+FFFD stands for what is not, and the path leads nowhere.
 */
export type FileEntry = z.output<typeof entrySchema>;
/** Sorted by path, in code units. */
export type ListFilesValue = z.output<typeof outputSchema>;

/**
 * A tool that lists a directory. `path` is relative to the root, or absolute inside it. Upper levels come first: when there are
 * more than `maxEntries` it stops there, `truncated` is true, and which of the last directory's are told is the file system's
 * choice. It has no effects. A stop is seen between entries; a call that blocks cannot be ended, as told at `readFileTool`.
 *
 * The run fails with a `FileError` whose `code` is `INVALID_PATH`, `OUTSIDE_ROOT`, `NOT_A_DIRECTORY` or the system's.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function listFilesTool(options: ListFilesToolOptions): Tool<ListFilesInput, ListFilesValue> {
  const maxEntries = countOr('maxEntries', options?.maxEntries, DEFAULT_ENTRIES);
  return fileTool(options, {
    of: 'listFilesTool',
    limit: 'maxEntries',
    input: inputSchema,
    output: outputSchema,
    effects: 'none',
    mayBeNew: false,
    serve: (place, { depth }, { signal }) => list(place, depth, maxEntries, signal),
  });
}

interface Found {
  readonly entry: FileEntry;
  /** A path as bytes, since a name may be no text. */
  readonly real: Buffer;
  readonly level: number;
}

async function list(place: Place, depth: number, maxEntries: number, signal: AbortSignal): Promise<ListFilesValue> {
  requireKind('directory', place.shown, await lstat(place.real));
  const entries: FileEntry[] = [];
  const waiting: Found[] = [];
  let truncated = false;
  const look = async (shown: string, real: Buffer, level: number): Promise<void> => {
    for await (const found of entriesOf({ ...place, shown }, real, level)) {
      signal.throwIfAborted();
      truncated = entries.length >= maxEntries;
      if (truncated) return;
      entries.push(found.entry);
      if (found.entry.kind === 'directory' && level < depth) waiting.push(found);
    }
  };
  signal.throwIfAborted();
  await look(place.shown, Buffer.from(place.real), 1);
  for (let at = 0; at < waiting.length && !truncated; at += 1) {
    const { entry, real, level } = waiting[at] as Found;
    signal.throwIfAborted();
    try {
      await look(entry.path, real, level + 1);
    } catch {
      signal.throwIfAborted();
      entry.unreadable = true;
    }
  }
  entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { entries, truncated };
}

/** One at a time, in the order of the file system, without what went away between its name and the look at it. */
async function* entriesOf(place: Place, real: Buffer, level: number): AsyncGenerator<Found> {
  const { handle, at } = await openInside(place, real, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    // The types do not know that names come as bytes when they are asked for so.
    const directory = await opendir(at, { encoding: 'buffer' as BufferEncoding });
    for await (const { name } of directory as unknown as AsyncIterable<{ readonly name: Buffer }>) {
      const entry = await look(joined(Buffer.from(at), name), pathOf(place.shown, name));
      if (entry === null) continue;
      yield { entry: isUtf8(name) ? entry : { ...entry, lossy: true }, real: joined(real, name), level };
    }
  } finally {
    await handle.close();
  }
}

async function look(path: Buffer, shown: string): Promise<FileEntry | null> {
  try {
    const stats = await lstat(path);
    return { path: shown, kind: kindOf(stats), size: stats.isFile() ? stats.size : null };
  } catch (error) {
    return systemCodeOf(error) === 'ENOENT' ? null : { path: shown, kind: 'unknown', size: null };
  }
}

function joined(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, SLASH, name]);
}
const SLASH = Buffer.from('/');

function pathOf(directory: string, name: Buffer): string {
  return directory === '.' ? name.toString() : `${directory}/${name}`;
}
