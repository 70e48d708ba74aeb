/**
 * A directory of its own for each test, and the odd things a file tool may meet in it.
 *
 * Invariant: everything is real, and gone after the test. Deliberately absent: small disks (`support/tmpfs-disk.ts`).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The real path of an empty directory that others may enter. */
export function scratch(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'leasehold-files-')));
  chmodSync(path, 0o755);
  // Not by Node, which cannot remove a tree that is deeper than a path can say.
  onTestFinished(() => run('rm', ['-rf', path]));
  return path;
}

/** Makes a FIFO that nobody writes to. */
export function makeFifo(path: string): void {
  run('mkfifo', [path]);
}

function run(file: string, args: readonly string[]): void {
  const { status } = spawnSync(file, args);
  if (status !== 0) throw new Error(`${file} ended with ${status}`);
}

/** Runs `body` without the rights of a superuser, which pass every permission. */
export async function asStranger<T>(body: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return body();
  process.seteuid?.(65_534);
  try {
    return await body();
  } finally {
    process.seteuid?.(0);
  }
}

/** What a write that did not happen may not leave. */
export function siblingsIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith('.leasehold-'));
}

export async function failureOf(answer: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  const failure = await answer.then(
    () => null,
    (error: unknown) => error,
  );
  if (failure instanceof Error) return failure;
  throw new Error(`expected an error, got ${String(failure)}`);
}
