/**
 * What stands at a path: a file, a directory, or something that is neither.
 *
 * Invariant: told by a look that follows no link. Deliberately absent: opening; a FIFO holds whoever opens it, and a
 * device may act on it, so both are refused before.
 */
import type { Stats } from 'node:fs';
import { FileError } from './file-error.ts';

export const FILE_KINDS = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device', 'unknown'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

const WORDS: Record<FileKind, string> = {
  file: 'a file',
  directory: 'a directory',
  symlink: 'a symbolic link',
  fifo: 'a FIFO',
  socket: 'a socket',
  device: 'a device',
  unknown: 'of a kind that is not known',
};

export type Look = Pick<
  Stats,
  'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket' | 'isBlockDevice' | 'isCharacterDevice'
>;

export function kindOf(look: Look): FileKind {
  if (look.isFile()) return 'file';
  if (look.isDirectory()) return 'directory';
  if (look.isSymbolicLink()) return 'symlink';
  if (look.isFIFO()) return 'fifo';
  if (look.isSocket()) return 'socket';
  return look.isBlockDevice() || look.isCharacterDevice() ? 'device' : 'unknown';
}

/** @throws FileError `NOT_A_FILE` or `NOT_A_DIRECTORY` */
export function requireKind(wanted: 'file' | 'directory', shown: string, look: Look): void {
  const kind = kindOf(look);
  if (kind === wanted) return;
  const code = wanted === 'file' ? 'NOT_A_FILE' : 'NOT_A_DIRECTORY';
  throw new FileError(code, shown, `is ${WORDS[kind]}, not ${wanted === 'file' ? 'a regular file' : 'a directory'}`);
}
