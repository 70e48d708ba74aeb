/**
 * FileError: what a file tool throws, in words that name the path as it was asked for, relative to the root.
 *
 * Invariants: never a path of the machine outside the root; `code` is the system's own word (`ENOENT`, `ENOSPC`) or one of
 * ours. Deliberately absent: stops, which are thrown as they are so that they are known by identity.
 */
import { getSystemErrorMap } from 'node:util';

/** Our own codes: what the system has no word for. */
type FileCode = 'INVALID_PATH' | 'OUTSIDE_ROOT' | 'NOT_A_FILE' | 'NOT_A_DIRECTORY' | 'TOO_LARGE';

export class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: string;
  constructor(code: FileCode | (string & {}), shown: string, words: string) {
    super(`${JSON.stringify(shown)} ${words}.`);
    this.code = code;
  }
}

/** An error of the system as a `FileError`; everything else as it is. */
export function toFileError(shown: string, error: unknown, doing = 'could not be reached'): unknown {
  const code = systemCodeOf(error);
  return code === null ? error : new FileError(code, shown, `${doing}: ${wordsOf(error)}`);
}

/** `ENOENT` and the like; null for an error that the system did not give. */
export function systemCodeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { errno, syscall, code } = error as NodeJS.ErrnoException;
  return typeof errno === 'number' && typeof syscall === 'string' && typeof code === 'string' ? code : null;
}

/** What happened, without the paths that Node's own message tells. */
export function wordsOf(error: unknown): string {
  const [code, words] = getSystemErrorMap().get((error as NodeJS.ErrnoException).errno ?? 0) ?? [];
  if (code !== undefined) return `${words} (${code})`;
  return error instanceof Error ? error.message : String(error);
}
