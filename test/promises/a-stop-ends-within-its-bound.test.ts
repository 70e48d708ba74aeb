/**
 * Promise: from a stop to the result passes no more than the result's own `boundMs`, and no more than the supervisor said.
 *
 * Invariant: the bound is read before the run and from the result, never written here. Deliberately absent: how tight
 * it is (`bench/`).
 */
import { createSupervisor, defineTool } from 'leasehold';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';
import { type HostWatch, watchHost } from '../support/fault-watch.ts';

const hang = (exportName: string) =>
  defineTool({ name: 'hang', module: fixture('hang.mjs'), exportName, input: z.unknown(), effects: 'none' });
/** What a busy machine may add. Milliseconds. */
const SLACK_MS = 1_500;

let watch: HostWatch;
beforeEach(() => {
  watch = watchHost();
});
// A thread blocked in a system call outlives the close that gave it up.
afterEach(async () => {
  expect(await watch.untilQuiet()).toEqual([]);
  watch.stop();
});

describe('a stop', () => {
  it.each([
    ['loopForever', {}],
    ['waitForever', {}],
    ['spinMicrotasks', {}],
    ['neverSettle', {}],
    ['obey', {}],
    ['sleepBlocking', { seconds: 2 }],
  ])('ends %s within the bound', async (exportName, input) => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1, defaults: { graceMs: 100, killMs: 500 } });
    await supervisor.untilReady();
    const { worstCaseStopMs } = supervisor.statistics();
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(hang(exportName), { ...input, words }, { signal: controller.signal });
    await untilChanged(words, 0);
    const stoppedAt = performance.now();
    controller.abort();
    const result = await running;
    const tookMs = performance.now() - stoppedAt;
    await supervisor.close({ withinMs: 5_000 });

    expect(result.status).toBe('cancelled');
    expect(result.timing.boundMs).toBeLessThanOrEqual(worstCaseStopMs);
    expect(result.timing.boundMs).toBeGreaterThanOrEqual(100);
    expect(tookMs).toBeLessThan(result.timing.boundMs + SLACK_MS);
    const { queuedMs, acquiredMs, runningMs, terminatingMs, drainingMs, totalMs } = result.timing;
    const states = queuedMs + acquiredMs + runningMs + terminatingMs + drainingMs;
    // Beside the states there is only the host's own work on the request.
    expect(states).toBeLessThanOrEqual(totalMs + 0.01);
    expect(totalMs - states).toBeLessThan(SLACK_MS);
  });

  it('reaches a busy loop that asks, and its isolate is kept', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { graceMs: 5_000 } });
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(hang('obeyInLoop'), { words }, { signal: controller.signal });
    await untilChanged(words, 0);
    controller.abort();
    const result = await running;
    await supervisor.close({ withinMs: 5_000 });
    expect(result).toMatchObject({ status: 'cancelled', lease: { end: 'completed' } });
  });
});
