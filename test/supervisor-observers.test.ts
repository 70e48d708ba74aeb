/** Observers of a supervisor: order, re-entrancy, and what a throwing one costs: nothing but its own hearing. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../src/model/define-tool.ts';
import type { Event, Observer } from '../src/model/event.ts';
import type { RunResult } from '../src/model/result.ts';
import { obedientFar } from './support/arbitraries.ts';
import { settle } from './support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from './support/fake-host.ts';

const throwsAt = (type: Event['type']): Observer & { heard: string[] } => {
  const heard: string[] = [];
  return {
    heard,
    onEvent: (event) => {
      heard.push(event.type);
      if (event.type === type) throw new Error(`broke at ${type}`);
    },
  };
};
const typesOf = (events: readonly Event[]) => events.map(({ type }) => type);
const WHOLE = ['request.started', 'lease.queued', 'lease.granted', 'attempt.ended', 'request.ended'];

describe('observers', () => {
  it('hear a request whole and in order, numbered without a gap', async () => {
    const host = await openFakeHost(obedientFar);
    await host.supervisor.runTool(fakeTool(), 'value');
    expect(typesOf(host.events)).toEqual(WHOLE);
    expect(host.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    await closeFake(host);
  });

  it.each([
    ['a stop', 'hang', { runTimeoutMs: 10 }, ['stop.recorded', 'lease.quarantined']],
    ['a dirty isolate', 'value-dirty', {}, ['lease.quarantined']],
  ] as const)('hear of %s', async (_, behaviour, options, between) => {
    const host = await openFakeHost(obedientFar);
    const running = host.supervisor.runTool(fakeTool(), behaviour, options);
    await settle();
    await host.clock.advance(10_000);
    await running;
    const own = host.events.filter((event) => 'requestId' in event);
    expect(typesOf(own)).toEqual([...WHOLE.slice(0, 3), ...between, ...WHOLE.slice(3)]);
    await closeFake(host);
  });

  it('of supervisor, scope and request hear in that order, each only its own', async () => {
    const heard: string[] = [];
    const named = (name: string): Observer => ({
      onEvent: ({ type }) => void (type === 'request.started' && heard.push(name)),
    });
    const host = await openFakeHost(obedientFar, { observers: [named('supervisor')] });
    const scope = host.supervisor.openScope({ observers: [named('scope')] });
    await scope.fork({ observers: [named('fork')] }).runTool(fakeTool(), 'value', { observers: [named('request')] });
    await host.supervisor.runTool(fakeTool(), 'value');
    expect(heard).toEqual(['supervisor', 'scope', 'fork', 'request', 'supervisor']);
    await closeFake(host);
  });

  it('hear of a request started from within an event after that event', async () => {
    const inner: Promise<RunResult>[] = [];
    const host = await openFakeHost(obedientFar);
    const outer = await host.supervisor.runTool(fakeTool(), 'value', {
      observers: [
        {
          onEvent: ({ type }) => {
            if (type === 'request.ended') inner.push(host.supervisor.runTool(fakeTool(), 'value'));
          },
        },
      ],
    });
    const [result] = await Promise.all(inner);
    expect(result?.status).toBe('succeeded');
    const byRequest = host.events.map((event) =>
      'requestId' in event && event.requestId === outer.request.id ? 'outer' : 'inner',
    );
    expect(byRequest.lastIndexOf('outer')).toBeLessThan(byRequest.indexOf('inner'));
    await closeFake(host);
  });

  it.each(['request.started', 'lease.granted', 'attempt.ended', 'request.ended'] as const)(
    'that throw at %s hear no more, and hold nobody',
    async (type) => {
      const host = await openFakeHost(obedientFar);
      const broken = throwsAt(type);
      const result = await host.supervisor.runTool(fakeTool(), 'value', { observers: [broken] });
      expect(result.status).toBe('succeeded');
      expect(broken.heard).toEqual(WHOLE.slice(0, WHOLE.indexOf(type) + 1));
      expect(typesOf(host.events)).toEqual(WHOLE);
      await closeFake(host);
    },
  );

  it('that throw are told of by a diagnostic of the request', async () => {
    const host = await openFakeHost(obedientFar);
    const { diagnostics } = await host.supervisor.runTool(fakeTool(), 'value', {
      observers: [throwsAt('lease.granted')],
    });
    expect(diagnostics).toMatchObject([
      { code: 'OBSERVER_THREW', message: 'An observer threw and hears no more: broke at lease.granted' },
    ]);
    await closeFake(host);
  });

  it.each(['attempt.ended', 'request.ended'] as const)(
    'that throw at %s are told of once, by the next result',
    async (at) => {
      const host = await openFakeHost(obedientFar);
      const observers = [throwsAt(at)];
      const results = [];
      for (const options of [{ observers }, { observers }, {}])
        results.push(await host.supervisor.runTool(fakeTool(), 'value', options));
      expect(results.map(({ diagnostics }) => diagnostics.map(({ message }) => message))).toEqual([
        [],
        [`An observer threw and hears no more: broke at ${at}`],
        [],
      ]);
      await closeFake(host);
    },
  );

  it('that throw at an event of the supervisor are told of by the next result', async () => {
    const host = await openFakeHost(obedientFar, { observers: [throwsAt('isolate.replaced')] });
    const results = [];
    for (const behaviour of ['value-dirty', 'value', 'value']) {
      const running = host.supervisor.runTool(fakeTool(), behaviour);
      await settle();
      await host.clock.advance(10_000);
      results.push(await running);
    }
    const told = results.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message));
    expect(told).toEqual(['An observer threw and hears no more: broke at isolate.replaced']);
    await closeFake(host);
  });

  it('that throw late are told of without the secrets of their request', async () => {
    const host = await openFakeHost(obedientFar);
    const secret = defineTool({
      name: 'fake',
      module: 'file:///fake/tool.mjs',
      input: z.unknown(),
      effects: 'none',
      secrets: () => ['request.ended'],
    });
    await host.supervisor.runTool(secret, 'value', { observers: [throwsAt('request.ended')] });
    const rejected = host.supervisor.runTool(fakeTool(), 'value', { signal: AbortSignal.abort() });
    expect((await rejected).diagnostics).toMatchObject([{ message: expect.stringMatching(/broke at \[redacted\]$/) }]);
    await closeFake(host);
  });

  it('that throw one early and one at the end leave the request its result', async () => {
    const host = await openFakeHost(obedientFar);
    const observers = [throwsAt('lease.granted'), throwsAt('attempt.ended'), throwsAt('request.ended')];
    const ended: RunResult[] = [];
    void host.supervisor.runTool(fakeTool(), 'value', { observers }).then((result) => ended.push(result));
    await settle();
    expect(ended).toMatchObject([{ status: 'succeeded' }]);
    expect(host.supervisor.statistics().requests.succeeded).toBe(1);
    await closeFake(host);
  });

  it('may cancel the request they hear of', async () => {
    const host = await openFakeHost(obedientFar);
    const controller = new AbortController();
    const result = await host.supervisor.runTool(fakeTool(), 'value', {
      signal: controller.signal,
      observers: [{ onEvent: ({ type }) => void (type === 'lease.queued' && controller.abort()) }],
    });
    expect(result).toMatchObject({ status: 'cancelled', lease: { path: ['queued', 'completed'] } });
    await closeFake(host);
  });

  it('may close the supervisor they hear of', async () => {
    const host = await openFakeHost(obedientFar);
    const running = host.supervisor.runTool(fakeTool(), 'hang', {
      observers: [
        { onEvent: ({ type }) => void (type === 'lease.granted' && void host.supervisor.close({ withinMs: 100 })) },
      ],
    });
    await host.clock.advance(1_000);
    expect((await running).status).toBe('interrupted');
    await closeFake(host);
  });
});
