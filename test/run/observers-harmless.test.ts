/** Observers of supervisor, scope and request together: one beginning, one end, and nothing that any of them can harm. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { Event, Observer } from '../../src/model/event.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { SupervisorOptions } from '../../src/model/options.ts';
import type { RunResult } from '../../src/model/result.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

type Host = Awaited<ReturnType<typeof openFakeHost>>;
const hearing = () => {
  const heard: Event[] = [];
  return { heard, onEvent: (event: Event) => void heard.push(event) };
};
const strict = defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.string(), effects: 'none' });

/** Every way a request can end, as what is done to bring it about. */
const ENDS: Record<string, (host: Host, run: (input: unknown, options?: RunOptions) => void) => unknown> = {
  succeeded: (_, run) => run('value'),
  failed: (_, run) => run('throw'),
  'timed-out': (_, run) => run('hang', { runTimeoutMs: 10 }),
  cancelled: (_, run) => run('obey', { signal: AbortSignal.abort() }),
  rejected: (_, run) => run(7),
  denied: (_, run) => run('denied'),
  interrupted: (host, run) => {
    run('hang');
    void host.supervisor.close({ withinMs: 100 });
  },
};
const denying: Partial<SupervisorOptions> = {
  standby: 0,
  authorize: ({ input }) => (input === 'denied' ? { allow: false } : { allow: true }),
};

describe('observers of all three kinds', () => {
  it.each(Object.keys(ENDS))('hear one beginning and one end of a request that is %s', async (status) => {
    const [own, ofScope, ofRequest] = [hearing(), hearing(), hearing()];
    const host = await openFakeHost(obedientFar, { ...denying, observers: [own] });
    const scope = host.supervisor.openScope({ observers: [ofScope] });
    const results: RunResult[] = [];
    ENDS[status]?.(host, (input, options = {}) => {
      const all = { ...options, observers: [ofRequest] };
      void scope.runTool(strict, input as string, all).then((result) => results.push(result));
    });
    await settle();
    await host.clock.advance(60_000);
    expect(results.map((result) => result.status)).toEqual([status]);
    for (const { heard } of [own, ofScope, ofRequest]) {
      const types = heard.filter((event) => 'requestId' in event).map(({ type }) => type);
      expect([types[0], types.at(-1)]).toEqual(['request.started', 'request.ended']);
      expect(types.filter((type) => type.startsWith('request.'))).toHaveLength(2);
    }
    const ended = ofRequest.heard.find((event) => event.type === 'request.ended');
    expect(ended).toMatchObject({ result: results[0] });
    await closeFake(host);
  });

  it('hear the very same events, each frozen', async () => {
    const [own, ofScope, ofRequest] = [hearing(), hearing(), hearing()];
    const host = await openFakeHost(obedientFar, { observers: [own] });
    const scope = host.supervisor.openScope({ observers: [ofScope] });
    await scope.runTool(fakeTool(), 'value', { observers: [ofRequest] });
    expect(own.heard.length).toBeGreaterThan(0);
    for (const [index, event] of own.heard.entries()) {
      expect(Object.isFrozen(event)).toBe(true);
      expect([ofScope.heard[index], ofRequest.heard[index]].every((other) => other === event)).toBe(true);
    }
    await closeFake(host);
  });

  it('may be one and the same, and then hear each event once per place', async () => {
    const one = hearing();
    const host = await openFakeHost(obedientFar, { observers: [one] });
    await host.supervisor.runTool(fakeTool(), 'value', { observers: [one] });
    expect(one.heard.filter(({ type }) => type === 'request.ended')).toHaveLength(2);
    await closeFake(host);
  });
});

describe('a slow observer', () => {
  it.each(['lease.granted', 'attempt.ended', 'request.ended'] as const)(
    'that blocks past every budget at %s turns no value into a timeout',
    async (at) => {
      const host = await openFakeHost(obedientFar);
      const slow: Observer = { onEvent: ({ type }) => void (type === at && host.clock.jump(5_000)) };
      const options = { operationTimeoutMs: at === 'lease.granted' ? 10_000 : 100, observers: [slow] };
      const result = await host.supervisor.runTool(fakeTool(), 'value', options);
      expect(result).toMatchObject({ status: 'succeeded', also: [] });
      await closeFake(host);
    },
  );

  it('that blocks before the tool has started uses up the budget of its request', async () => {
    const host = await openFakeHost(obedientFar);
    const slow: Observer = { onEvent: ({ type }) => void (type === 'lease.queued' && host.clock.jump(5_000)) };
    const running = host.supervisor.runTool(fakeTool(), 'value', { operationTimeoutMs: 100, observers: [slow] });
    await settle();
    await host.clock.advance(10_000);
    expect(await running).toMatchObject({ status: 'timed-out', cause: { kind: 'operation-timeout' } });
    await closeFake(host);
  });

  it('that returns a promise is not waited for', async () => {
    const host = await openFakeHost(obedientFar);
    const never = { onEvent: () => new Promise(() => {}) } as unknown as Observer;
    const result = await host.supervisor.runTool(fakeTool(), 'value', { observers: [never] });
    expect(result.status).toBe('succeeded');
    await closeFake(host);
  });
});

describe('an observer that interferes', () => {
  it.each(['request.started', 'lease.queued', 'lease.granted', 'attempt.ended', 'request.ended'] as const)(
    'by cancel, close and another request at %s leaves one end to each',
    async (at) => {
      const controller = new AbortController();
      const own = hearing();
      const results: Promise<RunResult>[] = [];
      const host = await openFakeHost(obedientFar, { observers: [own] });
      const interfering: Observer = {
        onEvent: ({ type }) => {
          if (type !== at) return;
          results.push(host.supervisor.runTool(fakeTool(), 'value'));
          controller.abort();
          void host.supervisor.close({ withinMs: 1_000 });
          throw new Error('and then broke');
        },
      };
      const options = { signal: controller.signal, observers: [interfering] };
      results.push(host.supervisor.runTool(fakeTool(), 'value', options));
      await settle();
      await host.clock.advance(60_000);
      const ids = (await Promise.all(results)).map(({ request }) => request.id).sort();
      const told = (type: Event['type']) =>
        own.heard.flatMap((event) => (event.type === type && 'requestId' in event ? [event.requestId] : [])).sort();
      expect(ids).toHaveLength(2);
      expect([told('request.started'), told('request.ended')]).toEqual([ids, ids]);
      await closeFake(host);
    },
  );
});
