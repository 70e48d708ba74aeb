/**
 * Faults that show only in what comes beside or after them.
 *
 * Invariant: order comes from words that host and tool share, or from results, never from time.
 * Deliberately absent: faults of a single call (`fault-cases.ts`).
 */
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type FaultPool,
  fixture,
  sharedWords,
  tell,
  untilChanged,
  untilReaches,
  type Work,
} from '../support/fault-adapter.ts';
import { type HostWatch, watchHost } from '../support/fault-watch.ts';
import { leasehold } from './leasehold-adapter.ts';

const OPTIONS = { graceMs: 80, killMs: 3_000, runTimeoutMs: 30_000, maxOldGenerationSizeMb: 128 };
const call = (file: string, exportName = 'default', rest: Partial<Work> = {}): Work => ({
  module: fixture(file),
  exportName,
  ...rest,
});

let watch: HostWatch;
beforeEach(() => {
  watch = watchHost();
});
afterEach(() => watch.stop());

describe.each([[leasehold.name, leasehold]] as const)('%s', (_, adapter) => {
  /** Opens a pool, plays, closes, and sees that nothing is left. */
  async function play(standby: number, scenario: (pool: FaultPool) => Promise<void>): Promise<void> {
    const pool = await adapter.open({ ...OPTIONS, isolates: 1, standby });
    try {
      await scenario(pool);
    } finally {
      await pool.close(10_000);
    }
    expect(await watch.untilQuiet()).toEqual([]);
    expect(watch.uncaught).toEqual([]);
  }

  describe.each([0, 1])('with a standby of %i', (standby) => {
    it.each([
      ['a throw', call('throw.mjs', 'throwNull'), 'TOOL_ERROR'],
      ['an exit', call('exit.mjs', 'exitThree'), 'ISOLATE_EXITED'],
      ['an uncaught error', call('exit.mjs', 'throwLater'), 'UNCAUGHT'],
      ['a kill', call('hang.mjs', 'loopForever', { runTimeoutMs: 100 }), 'RUN_TIMEOUT'],
    ] as const)('serves the two runs queued behind %s', (_, fault, code) =>
      play(standby, async (pool) => {
        const [first, ...queued] = await Promise.all([
          pool.run(fault),
          pool.run(call('echo.mjs')),
          pool.run(call('echo.mjs')),
        ]);
        expect(first.code).toBe(code);
        expect(queued.map((settled) => settled.status)).toEqual(['succeeded', 'succeeded']);
      }),
    );

    it('fails each of three runs of a module that throws at load, and serves the next', () =>
      play(standby, async (pool) => {
        const broken = call('load/throws-at-load.mjs');
        const settled = await Promise.all([pool.run(broken), pool.run(broken), pool.run(broken)]);
        expect(settled.map(({ code }) => code)).toEqual(['TOOL_LOAD', 'TOOL_LOAD', 'TOOL_LOAD']);
        expect((await pool.run(broken)).code).toBe('TOOL_LOAD');
        expect((await pool.run(call('echo.mjs'))).status).toBe('succeeded');
      }));

    it('leaves an interval behind with its thread', () =>
      play(standby, async (pool) => {
        const words = sharedWords();
        await pool.run(call('leak.mjs', 'leaveInterval', { input: { words } }));
        const next = sharedWords();
        const meeting = pool.run(call('echo.mjs', 'meet', { input: { words: next } }));
        await untilChanged(next, 0);
        tell(next, 1);
        expect((await meeting).status).toBe('succeeded');
        for (const thread of [...watch.threads].slice(0, -1 - standby)) expect(thread.threadId).toBe(-1);
      }));

    it('keeps a timer that throws late out of the next run', () =>
      play(standby, async (pool) => {
        const first = await pool.run(call('leak.mjs', 'leaveThrowingTimer'));
        const next = await pool.run(call('echo.mjs'));
        expect({ first: first.status, next: next.status }).toEqual({ first: 'succeeded', next: 'succeeded' });
        expect(next.isolate).not.toBe(first.isolate);
      }));
  });

  it('says that a hidden timer of an earlier run may be to blame', () =>
    play(1, async (pool) => {
      const words = sharedWords();
      const first = await pool.run(call('leak.mjs', 'leaveHiddenThrow', { input: { words } }));
      const blamed = await pool.run(call('echo.mjs', 'meet', { input: { words } }));
      const next = await pool.run(call('echo.mjs'));
      expect(blamed.isolate).toBe(first.isolate);
      expect(blamed).toMatchObject({ status: 'failed', code: 'UNCAUGHT', fate: 'condemned' });
      expect(blamed.message).toMatch(/earlier request/);
      expect(next.status).toBe('succeeded');
    }));

  it('closes with a busy loop running and two runs queued, each settled', () =>
    play(1, async (pool) => {
      const words = sharedWords();
      const runs = [
        pool.run(call('hang.mjs', 'loopForever', { input: { words } })),
        pool.run(call('echo.mjs')),
        pool.run(call('echo.mjs')),
      ];
      await untilChanged(words, 0);
      const [report, ...settled] = await Promise.all([pool.close(3_000), ...runs]);
      expect(settled.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
      expect(report.abandoned).toBe(0);
    }));

  it('closes gracefully with a hung run within its bound', () =>
    play(1, async (pool) => {
      const words = sharedWords();
      const run = pool.run(call('hang.mjs', 'neverSettle', { input: { words } }));
      await untilChanged(words, 0);
      const [, settled] = await Promise.all([pool.close(6_000), run]);
      expect(settled).toMatchObject({ status: 'interrupted', code: 'SHUTDOWN' });
    }));

  it('answers rejected after the close', async () => {
    const pool = await adapter.open({ ...OPTIONS, isolates: 1, standby: 0 });
    await pool.close(5_000);
    expect(await pool.run(call('echo.mjs'))).toMatchObject({ status: 'rejected', code: 'CLOSED', fate: 'untouched' });
    expect(await watch.untilQuiet()).toEqual([]);
  });

  it('cancels a run in the queue without touching an isolate', () =>
    play(1, async (pool) => {
      const words = sharedWords();
      const holder = pool.run(call('echo.mjs', 'meet', { input: { words } }));
      await untilChanged(words, 0);
      const controller = new AbortController();
      const queued = pool.run(call('echo.mjs', 'default', { signal: controller.signal }));
      controller.abort();
      expect(await queued).toMatchObject({ status: 'cancelled', fate: 'untouched' });
      tell(words, 1);
      expect((await holder).status).toBe('succeeded');
    }));

  it.each(['floodThenReturn', 'floodThenThrow', 'floodThenExit'])('counts 20 000 lines through %s', (exportName) =>
    play(1, async (pool) => {
      const lines = 20_000;
      const { stdout } = await pool.run(call('exit.mjs', exportName, { input: { lines } }));
      const bytes = Array.from({ length: lines }, (_, line) => `line ${line}\n`.length).reduce(
        (sum, size) => sum + size,
      );
      expect(stdout.bytesRead).toBe(bytes);
      expect(stdout.text.startsWith('line 0\nline 1\n')).toBe(true);
      expect(stdout.text.endsWith(`line ${lines - 1}\n`)).toBe(true);
    }),
  );

  it('leaves no listener on a signal that fifty runs shared', () =>
    play(1, async (pool) => {
      const { signal } = new AbortController();
      for (let run = 0; run < 50; run += 1) await pool.run(call('echo.mjs', 'default', { signal }));
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }));

  it('serves twenty clients on one isolate in the order they came', () =>
    play(1, async (pool) => {
      const asked: string[] = [];
      const served: string[] = [];
      const client = async (name: number) => {
        for (let turn = 0; turn < 10; turn += 1) {
          asked.push(`${name}:${turn}`);
          await pool.run(call('echo.mjs'));
          served.push(`${name}:${turn}`);
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, name) => client(name)));
      expect(served).toEqual(asked);
    }));

  it('holds no memory of an environment that an earlier run changed', () =>
    play(1, async (pool) => {
      const first = await pool.run(call('leak.mjs', 'changeEnv'));
      const next = await pool.run(call('leak.mjs', 'readEnv'));
      expect(next).toMatchObject({ isolate: first.isolate, value: null });
    }));

  it('replaces a thread blocked in native code before that thread is gone', () =>
    play(0, async (pool) => {
      const words = sharedWords();
      const blocked = await pool.run(
        call('hang.mjs', 'sleepBlocking', { input: { words, seconds: 3 }, runTimeoutMs: 100 }),
      );
      expect(blocked.status).toBe('timed-out');
      expect((await pool.run(call('echo.mjs'))).status).toBe('succeeded');
      await untilReaches(words, 0, 1);
    }));
});
