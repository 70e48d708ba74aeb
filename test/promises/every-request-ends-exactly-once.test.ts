/**
 * Promise: every request ends exactly once, with a result.
 *
 * Invariant: counted from outside, by the events of an observer and by the resolved promises, over a mix of every way to
 * end on real threads. Deliberately absent: which status each has (`faults/`).
 */
import { createSupervisor, defineTool, type Event, isRunResult, runResultSchema } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture } from '../support/fault-adapter.ts';

const tool = (file: string, exportName: string) =>
  defineTool({ name: 'mixed', module: fixture(file), exportName, input: z.unknown(), effects: 'none' });

describe('every request', () => {
  it('has one start, one end and one result, whatever happens to it', async () => {
    const events: Event[] = [];
    const supervisor = createSupervisor({
      isolates: 2,
      standby: 1,
      queue: { capacity: 12 },
      defaults: { graceMs: 50, runTimeoutMs: 150, killMs: 3_000 },
      observers: [{ onEvent: (event) => events.push(event) }],
    });
    await supervisor.untilReady();
    const early = new AbortController();
    early.abort();
    const later = new AbortController();
    const runs = [
      supervisor.runTool(tool('echo.mjs', 'default'), 1),
      supervisor.runTool(tool('throw.mjs', 'throwNull'), 1),
      supervisor.runTool(tool('exit.mjs', 'exitThree'), 1),
      supervisor.runTool(tool('exit.mjs', 'throwLater'), 1),
      supervisor.runTool(tool('hang.mjs', 'loopForever'), {}),
      supervisor.runTool(tool('hang.mjs', 'obey'), {}),
      supervisor.runTool(tool('answer.mjs', 'answerFunction'), 1),
      supervisor.runTool(tool('leak.mjs', 'leaveServer'), 1),
      supervisor.runTool(tool('load/nowhere.mjs', 'default'), 1),
      supervisor.runTool(tool('echo.mjs', 'default'), 1, { signal: early.signal }),
      supervisor.runTool(tool('hang.mjs', 'neverSettle'), {}, { signal: later.signal }),
      supervisor.runTool(tool('echo.mjs', 'default'), () => {}),
      ...Array.from({ length: 12 }, (_, input) => supervisor.runTool(tool('echo.mjs', 'default'), input)),
    ];
    later.abort();
    const results = await Promise.all(runs);
    await supervisor.close({ withinMs: 10_000 });
    results.push(await supervisor.runTool(tool('echo.mjs', 'default'), 'too late'));

    const count = (type: string) =>
      new Map(
        results.map(({ request }) => [
          request.id,
          events.filter((event) => event.type === type && 'requestId' in event && event.requestId === request.id)
            .length,
        ]),
      );
    expect(new Set(results.map(({ request }) => request.id)).size).toBe(results.length);
    for (const type of ['request.started', 'request.ended'])
      expect(new Set(count(type).values())).toEqual(new Set([1]));
    const ended = events.flatMap((event) => (event.type === 'request.ended' ? [event.result] : []));
    expect(new Set(ended)).toEqual(new Set(results));
    for (const result of results) {
      expect(isRunResult(result)).toBe(true);
      expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
      expect(Object.isFrozen(result)).toBe(true);
    }
    const seen = new Set(results.map(({ status }) => status));
    expect([...seen].sort()).toEqual(['cancelled', 'failed', 'rejected', 'succeeded', 'timed-out']);
  });
});
