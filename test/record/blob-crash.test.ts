/** A process that puts blobs is killed at any moment, over and over: what it told is there, and nothing torn or left is. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fileBlobStore } from '../../src/record/file-blob-store.ts';
import { scratch } from '../tools/scratch.ts';
import { digestOf } from './blob-contract.ts';

const WRITER = fileURLToPath(new URL('blob-writer.mjs', import.meta.url));
const KILLS = 60;

/** Runs the writer until it has told `count` blobs, kills it, and gives back all it told. */
async function killedAfter(count: number, root: string): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, root], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const told: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    told.push(line);
    if (told.length === count) child.kill('SIGKILL');
  }
  expect(await closed).toEqual([null, 'SIGKILL']);
  return told;
}

describe('a file blob store whose process is killed', () => {
  it(`keeps what it acknowledged and nothing torn, ${KILLS} times`, { timeout: 300_000 }, async () => {
    const seen = { told: 0, files: 0, left: 0 };
    for (let kill = 0; kill < KILLS; kill += 1) {
      const root = scratch();
      const told = await killedAfter(randomInt(1, 30), root);
      seen.left += readdirSync(join(root, 'tmp')).length;

      const store = fileBlobStore({ root });
      for (const digest of told) expect(digestOf(await store.get('acme', digest))).toBe(digest);
      expect(readdirSync(join(root, 'tmp'))).toEqual([]);
      const folders = readdirSync(root).filter((name) => name !== 'tmp');
      const files = folders.flatMap((folder) => readdirSync(join(root, folder)));
      for (const hex of files) await store.get('acme', `sha256:${hex}`);
      seen.told += told.length;
      seen.files += files.length;
    }
    console.info(`${seen.told} told, ${seen.files} found, ${seen.left} temporaries left by ${KILLS} kills`);
    expect(seen.told).toBeGreaterThanOrEqual(KILLS);
    expect(seen.left).toBeGreaterThan(0);
  });
});
