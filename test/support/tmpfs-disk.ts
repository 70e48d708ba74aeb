/**
 * Disks that take no more: a small tmpfs, where this process may mount one, and the kernel's limit of a file elsewhere.
 *
 * Invariants: the refusal is the kernel's own, in the middle of a write; everything is undone after the test.
 * Deliberately absent: any other way to make a write fail.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Little room, the old file included. */
export interface SmallDisk {
  readonly path: string;
  /** What the system says when it is full. */
  readonly code: string;
  /** Makes room for much more. */
  grow(): void;
}

export function fullDisk(kib = 64): SmallDisk {
  const path = emptyDirectory();
  if (!mounted(path, `size=${kib}k`)) return limitedFiles(path, kib);
  return { path, code: 'ENOSPC', grow: () => run('mount', ['-o', 'remount,size=64m', path]) };
}

/** No file may pass so many KiB: a limit of this process, with the signal that goes with it taken. */
export function limitedFiles(path = emptyDirectory(), kib = 64): SmallDisk {
  const ignore = (): void => undefined;
  process.on('SIGXFSZ', ignore);
  onTestFinished(() => {
    limit('unlimited');
    process.off('SIGXFSZ', ignore);
  });
  limit(String(kib * 1_024));
  return { path, code: 'EFBIG', grow: () => limit('unlimited') };
}

/** A file that stands in a place where nothing can be written, and what the system may say of it. */
export function readOnlyPlace(content: string): { readonly root: string; readonly file: string; codes: string[] } {
  const root = emptyDirectory();
  if (!mounted(root, 'size=64k')) return { root: '/proc', file: 'version', codes: ['EACCES', 'EPERM', 'ENOENT'] };
  writeFileSync(join(root, 'file'), content);
  run('mount', ['-o', 'remount,ro', root]);
  return { root, file: 'file', codes: ['EROFS'] };
}

function emptyDirectory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'leasehold-disk-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function mounted(path: string, options: string): boolean {
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]).status !== 0) return false;
  onTestFinished(() => run('umount', [path]));
  return true;
}

function limit(bytes: string): void {
  run('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}

function run(file: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file} ended with ${status}: ${stderr}`);
}
