/**
 * Promise: a scope ends after everything in it has ended, and its report says how.
 *
 * Invariant: the children are parked on what only the cancel releases, and the record is the real event log.
 * Deliberately absent: scopes on a fake clock (`test/scope/`).
 */
import { createSupervisor, defineTool, type LogEvent, memoryEventLog, type RunScope, type Supervisor } from 'leasehold';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilReaches } from '../support/fault-adapter.ts';

const eventLogOf = async (log: ReturnType<typeof memoryEventLog>, run: string): Promise<LogEvent[]> => {
  const entries: LogEvent[] = [];
  for await (const entry of log.read({ run })) entries.push(entry);
  return entries;
};
const parked = (exportName: string) =>
  defineTool({ name: 'park', module: fixture('park.mjs'), exportName, input: z.unknown(), effects: 'declared' });
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

let log: ReturnType<typeof memoryEventLog>;
let supervisor: Supervisor;
beforeEach(() => {
  log = memoryEventLog();
  supervisor = createSupervisor({ isolates: 1, standby: 0, eventLog: log, defaults: { graceMs: 5_000 } });
});
afterEach(async () => {
  await supervisor.close({ withinMs: 5_000 });
});

describe('shutdown of a scope with three parked children', () => {
  it.each([
    ['cancelled without a dispatched intent', 'default', 'cancelled', 0],
    ['indeterminate with one', 'parkedInEffect', 'indeterminate', 1],
  ] as const)('returns once each is recorded, the request %s', async (_, exportName, status, dispatched) => {
    const words = sharedWords();
    const record: string[] = [];
    const scope = supervisor.openScope({ run: 'parked' });
    const request = scope.runTool(parked(exportName), { words });
    for (const name of ['first', 'second', 'third']) {
      scope.spawn(name, async (inner) => {
        Atomics.add(words, 0, 1);
        Atomics.notify(words, 0);
        try {
          await untilAborted(inner.ctx.signal);
          record.push(`${name} completed`);
        } finally {
          // Ends some turns after the cancel, as real clean-up does.
          for (let turn = 0; turn < 20; turn += 1) await null;
          record.push(`${name} aborted`);
        }
      });
    }
    await untilReaches(words, 0, 4);
    expect(record).toEqual([]);
    const report = await scope.shutdown();

    expect([...record].sort()).toEqual(['first aborted', 'second aborted', 'third aborted']);
    const names = report.aborted.map(({ name }) => name);
    for (const name of ['first', 'second', 'third']) expect(names).toContain(name);
    expect(report.completed.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['first']));
    expect({ killed: report.killed, abandoned: report.abandoned }).toEqual({ killed: [], abandoned: [] });
    const result = await request;
    expect(result.status).toBe(status);
    expect(result.cause?.kind).toBe('cancel');
    const entries = await eventLogOf(log, 'parked');
    expect(entries.filter(({ kind }) => kind === 'dispatched')).toHaveLength(dispatched);
    expect(entries.filter(({ kind }) => kind === 'closed').map(({ body }) => body.status)).toEqual([status]);
  });
});

describe('a scope', () => {
  it('takes everything in it along, to any depth', async () => {
    const words = sharedWords();
    const ended: string[] = [];
    const nest = async (scope: RunScope, depth: number): Promise<void> => {
      if (depth > 0) scope.spawn(`depth-${depth}`, (inner) => nest(inner, depth - 1));
      Atomics.add(words, 0, 1);
      Atomics.notify(words, 0);
      await untilAborted(scope.ctx.signal).finally(() => ended.push(`depth ${depth}`));
    };
    const scope = supervisor.openScope();
    scope.spawn('nest', (inner) => nest(inner, 4));
    await untilReaches(words, 0, 5);
    await scope.shutdown();
    expect(ended.sort()).toEqual(['depth 0', 'depth 1', 'depth 2', 'depth 3', 'depth 4']);
  });

  it('refuses to spawn once it was shut down, and rejects a request', async () => {
    const scope = supervisor.openScope();
    await scope.shutdown();
    expect(() => scope.spawn('late', async () => {})).toThrowError(
      expect.objectContaining({ leaseholdCode: 'ERR_LEASEHOLD_SCOPE_CLOSED' }),
    );
  });

  it('waits for its children without cancelling them', async () => {
    const words = sharedWords();
    const scope = supervisor.openScope();
    const child = scope.spawn('child', async () => {
      await untilReaches(words, 0, 1);
      return 'done';
    });
    const ended = scope.untilEnded();
    Atomics.store(words, 0, 1);
    Atomics.notify(words, 0);
    await ended;
    expect(await child.result).toBe('done');
  });

  it('keeps the failure of a child to the child', async () => {
    await using scope = supervisor.openScope();
    const child = scope.spawn('child', async () => {
      throw new Error('its own affair');
    });
    await expect(child.result).rejects.toThrow('its own affair');
    expect(scope.ctx.signal.aborted).toBe(false);
  });

  it('ends with a child that was spawned to fail it', async () => {
    const scope = supervisor.openScope();
    scope.spawn(
      'child',
      async () => {
        throw new Error('everybody out');
      },
      { onFailure: 'fail-scope' },
    );
    await untilAborted(scope.ctx.signal).catch(() => {});
    const report = await scope.shutdown();
    expect(report.completed).toMatchObject([{ name: 'child', error: { message: 'everybody out' } }]);
  });
});
