/**
 * Faults that show only in what comes beside or after them.
 *
 * Invariant: order comes from words that host and tool share, or from results, never from time.
 * Deliberately absent: faults of a single call (`fault-cases.ts`).
 */
import { getEventListeners, once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FaultPool, fixture, type Work } from '../support/fault-adapter.ts';
import { type HostWatch, watchHost } from '../support/fault-watch.ts';
import { openWords, type Words } from '../support/fault-words.ts';
import { isLive, turnsUntil } from '../support/process-rig.ts';
import { leasehold } from './leasehold-adapter.ts';

const OPTIONS = { graceMs: 80, killMs: 3_000, runTimeoutMs: 30_000, maxOldGenerationSizeMb: 128 };
const call = (file: string, exportName = 'default', rest: Partial<Work> = {}): Work => ({
  module: fixture(file),
  exportName,
  ...rest,
});

/** In a thread they would take the host along. */
const CRASHES = [
  ['an abort', call('crash.mjs', 'abort'), 'ISOLATE_EXITED'],
  ['a crash', call('crash.mjs', 'signalSelf', { input: { signal: 'SIGSEGV' } }), 'ISOLATE_EXITED'],
  ['a crash while loading', call('load/crashes-at-load.mjs'), 'ISOLATE_EXITED'],
] as const;

let watch: HostWatch;
beforeEach(() => {
  watch = watchHost();
});
afterEach(() => watch.stop());

describe.each(leasehold.map((adapter) => [adapter.name, adapter] as const))('%s', (_, adapter) => {
  let words: Words;
  beforeEach(() => {
    words = openWords(adapter.isolation);
  });
  afterEach(() => words.close());
  const shared = () => ({ input: { words: words.shared } });

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
      ...(adapter.isolation === 'process' ? CRASHES : []),
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

    it('leaves an interval behind with its isolate', () =>
      play(standby, async (pool) => {
        const { isolate } = await pool.run(call('leak.mjs', 'leaveInterval'));
        const meeting = pool.run(call('echo.mjs', 'meet', shared()));
        await words.untilTold(0);
        words.tell(1);
        expect(await meeting).toMatchObject({
          status: 'succeeded',
          isolate: expect.not.stringMatching(`^${isolate}$`),
        });
        for (const thread of [...watch.threads].slice(0, -1 - standby)) expect(thread.threadId).toBe(-1);
        // A process is dead when its exit is told: the last ones are the isolate of the meeting and its spare.
        for (const child of [...watch.processes].slice(0, -1 - standby)) await once(child, 'exit');
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
      const first = await pool.run(call('leak.mjs', 'leaveHiddenThrow', shared()));
      const blamed = await pool.run(call('echo.mjs', 'meet', shared()));
      const next = await pool.run(call('echo.mjs'));
      expect(blamed.isolate).toBe(first.isolate);
      expect(blamed).toMatchObject({ status: 'failed', code: 'UNCAUGHT', fate: 'condemned' });
      expect(blamed.message).toMatch(/earlier request/);
      expect(next.status).toBe('succeeded');
    }));

  it('closes with a busy loop running and two runs queued, each settled', () =>
    play(1, async (pool) => {
      const runs = [
        pool.run(call('hang.mjs', 'loopForever', shared())),
        pool.run(call('echo.mjs')),
        pool.run(call('echo.mjs')),
      ];
      await words.untilTold(0);
      const [report, ...settled] = await Promise.all([pool.close(3_000), ...runs]);
      expect(settled.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
      expect(report.abandoned).toBe(0);
    }));

  it('closes gracefully with a hung run within its bound', () =>
    play(1, async (pool) => {
      const run = pool.run(call('hang.mjs', 'neverSettle', shared()));
      await words.untilTold(0);
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
      const holder = pool.run(call('echo.mjs', 'meet', shared()));
      await words.untilTold(0);
      const controller = new AbortController();
      const queued = pool.run(call('echo.mjs', 'default', { signal: controller.signal }));
      controller.abort();
      expect(await queued).toMatchObject({ status: 'cancelled', fate: 'untouched' });
      words.tell(1);
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

  it('hears what is printed after an earlier run has ended its streams', () =>
    play(0, async (pool) => {
      const first = await pool.run(call('print.mjs', 'endStreams'));
      const next = await pool.run(call('print.mjs', 'printSome'));
      expect(next).toMatchObject({ isolate: first.isolate, status: 'succeeded' });
      expect([first.stdout.text, next.stdout.text]).toEqual(['the last line\n', 'a line of output\n']);
    }));

  it('ends a child that nothing but its number tells from others', () =>
    play(0, async (pool) => {
      const { value, findings } = await pool.run(call('crash.mjs', 'leaveStranger'));
      expect(findings).toContain('child-process');
      await turnsUntil(() => !isLive(value as number));
    }));

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

  it('replaces an isolate blocked in native code without waiting for what blocks it', () =>
    play(0, async (pool) => {
      const blocked = await pool.run(
        call('hang.mjs', 'sleepBlocking', { input: { words: words.shared, seconds: 3 }, runTimeoutMs: 100 }),
      );
      expect(blocked.status).toBe('timed-out');
      expect((await pool.run(call('echo.mjs'))).status).toBe('succeeded');
      await words.untilTold(0);
    }));
});
