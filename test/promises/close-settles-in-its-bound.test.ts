/**
 * Promise: `close` settles within its bound, settles everybody else, and reports what did not end.
 *
 * Invariant: the close is measured against the bound it was given. Deliberately absent: the end of the process after a
 * blocked thread, which no program can force but by a signal.
 */
import { createSupervisor, defineTool } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, tell, untilChanged } from '../support/fault-adapter.ts';
import { makeFifo } from '../support/fault-fifo.ts';
import { watchHost } from '../support/fault-watch.ts';

const tool = (file: string, exportName = 'default') =>
  defineTool({ name: 'tool', module: fixture(file), exportName, input: z.unknown(), effects: 'none' });
/** What a busy machine may add. Milliseconds. */
const SLACK_MS = 1_500;
const defaults = { graceMs: 100, killMs: 300 };

describe('close', () => {
  it('lets a run end that ends in time', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1, defaults });
    const words = sharedWords();
    const run = supervisor.runTool(tool('echo.mjs', 'meet'), { words });
    await untilChanged(words, 0);
    const closing = supervisor.close({ withinMs: 30_000 });
    tell(words, 1);
    const report = await closing;
    expect((await run).status).toBe('succeeded');
    expect(report).toEqual({ settled: 1, interrupted: 0, abandoned: [] });
  });

  it('interrupts what runs and what waits, and settles each', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1, defaults });
    const words = sharedWords();
    const runs = [
      supervisor.runTool(tool('hang.mjs', 'loopForever'), { words }),
      supervisor.runTool(tool('echo.mjs'), 1),
      supervisor.runTool(tool('echo.mjs'), 2),
    ];
    await untilChanged(words, 0);
    const from = performance.now();
    const report = await supervisor.close({ withinMs: 1_000 });
    expect(performance.now() - from).toBeLessThan(1_000 + SLACK_MS);
    const results = await Promise.all(runs);
    expect(results.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
    expect(new Set(results.map(({ error }) => error?.code))).toEqual(new Set(['ERR_LEASEHOLD_SHUTDOWN']));
    expect(report).toMatchObject({ interrupted: 3, abandoned: [] });
  });

  it('reports a thread that will not die, within its bound', async () => {
    const watch = watchHost();
    const fifo = makeFifo();
    const supervisor = createSupervisor({ isolates: 1, standby: 1, defaults });
    const run = supervisor.runTool(tool('hang.mjs', 'readFifo'), { path: fifo.path });
    await fifo.untilRead();
    const from = performance.now();
    const report = await supervisor.close({ withinMs: 1_000 });
    const tookMs = performance.now() - from;
    await fifo.release();
    const left = await watch.untilQuiet();
    watch.stop();
    expect(tookMs).toBeLessThan(1_000 + SLACK_MS);
    expect(report.abandoned).toHaveLength(1);
    expect((await run).status).toBe('interrupted');
    expect(left).toEqual([]);
  });

  it('may be called while opening, again, and while closing', async () => {
    const supervisor = createSupervisor({ isolates: 2, standby: 1 });
    const queued = supervisor.runTool(tool('echo.mjs'), 1);
    const reports = await Promise.all([supervisor.close({ withinMs: 5_000 }), supervisor.close({ withinMs: 5_000 })]);
    expect(reports[1]).toEqual(reports[0]);
    expect(await supervisor.close()).toEqual(reports[0]);
    expect(['succeeded', 'interrupted']).toContain((await queued).status);
    expect(supervisor.statistics().state).toBe('closed');
  });

  it('turns every later request into a rejected one', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    await supervisor.close();
    const result = await supervisor.runTool(tool('echo.mjs'), 1);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'ERR_LEASEHOLD_CLOSED' }, lease: null });
  });
});
