/**
 * Promise: a result never claims more than is known. Cancelled means that no effect was let go; an effect that was, and
 * whose fate nobody saw, is indeterminate.
 *
 * Invariant: the truth is a file on disk and the event log; the result is compared with both. Deliberately absent:
 * recovery after a crash of the host.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSupervisor, defineTool, type LogEvent, memoryEventLog, type RunResult } from 'leasehold';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-effect-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Told {
  result: RunResult<unknown>;
  effects: number;
  log: LogEvent[];
}

async function perform(exportName: string, effects: 'declared' | 'opaque', stop: boolean): Promise<Told> {
  const eventLog = memoryEventLog();
  const supervisor = createSupervisor({ isolates: 1, standby: 1, eventLog, defaults: { graceMs: 150, killMs: 3_000 } });
  const tool = defineTool({ name: 'effect', module: fixture('effect.mjs'), exportName, input: z.unknown(), effects });
  const file = join(folder, exportName + effects);
  writeFileSync(file, '');
  const words = sharedWords();
  const controller = new AbortController();
  const running = supervisor.runTool(tool, { file, words }, { signal: controller.signal });
  if (stop) {
    await untilChanged(words, 0);
    controller.abort(new Error('enough'));
  }
  const result = await running;
  await supervisor.close({ withinMs: 5_000 });
  const log: LogEvent[] = [];
  for await (const entry of eventLog.read()) log.push(entry);
  return { result, effects: readFileSync(file, 'utf8').length, log };
}
const states = ({ result }: Told) => result.intents.map(({ state }) => state);
const logged = ({ log }: Told) =>
  log.filter(({ intent, kind }) => intent === 'append' && kind !== 'progressed').map(({ kind }) => kind);

describe('a declared effect', () => {
  it.each([
    ['applyThenAnswer', false, 'succeeded', ['applied'], 1],
    ['applyThenHang', true, 'cancelled', ['applied'], 1],
    ['hangInEffect', true, 'indeterminate', ['dispatched'], 1],
    ['hangBeforeEffect', true, 'cancelled', [], 0],
    ['abortInEffect', true, 'indeterminate', ['dispatched'], 0],
    ['throwInEffect', false, 'failed', ['failed'], 0],
    ['failCertainly', false, 'failed', ['not-applied'], 0],
    ['exitInEffect', false, 'indeterminate', ['dispatched'], 0],
  ] as const)('of %s (stopped: %s) ends %s with intents %j', async (exportName, stop, status, intents, effects) => {
    const told = await perform(exportName, 'declared', stop);
    expect(told.result.status).toBe(status);
    expect(states(told)).toEqual(intents);
    expect(told.effects).toBe(effects);
    const settled = intents.filter((state) => state !== 'dispatched').map(() => 'settled');
    expect(logged(told)).toEqual([...intents.map(() => 'dispatched'), ...settled]);
    const closed = told.log.filter(({ kind }) => kind === 'closed');
    expect(closed.map(({ body }) => body.status)).toEqual([status]);
  });

  it('is refused once a stop was recorded', async () => {
    const told = await perform('performAfterStop', 'declared', true);
    expect(told.effects).toBe(0);
    expect(states(told)).toEqual([]);
    expect(['cancelled', 'failed']).toContain(told.result.status);
  });

  it('tells the stop as the cause of what is indeterminate', async () => {
    const { result } = await perform('hangInEffect', 'declared', true);
    expect(result.cause?.kind).toBe('cancel');
    expect(result.error).toMatchObject({
      code: 'ERR_LEASEHOLD_INDETERMINATE',
      cause: { code: 'ERR_LEASEHOLD_CANCELLED' },
    });
  });
});

describe('an opaque tool', () => {
  it('is indeterminate when it is stopped and does not answer', async () => {
    const told = await perform('hangBeforeEffect', 'opaque', true);
    expect(told.result.status).toBe('indeterminate');
    expect(states(told)).toEqual(['dispatched']);
  });

  it('is cancelled when it is stopped in the queue', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    const words = sharedWords();
    const echo = defineTool({
      name: 'meet',
      module: fixture('echo.mjs'),
      exportName: 'meet',
      input: z.unknown(),
      effects: 'none',
    });
    const opaque = defineTool({ name: 'opaque', module: fixture('echo.mjs'), input: z.unknown(), effects: 'opaque' });
    const holder = supervisor.runTool(echo, { words });
    await untilChanged(words, 0);
    const controller = new AbortController();
    const queued = supervisor.runTool(opaque, 1, { signal: controller.signal });
    controller.abort();
    const result = await queued;
    Atomics.store(words, 1, 1);
    Atomics.notify(words, 1);
    await holder;
    await supervisor.close({ withinMs: 5_000 });
    expect(result).toMatchObject({ status: 'cancelled', intents: [], lease: { isolate: null } });
  });
});

describe('a run that was cancelled before it began', () => {
  it('never begins, though the one after it was cancelled as well', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { startMs: 10_000 } });
    const tool = (exportName: string) =>
      defineTool({ name: 'tool', module: fixture('answer.mjs'), exportName, input: z.unknown(), effects: 'none' });
    const words = sharedWords();
    for (const hold of [false, false, false, true]) await supervisor.runTool(tool('answerThenBlock'), { words, hold });
    // The isolate is busy and reads nothing: both are taken back from it.
    const taken = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const controller = new AbortController();
      const running = supervisor.runTool(tool('mark'), { words }, { signal: controller.signal });
      controller.abort();
      taken.push(await running);
    }
    Atomics.store(words, 1, 1);
    Atomics.notify(words, 1);
    const next = await supervisor.runTool(tool('answerThenBlock'), { words, hold: false });
    await supervisor.close({ withinMs: 5_000 });
    for (const { status, lease } of taken) {
      expect({ status, path: lease?.path }).toEqual({ status: 'cancelled', path: ['queued', 'acquired', 'completed'] });
    }
    expect(next.status).toBe('succeeded');
    expect(Atomics.load(words, 0)).toBe(0);
  });
});
