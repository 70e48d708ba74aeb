/** What enters and leaves a tool: asynchronous schemas, secrets, onPrepared, and the stops that come meanwhile. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PreparedRun } from '../src/model/control-shapes.ts';
import { defineTool } from '../src/model/define-tool.ts';
import type { Event } from '../src/model/event.ts';
import type { RunOptions } from '../src/model/option-shapes.ts';
import type { RunResult } from '../src/model/result.ts';
import type { ToolDefinition } from '../src/model/tool.ts';
import { obedientFar } from './support/arbitraries.ts';
import { settle } from './support/fake-clock.ts';
import { closeFake, openFakeHost } from './support/fake-host.ts';

const never = new Promise<never>(() => {});
const pending = z.unknown().refine(() => never);
const slow = z.unknown().refine(async () => {
  await null;
  return true;
});

function tool(over: Partial<ToolDefinition> = {}) {
  return defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects: 'none', ...over });
}

/** Runs on a fake host, does something meanwhile, and walks the clock for `ms`. */
async function ran(
  over: Partial<ToolDefinition>,
  input: unknown,
  { ms = 2_000, meanwhile = () => undefined, ...options }: RunOptions & { ms?: number; meanwhile?: () => void } = {},
) {
  const host = await openFakeHost(obedientFar);
  const ended: RunResult[] = [];
  void host.supervisor.runTool(tool(over), input, options).then((result) => ended.push(result));
  await settle(10);
  meanwhile();
  await settle();
  await host.clock.advance(ms);
  const [result] = ended;
  const runs = host.tenures.all.reduce((sum, tenure) => sum + tenure.runs, 0);
  const { depth } = host.supervisor.statistics().queue;
  const types = host.events.map(({ type }) => type);
  await closeFake(host);
  return { result, runs, depth, types };
}

describe('the input', () => {
  it('reaches the tool as its schema made it', async () => {
    const input = z.string().transform(async (text) => text.trim());
    expect((await ran({ input }, '  value ')).result).toMatchObject({ status: 'succeeded', value: 'done' });
  });

  it.each([
    ['a schema that refuses', z.number()],
    ['a schema that refuses later', z.unknown().refine(async () => false)],
    [
      'a schema that throws',
      z.unknown().refine(() => {
        throw new Error('broke');
      }),
    ],
  ])('refused by %s starts nothing', async (_, input) => {
    const { result, runs, depth, types } = await ran({ input }, 'value');
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'ERR_LEASEHOLD_INVALID_INPUT' }, lease: null });
    expect([runs, depth]).toEqual([0, 0]);
    expect(types).toEqual(['request.started', 'request.ended']);
  });

  it('is refused when validation takes longer than validateMs', async () => {
    const { result, runs } = await ran({ input: pending }, 'value');
    expect(result).toMatchObject({
      status: 'rejected',
      error: { message: expect.stringContaining('validateMs (1000 ms)') },
    });
    expect([runs, result?.timing.totalMs]).toEqual([0, 1_000]);
  });

  it('that was never validated reaches no tool when the operation times out meanwhile', async () => {
    const { result, runs } = await ran({ input: pending }, 'value', { operationTimeoutMs: 50 });
    expect(result).toMatchObject({
      status: 'timed-out',
      cause: { kind: 'operation-timeout', atMs: 50 },
      timing: { totalMs: 50 },
    });
    expect([runs, result?.lease?.path]).toEqual([0, ['queued', 'completed']]);
  });

  it('that was never validated reaches no tool when the caller cancels meanwhile', async () => {
    const controller = new AbortController();
    const { result, runs } = await ran({ input: pending }, 'value', {
      signal: controller.signal,
      meanwhile: () => controller.abort(new Error('left')),
    });
    expect(result).toMatchObject({
      status: 'cancelled',
      cause: { kind: 'cancel', reason: 'left' },
      timing: { totalMs: 0 },
    });
    expect(runs).toBe(0);
  });

  it('starts nothing for a signal that was aborted before', async () => {
    const { result, runs } = await ran({}, 'value', { signal: AbortSignal.abort(new Error('left')) });
    expect(result).toMatchObject({ status: 'cancelled', lease: { isolate: null } });
    expect(runs).toBe(0);
  });
});

describe('the value', () => {
  it('is what its schema made of it', async () => {
    const output = z.string().transform(async (text) => ({ text }));
    expect((await ran({ output }, 'value')).result).toMatchObject({ status: 'succeeded', value: { text: 'done' } });
  });

  it.each([
    ['a schema that refuses', z.number()],
    ['a schema that refuses later', z.unknown().refine(async () => false)],
  ])('refused by %s fails the request, not the isolate', async (_, output) => {
    const { result } = await ran({ output }, 'value');
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT' },
      lease: { end: 'completed', findings: [] },
    });
    expect('value' in (result ?? {})).toBe(false);
  });

  it('fails when its validation takes longer than validateMs', async () => {
    const { result } = await ran({ output: pending }, 'value');
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT', message: expect.stringContaining('validateMs (1000 ms)') },
      timing: { totalMs: 1_000 },
    });
  });

  it.each(['cancel', 'operation-timeout'] as const)('still looked at, ends by a %s', async (kind) => {
    const controller = new AbortController();
    const { result } = await ran({ output: pending }, 'value', {
      signal: controller.signal,
      ...(kind === 'operation-timeout' ? { operationTimeoutMs: 50 } : { meanwhile: () => controller.abort() }),
    });
    expect(result?.cause?.kind).toBe(kind);
    expect(result?.timing.totalMs).toBe(kind === 'cancel' ? 0 : 50);
  });
});

