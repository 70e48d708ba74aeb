/**
 * What is wrong with a process before it runs, in one form for everything Node and the platform may say.
 *
 * Invariant: a message names the program by its last part and the option that is at fault, never arguments, environment
 * or a folder. Deliberately absent: starting anything.
 */
import { statSync } from 'node:fs';
import type { ProcessRequest, SpawnFailure, SpawnReason } from './backend.ts';

const REASONS: Readonly<Record<string, SpawnReason>> = {
  ENOENT: 'not-found',
  ENOTDIR: 'not-found',
  EACCES: 'not-permitted',
  EPERM: 'not-permitted',
  ENOEXEC: 'not-executable',
  EISDIR: 'not-executable',
  E2BIG: 'too-large',
  EAGAIN: 'no-resources',
  EMFILE: 'no-resources',
  ENFILE: 'no-resources',
  ENOMEM: 'no-resources',
};

const WORDS: Readonly<Record<SpawnReason, string>> = {
  'not-found': 'it, or the interpreter it names, was not found',
  'not-permitted': 'it may not be executed',
  'not-executable': 'it is no program',
  'bad-cwd': 'cwd is not a directory that can be entered',
  'nul-byte': 'its name, an argument, cwd or the environment holds a NUL byte',
  'too-large': 'its arguments and environment are too large together',
  'no-resources': 'the system lacks the resources for one more process',
  'needs-shell': 'a batch file needs a shell, which is never used here',
  refused: 'the platform refused',
};

/** The last part of a path, which is all that is told of a program. */
export function programOf(file: string): string {
  return file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1) || file;
}

/** What Node said when it did not start a process. */
export function failureOfSpawn(file: string, error: unknown): SpawnFailure {
  const { code } = error as NodeJS.ErrnoException;
  const errno = typeof code === 'string' ? code : null;
  return failure(file, REASONS[errno ?? ''] ?? 'refused', errno);
}

/** What can be said before the platform is asked; null when nothing speaks against it. */
export function objectionTo({ file, args, cwd, env }: ProcessRequest): SpawnFailure | null {
  const texts = [file, cwd ?? '', ...args, ...Object.entries(env).flat()];
  if (texts.some((text) => text.includes('\0'))) return failure(file, 'nul-byte', null);
  // Node needs a shell for these, and their quoting cannot be made safe.
  if (process.platform === 'win32' && /\.(cmd|bat)\s*$/i.test(file)) return failure(file, 'needs-shell', null);
  return cwd === null ? null : objectionToCwd(file, cwd);
}

/** The platform would blame a bad folder on the program. */
function objectionToCwd(file: string, cwd: string): SpawnFailure | null {
  try {
    return statSync(cwd).isDirectory() ? null : failure(file, 'bad-cwd', 'ENOTDIR');
  } catch (error) {
    return failure(file, 'bad-cwd', (error as NodeJS.ErrnoException).code ?? null);
  }
}

function failure(file: string, reason: SpawnReason, errno: string | null): SpawnFailure {
  const program = programOf(file).replaceAll('\0', '?').slice(0, 128);
  const code = errno === null ? '' : ` (${errno})`;
  return { reason, errno, message: `"${program}" could not be started: ${WORDS[reason]}${code}.` };
}
