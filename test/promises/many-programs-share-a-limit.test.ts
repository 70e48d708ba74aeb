/**
 * Promise: however many programs are asked for, no more run than the limit says, and a close ends all of them in its bound.
 *
 * Invariant: how many run is counted by the programs themselves, in a folder. Deliberately absent: other kinds of tools
 * (`no-kind-waits-for-another.test.ts`).
 */
import { readdirSync } from 'node:fs';
import { createSupervisor } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { Hearing, leavesNothing, living, script } from '../support/program-run.ts';
import { scratch } from '../tools/scratch.ts';

leavesNothing();

describe('fifty programs at once', () => {
  it('run four at a time where four are allowed, and all succeed', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, limits: { process: 4 } });
    // Each leaves a file while it runs, and counts those that are there.
    const counting = script(': > "$1/$$"; sleep 0.05; set -- "$1" "$1"/*; echo $(($# - 1)); rm "$1/$$"');
    const folder = scratch();
    const results = await Promise.all(Array.from({ length: 50 }, () => supervisor.runTool(counting, folder)));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'succeeded'));
    const seen = results.map(({ output }) => Number(output.stdout.text));
    expect(Math.max(...seen)).toBe(4);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(1);
    expect(readdirSync(folder)).toEqual([]);
    expect(supervisor.statistics()).toMatchObject({
      queue: { depth: 0 },
      isolates: { leased: 0 },
      protocolViolations: 0,
    });
    await supervisor.close();
  });
});

describe('a close while programs run', () => {
  it.each([
    ['obey', 'echo up; sleep 45', 'SIGTERM'],
    ['ignore the stop', 'trap "" TERM; echo up; sleep 45; :', 'SIGKILL'],
  ])('ends those that %s and refuses those that wait, in its bound', async (_, text, signal) => {
    const supervisor = createSupervisor({
      isolates: 1,
      standby: 0,
      limits: { process: 3 },
      defaults: { killMs: 1_000 },
    });
    const tool = script(text, { drain: { quietMs: 100, maxMs: 200 } });
    const hearings = Array.from({ length: 6 }, () => new Hearing());
    const running = hearings.map(({ options }) => supervisor.runTool(tool, null, options));
    await Promise.all(hearings.slice(0, 3).map((hearing) => hearing.until('up\n')));
    const from = performance.now();
    const report = await supervisor.close({ withinMs: 500 });
    const tookMs = performance.now() - from;
    expect(living()).toEqual([]);
    const results = await Promise.all(running);
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'interrupted'));
    expect(results.map(({ cause }) => cause?.kind)).toEqual(results.map(() => 'shutdown'));
    expect(results.map(({ exit }) => exit?.signal ?? null)).toEqual([signal, signal, signal, null, null, null]);
    expect(results.slice(3).every(({ lease }) => lease?.isolate === null)).toBe(true);
    expect(report).toEqual({ settled: 0, interrupted: 6, abandoned: [] });
    expect(tookMs).toBeLessThan(500 + supervisor.statistics().worstCaseStopMs + 1_500);
    expect((await supervisor.runTool(tool, null)).status).toBe('rejected');
  });
});