describe('secrets', () => {
  it('that throw reject the request without a word of the input', async () => {
    const secrets = () => {
      throw new RangeError('hunter2');
    };
    const { result, runs } = await ran({ secrets }, 'hunter2');
    expect(result).toMatchObject({
      status: 'rejected',
      error: { message: 'secrets() of the tool threw a RangeError.' },
    });
    expect(JSON.stringify(result)).not.toContain('hunter2');
    expect(runs).toBe(0);
  });

  it('are hidden wherever the request tells something', async () => {
    const controller = new AbortController();
    const { result } = await ran({ secrets: () => ['hunter2'] }, 'hang', {
      signal: controller.signal,
      meanwhile: () => controller.abort(new Error('hunter2 left')),
      ms: 10_000,
    });
    expect(result?.cause?.reason).toBe('[redacted] left');
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('secrets of an input that was never accepted', () => {
  it.each(['cancel', 'operation-timeout'] as const)('are not asked for after a %s', async (kind) => {
    let asked = 0;
    const secrets = () => {
      asked += 1;
      return ['hunter2'];
    };
    const controller = new AbortController();
    const { result } = await ran(
      { input: pending, secrets },
      { token: 'hunter2' },
      {
        signal: controller.signal,
        ...(kind === 'cancel' ? { meanwhile: () => controller.abort() } : { operationTimeoutMs: 50 }),
      },
    );
    expect([result?.cause?.kind, asked]).toEqual([kind, 0]);
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  it.each([
    ['a promise', (async () => ['hunter2']) as never],
    ['a set', (() => new Set(['hunter2'])) as never],
  ])('that come as %s refuse the request before anything is shown', async (_, secrets) => {
    const prepared: unknown[] = [];
    const onPrepared = (...told: unknown[]) => void prepared.push(told);
    const { result, runs } = await ran({ secrets }, 'hunter2', { onPrepared: onPrepared as never });
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'ERR_LEASEHOLD_INVALID_INPUT' } });
    expect([runs, prepared]).toEqual([0, []]);
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('labels', () => {
  it('are withheld until the secrets are known, then told without them', async () => {
    const events: Event[] = [];
    const prepared: PreparedRun[] = [];
    const host = await openFakeHost(obedientFar, { redact: { values: ['always'] } });
    const result = await host.supervisor.runTool(tool({ secrets: () => ['hunter2'] }), 'value', {
      labels: { 'of always': 'hunter2', hunter2: 'always' },
      onPrepared: (_, told) => void prepared.push(told),
      observers: [{ onEvent: (event) => events.push(event) }],
    });
    const hidden = { 'of [redacted]': '[redacted]', '[redacted]': '[redacted]' };
    expect(events[0]).toMatchObject({ type: 'request.started', labels: {} });
    expect([prepared[0]?.labels, result.request.labels]).toEqual([hidden, hidden]);
    await closeFake(host);
  });
});

describe('a signal that throws when it is listened to', () => {
  it('rejects the call as a whole: nothing is queued, told or left in the scope', async () => {
    const host = await openFakeHost(obedientFar);
    const broken = () => {
      throw new Error('no listeners here');
    };
    const signal = { aborted: false, addEventListener: broken, removeEventListener: () => undefined };
    await expect(host.supervisor.runTool(tool(), 'value', { signal: signal as never })).rejects.toThrow('no listeners');
    expect([host.supervisor.statistics().queue.depth, host.events]).toEqual([0, []]);
    expect((await host.supervisor.runTool(tool(), 'value')).status).toBe('succeeded');
    await closeFake(host);
  });
});

describe('onPrepared', () => {
  it('hears once, before the tool starts, what is about to run', async () => {
    const heard: unknown[] = [];
    const { result } = await ran({}, 'value', {
      onPrepared: (ctx, { tool: name }) => void heard.push([ctx.tenant, name]),
    });
    expect([heard, result?.status]).toEqual([[['default', 'fake']], 'succeeded']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new RangeError('not now');
      },
      'not now',
    ],
    ['returns a promise', (async () => undefined) as unknown as () => undefined, /synchronous/],
  ] as const)('that %s ends the request unharmed before the tool starts', async (_, onPrepared, message) => {
    const { result, runs } = await ran({}, 'value', { onPrepared });
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_ON_PREPARED', message: expect.stringMatching(message) },
      lease: { path: ['queued', 'acquired', 'completed'], end: 'completed' },
    });
    expect(runs).toBe(0);
  });

  it('may cancel the request before the tool starts', async () => {
    const controller = new AbortController();
    const { result, runs } = await ran({}, 'value', {
      signal: controller.signal,
      onPrepared: () => {
        controller.abort(new Error('changed my mind'));
        return undefined;
      },
    });
    expect([result?.status, result?.lease?.path, runs]).toEqual(['cancelled', ['queued', 'acquired', 'completed'], 0]);
  });
});

describe('a schema that takes its time', () => {
  it('keeps the place of a request among those that were made before it ended', async () => {
    const { result } = await ran({ input: slow, output: slow }, 'value');
    expect(result).toMatchObject({ status: 'succeeded', timing: { totalMs: 0 } });
  });
});
