/**
 * What host and tool tell each other while the tool runs, whatever lies between them.
 *
 * Invariants: each word is told once and stays told; a wait is for the word itself, never for time; the tool's side
 * (`fixtures/tools/words.mjs`) tells and reads in the middle of a busy loop too. Deliberately absent: what they mean.
 */
import { existsSync, mkdtempSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Isolation, sharedWords, tell, untilChanged } from './fault-adapter.ts';

export interface Words {
  /** For the input of the tool. */
  readonly shared: Int32Array | string;
  tell(index: number): void;
  untilTold(index: number): Promise<void>;
  /** Blocks the loop of the host. */
  waitUntilTold(index: number): void;
  close(): void;
}

/** Memory that is shared with a thread; files in a folder for a process, with which none can be. */
export function openWords(isolation: Isolation): Words {
  return isolation === 'thread' ? wordsInMemory() : wordsInFiles();
}

function wordsInMemory(): Words {
  const words = sharedWords();
  return {
    shared: words,
    tell: (index) => tell(words, index),
    untilTold: (index) => untilChanged(words, index),
    waitUntilTold: (index) => void Atomics.wait(words, index, 0),
    close: () => undefined,
  };
}

function wordsInFiles(): Words {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-words-'));
  const fileOf = (index: number) => join(folder, String(index));
  return {
    shared: folder,
    tell: (index) => writeFileSync(fileOf(index), ''),
    untilTold: (index) =>
      new Promise((resolve) => {
        const look = () => {
          if (!existsSync(fileOf(index))) return;
          watcher.close();
          resolve();
        };
        const watcher = watch(folder, look);
        look();
      }),
    waitUntilTold(index) {
      while (!existsSync(fileOf(index)));
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
