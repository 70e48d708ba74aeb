/**
 * Promise: a hung tool costs no capacity: a spare isolate is already warm when the hung one is condemned.
 *
 * Invariant: the next run is served on an isolate that was booted before the hung run began. Deliberately absent: how
 * many milliseconds that saves (`bench/`).
 */
import { createSupervisor, defineTool, type Event } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture } from '../support/fault-adapter.ts';

const loop = defineTool({
  name: 'loop',
  module: fixture('hang.mjs'),
  exportName: 'loopForever',
  input: z.unknown(),
  effects: 'none',
});
const block = defineTool({
  name: 'block',
  module: fixture('hang.mjs'),
  exportName: 'sleepBlocking',
  input: z.unknown(),
  effects: 'none',
});
const echo = defineTool({ name: 'echo', module: fixture('echo.mjs'), input: z.unknown(), effects: 'none' });

describe('a hung tool', () => {
  it('leaves the spare to the next run', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1, defaults: { graceMs: 50, runTimeoutMs: 100 } });
    await supervisor.untilReady();
    expect(supervisor.statistics().isolates).toMatchObject({ idle: 2, booting: 0 });
    const [hung, next] = await Promise.all([supervisor.runTool(loop, {}), supervisor.runTool(echo, 1)]);
    expect(hung.status).toBe('timed-out');
    expect(next.status).toBe('succeeded');
    expect(next.lease?.isolate?.id).not.toBe(hung.lease?.isolate?.id);
    await supervisor.close({ withinMs: 5_000 });
  });

  it('lets the next run start before its own thread is gone', async () => {
    const order: string[] = [];
    const onEvent = (event: Event) => {
      if (event.type === 'lease.granted' || event.type === 'request.ended') order.push(`${event.type} ${event.tool}`);
    };
    const supervisor = createSupervisor({
      isolates: 1,
      standby: 1,
      defaults: { graceMs: 50, runTimeoutMs: 100, killMs: 5_000 },
      observers: [{ onEvent }],
    });
    await supervisor.untilReady();
    await Promise.all([supervisor.runTool(block, { seconds: 1.5 }), supervisor.runTool(echo, 1)]);
    await supervisor.close({ withinMs: 5_000 });
    expect(order).toEqual(['lease.granted block', 'lease.granted echo', 'request.ended echo', 'request.ended block']);
  });

  it('leaves full capacity behind after ten in a row', async () => {
    const supervisor = createSupervisor({ isolates: 2, standby: 1, defaults: { graceMs: 20, runTimeoutMs: 60 } });
    const hung = await Promise.all(Array.from({ length: 10 }, () => supervisor.runTool(loop, {})));
    expect(new Set(hung.map(({ status }) => status))).toEqual(new Set(['timed-out']));
    await supervisor.untilReady();
    const served = await Promise.all([1, 2, 3, 4].map((input) => supervisor.runTool(echo, input)));
    expect(served.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded']);
    const { state, isolates, replacements } = supervisor.statistics();
    expect({ state, abandoned: isolates.abandoned }).toEqual({ state: 'open', abandoned: 0 });
    expect(replacements).toBeGreaterThanOrEqual(10);
    await supervisor.close({ withinMs: 5_000 });
  });
});
