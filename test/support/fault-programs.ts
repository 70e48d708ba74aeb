/**
 * Child processes that use the built package: started, read to their end, told by their exit.
 *
 * Invariant: a program is over when its `close` event came; nothing here waits for time, and a program that never ends
 * fails its test by the runner's own limit and is killed. Deliberately absent: expectations.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAMS = new URL('../fixtures/programs/', import.meta.url);

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<ProgramEnd>;
}

/** Starts `test/fixtures/programs/<file>`. */
export function startProgram(file: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): Program {
  const child = spawn(process.execPath, [...nodeArgs, fileURLToPath(new URL(file, PROGRAMS)), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...texts }) as ProgramEnd);
  return { child, ended };
}

/** Runs a program to its end. */
export function runProgram(
  file: string,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
): Promise<ProgramEnd> {
  return startProgram(file, args, nodeArgs).ended;
}
