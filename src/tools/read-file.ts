/**
 * `readFileTool`: the content of a regular file below a root.
 *
 * Invariants: what is not a regular file is refused before it is opened, and again before a byte of it is read; never more
 * than `maxBytes` and one step are held. Deliberately absent: text and its encodings, and reading from the middle.
 */
import { constants as buffers } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { z } from 'zod';
import { countOr } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import { requireKind } from './file-kind.ts';
import { DEFAULT_BYTES, type FileToolOptions, fileTool, pathSchema, STEP } from './file-tool.ts';
import { openInside, type Place } from './rooted-path.ts';

const inputSchema = z.strictObject({ path: pathSchema });
const outputSchema = z.strictObject({ bytes: z.instanceof(Uint8Array), size: z.number(), truncated: z.boolean() });

export interface ReadFileToolOptions extends FileToolOptions<typeof inputSchema> {
  /** What is read of one file. Default 16 MiB. */
  readonly maxBytes?: number;
}
export type ReadFileInput = z.input<typeof inputSchema>;
/** `size`: the file's, when it was opened. `truncated`: it held more than `maxBytes`. */
export type ReadFileValue = z.output<typeof outputSchema>;

/**
 * A tool that reads one file. `path` is relative to the root, or absolute inside it; links are followed inside the root only.
 * It has no effects. A stop is seen between steps of 64 KiB. Node cannot end a call of the file system that blocks, as on a
 * network that is gone: the run then ends after its grace and kill bounds, and the call counts as an abandoned isolate until
 * it returns; such places belong to a tool with `isolation: 'process'`.
 *
 * The run fails with a `FileError` whose `code` is `INVALID_PATH`, `OUTSIDE_ROOT`, `NOT_A_FILE` (a directory, FIFO, socket or
 * device) or the system's (`ENOENT`, `EACCES`, `ELOOP`).
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function readFileTool(options: ReadFileToolOptions): Tool<ReadFileInput, ReadFileValue> {
  const maxBytes = countOr('maxBytes', options?.maxBytes, DEFAULT_BYTES, 0, buffers.MAX_LENGTH);
  return fileTool(options, {
    of: 'readFileTool',
    limit: 'maxBytes',
    input: inputSchema,
    output: outputSchema,
    effects: 'none',
    mayBeNew: false,
    serve: (place, _input, { signal }) => read(place, maxBytes, signal),
  });
}

async function read(place: Place, maxBytes: number, signal: AbortSignal): Promise<ReadFileValue> {
  requireKind('file', place.shown, await lstat(place.real));
  const { handle } = await openInside(place, place.real, constants.O_RDONLY);
  try {
    const look = await handle.stat();
    requireKind('file', place.shown, look);
    return { ...(await readUpTo(handle, look.size, maxBytes, signal)), size: look.size };
  } finally {
    await handle.close();
  }
}

/** `expected` is a guess: the file may grow or shrink, and those of `/proc` tell no size. */
async function readUpTo(
  handle: FileHandle,
  expected: number,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; truncated: boolean }> {
  let bytes = new Uint8Array(Math.min(expected, maxBytes));
  let length = 0;
  for (;;) {
    signal.throwIfAborted();
    const room = Math.min(STEP, maxBytes - length);
    // Full: whatever still comes is more than was expected, or more than is wanted.
    const isFull = length === bytes.length;
    const step = isFull ? new Uint8Array(Math.max(1, room)) : bytes.subarray(length, length + room);
    const { bytesRead } = await handle.read(step, 0, step.length, length);
    if (bytesRead === 0 || room === 0) return { bytes: trimmed(bytes, length), truncated: bytesRead > 0 };
    if (isFull) {
      bytes = copyOf(bytes, Math.min(maxBytes, Math.max(2 * length, length + bytesRead)));
      bytes.set(step.subarray(0, bytesRead), length);
    }
    length += bytesRead;
  }
}

function copyOf(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(length);
  copy.set(bytes);
  return copy;
}
function trimmed(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  return length === bytes.length ? bytes : bytes.slice(0, length);
}
