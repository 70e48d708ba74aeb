/**
 * Promise: with an authorizer, nothing runs that it has not clearly allowed, whichever way it was started.
 *
 * Invariant: the truth is a file on disk that the tool would write to, and the event log. Deliberately absent: the order of
 * stops and answers (`authorize/request.test.ts`) and hops (`authorize/hops.test.ts`).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSupervisor,
  defineTool,
  type Event,
  isLeaseholdError,
  memoryEventLog,
  type SupervisorOptions,
  unwrap,
} from 'leasehold';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture } from '../support/fault-adapter.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-authorize-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

type Authorize = NonNullable<SupervisorOptions['authorize']>;
type Asked = Parameters<Authorize>[0];

const append = defineTool({
  name: 'append',
  module: fixture('effect.mjs'),
  exportName: 'applyThenAnswer',
  input: z.object({ file: z.string() }),
  effects: 'declared',
});

function opened(name: string, answer: (request: Asked, signal: AbortSignal) => unknown, authorizeMs = 1_000) {
  const file = join(folder, name);
  writeFileSync(file, '');
  const asked: Asked[] = [];
  const events: Event[] = [];
  const eventLog = memoryEventLog();
  const supervisor = createSupervisor({
    isolates: 1,
    standby: 0,
    eventLog,
    defaults: { authorizeMs },
    authorize: (request, { signal }) => {
      asked.push(request);
      return answer(request, signal) as ReturnType<Authorize>;
    },
    observers: [{ onEvent: (event) => events.push(event) }],
  });
  const effects = () => readFileSync(file, 'utf8').length;
  const logged = async () => {
    const kinds: string[] = [];
    for await (const { kind } of eventLog.read()) kinds.push(kind);
    return kinds;
  };
  return { supervisor, input: { file }, asked, events, effects, logged };
}

describe('a tool the authorizer refuses', () => {
  it.each([
    ['by a no', () => ({ allow: false, reason: 'not today' }), 'ERR_LEASEHOLD_DENIED'],
    ['by a no in time', async () => ({ allow: false }), 'ERR_LEASEHOLD_DENIED'],
    ['by a throw', () => JSON.parse('{'), 'ERR_LEASEHOLD_AUTHORIZER_FAILED'],
    ['by a rejection', () => Promise.reject(new Error('no database')), 'ERR_LEASEHOLD_AUTHORIZER_FAILED'],
    ['by a word', () => 'yes', 'ERR_LEASEHOLD_AUTHORIZER_FAILED'],
    ['by silence', () => new Promise(() => undefined), 'ERR_LEASEHOLD_AUTHORIZER_FAILED'],
  ])('%s has no effect, no lease and no entry', async (how, answer, code) => {
    const { supervisor, input, asked, events, effects, logged } = opened(how, answer, 50);
    const scope = supervisor.openScope();
    const child = scope.spawn('index', (inner) => inner.runTool(append, input));
    const results = [
      await supervisor.runTool(append, input),
      await scope.runTool(append, input),
      await scope.fork({ branch: 'b' }).runTool(append, input),
      await child.result,
    ];
    const expected = { status: 'denied', error: { code }, lease: null, intents: [] };
    expect(results).toMatchObject(results.map(() => expected));
    expect([asked.length, effects(), await logged()]).toEqual([4, 0, []]);
    const own = events.filter((event) => 'requestId' in event).map(({ type }) => type);
    expect(own.sort()).toEqual([...results.map(() => 'request.ended'), ...results.map(() => 'request.started')]);
    await supervisor.close();
  });

  it('throws a DeniedError from unwrap, not safe to repeat', async () => {
    const { supervisor, input } = opened('unwrap', () => ({ allow: false, reason: 'not today' }));
    const result = await supervisor.runTool(append, input);
    let thrown: unknown;
    try {
      unwrap(result);
    } catch (error) {
      thrown = error;
    }
    expect(isLeaseholdError(thrown)).toBe(true);
    expect(thrown).toMatchObject({
      name: 'DeniedError',
      retrySafe: false,
      message: 'The authorizer said no: not today',
    });
    await supervisor.close();
  });
});

describe('a tool the authorizer allows', () => {
  it('runs once it said so, however long a person takes', async () => {
    let confirm: (answer: unknown) => void = () => undefined;
    let hear: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => {
      hear = resolve;
    });
    const person = () => {
      hear();
      return new Promise((resolve) => {
        confirm = resolve;
      });
    };
    const { supervisor, input, asked, effects } = opened('person', person, 3_600_000);
    const running = supervisor.runTool(append, input);
    await heard;
    expect([supervisor.statistics().queue.depth, effects()]).toEqual([1, 0]);
    confirm({ allow: true });
    expect(await running).toMatchObject({ status: 'succeeded', value: 'done', intents: [{ state: 'applied' }] });
    expect([asked.length, effects()]).toEqual([1, 1]);
    await supervisor.close();
  });

  it('is what the authorizer saw, down to effects and isolation', async () => {
    const { supervisor, input, asked } = opened('seen', (request) => {
      expect(() => Object.assign(request, { effects: 'none' })).toThrow(TypeError);
      return { allow: true };
    });
    const result = await supervisor.runTool(append, input);
    expect(asked).toMatchObject([{ kind: 'run', tool: 'append', effects: 'declared', isolation: 'thread', input }]);
    expect(result).toMatchObject({ status: 'succeeded', lease: { isolate: { kind: 'thread' } } });
    await supervisor.close();
  });
});
