/**
 * ThreadPool on real threads: boots that succeed, fail or take too long, ends that are seen, and a close within its bound.
 *
 * Invariant: the pool's clock is fake, so a bound passes when the test says so, and every wait is for a thread. It is the
 * built one, since a thread needs a built entry. Deliberately absent: leases.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Tenure, TenureExit } from '../../src/isolate/tenure.ts';
import type { ThreadPool } from '../../src/isolate/thread-pool.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';
import { RUN } from './isolate-rig.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
type Pools = typeof import('../../src/isolate/thread-pool.ts');
const poolsAt = async (root: string) =>
  (await import(pathToFileURL(join(root, 'dist/src/isolate/thread-pool.js')).href)) as Pools;
const built = await poolsAt(ROOT);

const opened = new Set<ThreadPool>();
/** Closes a pool, once: after that it is never called again. */
function close(pool: ThreadPool, withinMs: number): Promise<void> {
  opened.delete(pool);
  return pool.close(withinMs);
}
afterEach(async () => {
  for (const pool of opened) await close(pool, 60_000);
});

function openPool(maxThreads = 2, { ThreadPool: Pool } = built) {
  const clock = new FakeClock();
  const pool = new Pool({
    clock,
    maxThreads,
    health: { full: 'sampled' },
    tailBytes: 1_024,
    onError: () => undefined,
  });
  opened.add(pool);
  return { clock, pool };
}

/** Hears a tenure; `ended` resolves with its exit. */
function hear(tenure: Tenure) {
  const records: unknown[] = [];
  const ended = new Promise<TenureExit>((resolve) => {
    tenure.listen({ onRecord: (record) => records.push(record), onExit: resolve });
  });
  tenure.ref();
  return { records, ended };
}

const run = (module: URL, exportName: string, input: unknown) =>
  ({
    t: 'run',
    seq: 1,
    ...RUN,
    module: module.href,
    exportName,
    input,
    ctx: { ...RUN.ctx, remainingMs: null },
  }) as const;

describe('a tenure', () => {
  it('installs on a thread of its own, and is proven dead by its exit', async () => {
    const { pool, clock } = openPool();
    const [one, other] = [pool.open(1_000), pool.open(1_000)];
    const heard = [hear(one), hear(other)];
    await Promise.all([one.installed, other.installed]);
    expect([one.exit, clock.pending, one.nonce === other.nonce]).toEqual([null, 0, false]);
    one.terminate();
    expect(await heard[0]?.ended).toEqual({ code: 1, error: null });
    expect([one.exit?.code, other.exit]).toEqual([1, null]);
    one.close();
  });

  it('is over when it is ended before it has a thread, and leaves its place', async () => {
    const { pool, clock } = openPool(1);
    const first = pool.open(1_000);
    const { ended } = hear(first);
    first.terminate();
    expect(await ended).toEqual({ code: null, error: null });
    await expect(first.installed).rejects.toThrow();
    first.close();
    const second = pool.open(1_000);
    hear(second);
    await second.installed;
    expect(clock.pending).toBe(0);
    second.terminate();
  });

  it('fails and is ended when it does not boot within bootMs', async () => {
    const { pool, clock } = openPool();
    const tenure = pool.open(50);
    const { ended } = hear(tenure);
    const failed = expect(tenure.installed).rejects.toThrow('did not boot within 50 ms');
    await clock.advance(50);
    await failed;
    await ended;
    expect([tenure.exit === null, clock.pending]).toEqual([false, 0]);
    tenure.close();
  });

  it('posts nothing that cannot be cloned', async () => {
    const { pool } = openPool();
    const tenure = pool.open(1_000);
    hear(tenure);
    await tenure.installed;
    expect(() => tenure.post(run(fixture('echo.mjs'), 'default', () => 1))).toThrowError(
      expect.objectContaining({ name: 'DataCloneError' }),
    );
    expect(tenure.receive()).toBeUndefined();
  });
});

describe('the close of a pool', () => {
  it('ends every thread, booting ones as well', async () => {
    const { pool, clock } = openPool(3);
    const tenures = [pool.open(1_000), pool.open(1_000), pool.open(1_000)];
    const heard = tenures.map(hear);
    await tenures[0]?.installed;
    await close(pool, 1_000);
    await Promise.all(heard.map(({ ended }) => ended));
    expect(clock.pending).toBe(0);
    for (const tenure of tenures) tenure.close();
  });

  it('takes no longer than its bound for a thread that does not die', async () => {
    const { pool, clock } = openPool(1);
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-fifo-'));
    const path = join(folder, 'fifo');
    execFileSync('mkfifo', [path]);
    const tenure = pool.open(1_000);
    const { ended } = hear(tenure);
    await tenure.installed;
    const words = sharedWords();
    tenure.post(run(fixture('hang.mjs'), 'readFifo', { path, words }));
    await untilChanged(words, 0);
    const closing = close(pool, 250);
    await clock.advance(250);
    await closing;
    // Opened for both, it waits for nobody, and the reader goes on.
    closeSync(openSync(path, constants.O_RDWR));
    await ended;
    tenure.close();
    rmSync(folder, { recursive: true });
  });
});

/** The built package elsewhere, with this for its thread entry; null for none. */
async function withEntry(entry: string | null, use: (pools: Pools) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-entry-'));
  cpSync(join(ROOT, 'dist/src'), join(folder, 'dist/src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'dist/workers'));
  if (entry !== null) writeFileSync(join(folder, 'dist/workers/isolate.js'), entry);
  try {
    await use(await poolsAt(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('a thread entry', () => {
  it('that is missing is named at once, and no thread starts', async () => {
    await withEntry(null, async (pools) => {
      const { pool, clock } = openPool(1, pools);
      expect(() => pool.open(1_000)).toThrowError(
        expect.objectContaining({
          leaseholdCode: 'ERR_LEASEHOLD_ENTRY_MISSING',
          message: expect.stringContaining('isolate.js'),
        }),
      );
      await close(pool, 1_000);
      expect(clock.pending).toBe(0);
    });
  });

  it.each([
    ['throws at load', "throw new Error('broken entry');", 'broken entry'],
    ['is no program', 'export default (', 'Unexpected'],
    ['exits at load', 'process.exit(3);', 'ended with code 3'],
  ])('that %s fails the boot, and its thread is ended', async (_, entry, words) => {
    await withEntry(entry, async (pools) => {
      const { pool, clock } = openPool(1, pools);
      const tenure = pool.open(60_000);
      const { ended } = hear(tenure);
      await expect(tenure.installed).rejects.toThrow(words);
      tenure.terminate();
      expect((await ended).code).not.toBeNull();
      expect(clock.pending).toBe(0);
      tenure.close();
      await close(pool, 60_000);
    });
  });
});
