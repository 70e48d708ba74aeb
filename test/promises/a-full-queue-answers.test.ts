/**
 * Promise: a full queue answers at once, and tells when there is room again.
 *
 * Invariant: the isolate is held by a run that ends only when the test says so. Deliberately absent: the arithmetic of
 * admission (`test/decide/`).
 */
import { createSupervisor, defineTool } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, tell, untilChanged } from '../support/fault-adapter.ts';

const meet = defineTool({
  name: 'meet',
  module: fixture('echo.mjs'),
  exportName: 'meet',
  input: z.unknown(),
  effects: 'none',
});
const echo = defineTool({ name: 'echo', module: fixture('echo.mjs'), input: z.unknown(), effects: 'none' });

describe('a full queue', () => {
  it('answers rejected with a code, and takes requests again when it has room', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, queue: { capacity: 2 } });
    const words = sharedWords();
    const holder = supervisor.runTool(meet, { words });
    await untilChanged(words, 0);
    const queued = [supervisor.runTool(echo, 1), supervisor.runTool(echo, 2)];
    const refused = await supervisor.runTool(echo, 3);
    expect(refused).toMatchObject({
      status: 'rejected',
      ok: false,
      lease: null,
      error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' },
    });
    expect(supervisor.statistics().queue.depth).toBe(2);
    let room = false;
    const capacity = supervisor.untilCapacity().then(() => {
      room = true;
    });
    await Promise.resolve();
    expect(room).toBe(false);
    tell(words, 1);
    await capacity;
    expect((await supervisor.runTool(echo, 4)).status).toBe('succeeded');
    expect((await Promise.all([holder, ...queued])).map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
      'succeeded',
    ]);
    await supervisor.close({ withinMs: 5_000 });
  });

  it('of no capacity takes a request only when an isolate is free', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, queue: { capacity: 0 } });
    await supervisor.untilReady();
    const words = sharedWords();
    const holder = supervisor.runTool(meet, { words });
    await untilChanged(words, 0);
    expect((await supervisor.runTool(echo, 1)).status).toBe('rejected');
    tell(words, 1);
    await holder;
    expect((await supervisor.runTool(echo, 2)).status).toBe('succeeded');
    await supervisor.close({ withinMs: 5_000 });
  });

  it('serves what waits in the order of arrival', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1 });
    const words = sharedWords();
    const served: number[] = [];
    const holder = supervisor.runTool(meet, { words });
    await untilChanged(words, 0);
    const waiting = Array.from({ length: 50 }, (_, input) =>
      supervisor.runTool(echo, input).then(() => served.push(input)),
    );
    tell(words, 1);
    await Promise.all([holder, ...waiting]);
    await supervisor.close({ withinMs: 5_000 });
    expect(served).toEqual(Array.from({ length: 50 }, (_, input) => input));
  });

  it('lets a request go when its time in the queue is over', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    const words = sharedWords();
    const holder = supervisor.runTool(meet, { words });
    await untilChanged(words, 0);
    const late = await supervisor.runTool(echo, 1, { queueTimeoutMs: 20 });
    expect(late).toMatchObject({
      status: 'timed-out',
      error: { code: 'ERR_LEASEHOLD_QUEUE_TIMEOUT' },
      lease: { isolate: null, path: ['queued', 'completed'] },
    });
    tell(words, 1);
    await holder;
    await supervisor.close({ withinMs: 5_000 });
  });
});
