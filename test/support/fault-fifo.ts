/**
 * A FIFO that a tool blocks in, for as long as the test likes.
 *
 * Invariant: `untilRead` resolves once the tool has opened its end: from then on it sits in a read that nothing but
 * `release` ends, not even the end of its thread. Deliberately absent: writing anything.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Fifo {
  readonly path: string;
  untilRead(): Promise<void>;
  /** Lets the reader go and removes the FIFO. */
  release(): Promise<void>;
}

export function makeFifo(): Fifo {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-fifo-'));
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  let writer: FileHandle | null = null;
  return {
    path,
    async untilRead() {
      writer = await open(path, 'w');
    },
    async release() {
      await writer?.close();
      rmSync(folder, { recursive: true });
    },
  };
}
