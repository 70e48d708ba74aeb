/**
 * Promise: an isolate that a tool has spoiled, as far as probes can see, is never given to the next run.
 *
 * Invariant: the isolate is known by its id and by its module state, which a fresh one starts anew. Deliberately absent:
 * what probes cannot see, which `share` bounds.
 */
import { createSupervisor, defineTool, type Event } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords } from '../support/fault-adapter.ts';

const tool = (file: string, exportName = 'default', name = 'spoil') =>
  defineTool({ name, module: fixture(file), exportName, input: z.unknown(), effects: 'none' });
const counted = z.object({ seen: z.number(), threadId: z.number() });

describe('an isolate', () => {
  it('keeps its module state while its tools are clean', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1 });
    const seen = [];
    for (let run = 0; run < 4; run += 1) {
      seen.push(counted.parse((await supervisor.runTool(tool('count.mjs'), null)).value).seen);
    }
    await supervisor.close({ withinMs: 5_000 });
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it('is gone with its module state once a tool left a timer', async () => {
    const events: Event[] = [];
    const supervisor = createSupervisor({
      isolates: 1,
      standby: 1,
      observers: [{ onEvent: (event) => events.push(event) }],
    });
    const spoiled = await supervisor.runTool(tool('count.mjs', 'countAndLeak'), null);
    const next = await supervisor.runTool(tool('count.mjs'), null);
    await supervisor.close({ withinMs: 5_000 });
    expect(spoiled).toMatchObject({ status: 'succeeded', lease: { end: 'quarantined' } });
    expect(counted.parse(next.value).seen).toBe(1);
    expect(counted.parse(next.value).threadId).not.toBe(counted.parse(spoiled.value).threadId);
    const quarantined = events.filter((event) => event.type === 'lease.quarantined');
    expect(quarantined.map((event) => event.isolate)).toEqual([spoiled.lease?.isolate?.id]);
  });

  it('of a spoiling run serves no later run, over many runs of many kinds', async () => {
    const supervisor = createSupervisor({ isolates: 2, standby: 1, defaults: { graceMs: 50, runTimeoutMs: 150 } });
    const words = sharedWords();
    const kinds = [
      tool('leak.mjs', 'leaveInterval'),
      tool('leak.mjs', 'leaveGlobal'),
      tool('leak.mjs', 'pollutePrototype'),
      tool('echo.mjs'),
      tool('throw.mjs', 'throwError'),
      tool('exit.mjs', 'exitZero'),
      tool('echo.mjs'),
      tool('hang.mjs', 'obey'),
    ];
    const condemned = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      for (const kind of kinds) {
        const result = await supervisor.runTool(kind, { words });
        const isolate = result.lease?.isolate?.id ?? '';
        expect(condemned.has(isolate)).toBe(false);
        if (result.lease?.end === 'quarantined') condemned.add(isolate);
        const path = result.lease?.path ?? [];
        expect(path.at(-1)).toBe(result.lease?.end);
      }
    }
    await supervisor.close({ withinMs: 5_000 });
    expect(condemned.size).toBe(12);
  });

  it('serves one tenant only', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1 });
    const owners = new Map<string, string>();
    for (const tenant of ['a', 'b', 'a', 'b']) {
      await using scope = supervisor.openScope({ tenant });
      const isolate = (await scope.runTool(tool('count.mjs'), null)).lease?.isolate?.id ?? '';
      expect(owners.get(isolate) ?? tenant).toBe(tenant);
      owners.set(isolate, tenant);
    }
    await supervisor.close({ withinMs: 5_000 });
  });

  it.each([
    ['tool', 2],
    ['none', 4],
    ['any', 1],
  ] as const)('under share %s meets no more than it may', async (share, isolates) => {
    const supervisor = createSupervisor({ isolates: 2, standby: 1, share });
    const used = new Set<string | undefined>();
    for (const name of ['one', 'two', 'one', 'two']) {
      used.add((await supervisor.runTool(tool('count.mjs', 'default', name), null)).lease?.isolate?.id);
    }
    await supervisor.close({ withinMs: 5_000 });
    expect(used.size).toBe(isolates);
  });

  it('is replaced after as many leases as recycle allows', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 1, recycle: { maxLeases: 2 } });
    const seen = [];
    for (let run = 0; run < 4; run += 1) {
      seen.push(counted.parse((await supervisor.runTool(tool('count.mjs'), null)).value).seen);
    }
    await supervisor.close({ withinMs: 5_000 });
    expect(seen).toEqual([1, 2, 1, 2]);
  });
});
