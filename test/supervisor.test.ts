/** Supervisor: admission, capacity, readiness and statistics, on a fake clock and fake threads. */
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../src/model/result.ts';
import { openSupervisor } from '../src/supervisor.ts';
import { obedientFar } from './support/arbitraries.ts';
import { FakeClock, settle } from './support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from './support/fake-host.ts';
import { FakeTenures, type Far } from './support/fake-tenure.ts';

const code = (suffix: string) => expect.objectContaining({ leaseholdCode: `ERR_LEASEHOLD_${suffix}` });
type Host = Awaited<ReturnType<typeof openFakeHost>>;

/** Hanging runs, and those of them that have ended. */
function hang({ supervisor }: Host, count: number): RunResult[] {
  const ended: RunResult[] = [];
  for (let run = 0; run < count; run += 1)
    void supervisor.runTool(fakeTool(), 'hang').then((result) => ended.push(result));
  return ended;
}
/** A supervisor that has not booted yet. */
function opening(far: Far = {}, options = {}) {
  const clock = new FakeClock();
  const tenures = new FakeTenures(far);
  return { clock, tenures, supervisor: openSupervisor({ isolates: 1, standby: 0, clock, ...options }, { tenures }) };
}

describe('statistics', () => {
  it('count everything from nothing, frozen', async () => {
    const host = await openFakeHost();
    const statistics = host.supervisor.statistics();
    expect(statistics).toEqual({
      state: 'open',
      isolates: { booting: 0, idle: 2, leased: 0, resetting: 0, quarantined: 0, abandoned: 0 },
      queue: { depth: 0, oldestMs: 0 },
      requests: {
        rejected: 0,
        denied: 0,
        succeeded: 0,
        indeterminate: 0,
        failed: 0,
        cancelled: 0,
        'timed-out': 0,
        interrupted: 0,
      },
      replacements: 0,
      protocolViolations: 0,
      worstCaseStopMs: 7_000,
    });
    expect([statistics, ...Object.values(statistics)].every(Object.isFrozen)).toBe(true);
    await closeFake(host);
  });

  it('follow requests, the queue, and what was replaced', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 1 } });
    await host.supervisor.runTool(fakeTool(), 'value');
    await host.supervisor.runTool(fakeTool(), 'throw');
    await host.supervisor.runTool(fakeTool(), 'forge');
    await host.clock.advance(30);
    hang(host, 3);
    host.clock.jump(25);
    const { queue, requests, isolates, replacements, protocolViolations } = host.supervisor.statistics();
    expect(queue).toEqual({ depth: 1, oldestMs: 25 });
    expect(requests).toMatchObject({ succeeded: 2, failed: 1, rejected: 1 });
    expect([isolates.leased, replacements, protocolViolations]).toEqual([1, 1, 1]);
    await closeFake(host);
  });

  it('tell the worst bound of any request so far', async () => {
    const host = await openFakeHost(obedientFar);
    const result = await host.supervisor.runTool(fakeTool(), 'value', { graceMs: 60_000 });
    expect(result.timing.boundMs).toBe(65_000);
    expect(host.supervisor.statistics().worstCaseStopMs).toBe(65_000);
    await closeFake(host);
  });
});

describe('untilReady', () => {
  it('resolves once isolates and standby are up, and at once later on', async () => {
    const { supervisor } = opening({}, { standby: 1 });
    expect(supervisor.statistics().isolates.booting).toBe(2);
    await supervisor.untilReady();
    expect(supervisor.statistics().isolates.idle).toBe(2);
    await supervisor.untilReady();
    await supervisor.close();
  });

  it('rejects when isolates die at boot beyond the limit', async () => {
    const { clock, supervisor } = opening(
      { boot: () => 'fails' },
      { restart: { maxReplacements: 1, withinMs: 60_000 } },
    );
    const ready = expect(supervisor.untilReady()).rejects.toEqual(code('DEGRADED'));
    await clock.advance(1_000);
    await ready;
    await expect(supervisor.untilReady()).rejects.toEqual(code('DEGRADED'));
    await supervisor.close();
  });

  it('rejects when the supervisor closes first, and afterwards', async () => {
    const { clock, supervisor } = opening({ boot: () => 'never' });
    const ready = expect(supervisor.untilReady()).rejects.toEqual(code('CLOSED'));
    const closing = supervisor.close();
    await ready;
    await clock.advance(10_000);
    await closing;
    await expect(supervisor.untilReady()).rejects.toEqual(code('CLOSED'));
  });
});

describe('untilCapacity', () => {
  it('waits while the queue is full, and resolves when a request leaves it', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 1 } });
    await host.supervisor.untilCapacity();
    hang(host, 1);
    const controller = new AbortController();
    void host.supervisor.runTool(fakeTool(), 'hang', { signal: controller.signal });
    let room = false;
    void host.supervisor.untilCapacity().then(() => (room = true));
    await settle();
    expect(room).toBe(false);
    controller.abort();
    await settle();
    expect(room).toBe(true);
    await closeFake(host);
  });

  it('with a capacity of 0, waits for an isolate, and what is then asked is admitted', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 0 }, standby: 0 });
    hang(host, 1);
    await settle();
    const ended: RunResult[] = [];
    void host.supervisor
      .untilCapacity()
      .then(() => host.supervisor.runTool(fakeTool(), 'value'))
      .then((result) => ended.push(result));
    await settle();
    expect(ended).toEqual([]);
    host.tenures.working[0]?.value('first');
    await settle();
    expect(ended).toMatchObject([{ status: 'succeeded', value: 'done' }]);
    await closeFake(host);
  });

  it('resolves when the supervisor closes, since there will be no room', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 1 } });
    hang(host, 2);
    const waiting = host.supervisor.untilCapacity();
    await closeFake(host);
    await waiting;
    await host.supervisor.untilCapacity();
  });
});

describe('admission', () => {
  it('refuses what is beyond the capacity of the queue, at once', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 2 } });
    const ended = hang(host, 4);
    await settle();
    expect(ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' }, lease: null }]);
    await closeFake(host);
  });

  it('with a capacity of 0, accepts only while an isolate is free', async () => {
    const host = await openFakeHost(obedientFar, { queue: { capacity: 0 }, isolates: 2 });
    expect(hang(host, 2)).toEqual([]);
    expect(await host.supervisor.runTool(fakeTool(), 'value')).toMatchObject({
      error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' },
    });
    await closeFake(host);
  });

  it('lets requests wait while isolates boot', async () => {
    const { supervisor } = opening(obedientFar);
    expect((await supervisor.runTool(fakeTool(), 'value')).status).toBe('succeeded');
    await supervisor.close();
  });

  it('refuses while degraded, and again admits once healed', async () => {
    const boot = (ordinal: number) => (ordinal < 3 ? 'fails' : 'ready') as 'fails' | 'ready';
    const restart = { maxReplacements: 1, withinMs: 60_000 };
    const { clock, supervisor } = opening({ ...obedientFar, boot }, { restart });
    await settle();
    expect(supervisor.statistics().state).toBe('degraded');
    expect(await supervisor.runTool(fakeTool(), 'value')).toMatchObject({
      status: 'rejected',
      error: { code: 'ERR_LEASEHOLD_DEGRADED' },
    });
    await clock.advance(61_000);
    expect(supervisor.statistics().state).toBe('open');
    expect((await supervisor.runTool(fakeTool(), 'value')).status).toBe('succeeded');
    await supervisor.close();
  });

  it('degrades by abandoned isolates beyond maxAbandoned, and tells so once', async () => {
    const host = await openFakeHost({ dies: () => false }, { maxAbandoned: 0, defaults: { graceMs: 10, killMs: 10 } });
    const run = host.supervisor.runTool(fakeTool(), 'hang', { runTimeoutMs: 10 });
    await host.clock.advance(100);
    expect((await run).lease?.findings).toMatchObject([{ kind: 'abandoned' }]);
    expect(host.supervisor.statistics()).toMatchObject({ state: 'degraded', isolates: { abandoned: 1 } });
    const told = host.events.map(({ type }) => type).filter((type) => /^(isolate|supervisor)\./.test(type));
    expect(told).toEqual(['isolate.abandoned', 'supervisor.degraded']);
    for (const tenure of host.tenures.alive) tenure.die({ code: 1, error: null });
    await settle();
    expect(host.events.map(({ type }) => type)).toContain('supervisor.healed');
    await closeFake(host);
  });
});

describe('misuse', () => {
  it.each([
    ['operationTimeoutMs', { operationTimeoutMs: Number.NaN }],
    ['runTimeoutMs', { runTimeoutMs: -1 }],
    ['signal', { signal: {} }],
    ['labels', { labels: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${n}`, 'x'])) }],
    ['onPrepared', { onPrepared: 'call me' }],
    ['speed', { speed: 'fast' }],
  ])('of %s rejects by its name, and makes no request', async (name, options) => {
    const host = await openFakeHost(obedientFar);
    await expect(host.supervisor.runTool(fakeTool(), 'value', options as never)).rejects.toMatchObject({
      leaseholdCode: 'ERR_LEASEHOLD_INVALID_OPTION',
      message: expect.stringContaining(`"${name}`),
    });
    expect(host.events).toEqual([]);
    await closeFake(host);
  });

  it.each([null, {}, { module: 'x', exportName: 'y' }])('with %j for a tool rejects', async (tool) => {
    const host = await openFakeHost(obedientFar);
    await expect(host.supervisor.runTool(tool as never, 1 as never)).rejects.toThrow(
      /"tool" must be a tool made by defineTool/,
    );
    await closeFake(host);
  });

  it('of close and of openScope is told by the name of the option', async () => {
    const host = await openFakeHost();
    await expect(host.supervisor.close({ withinMs: 0 })).rejects.toThrow(/"withinMs"/);
    expect(() => host.supervisor.openScope({ deadlineMs: -5 })).toThrow(/"deadlineMs"/);
    expect(host.supervisor.statistics().state).toBe('open');
    await closeFake(host);
  });
});

describe('labels', () => {
  it('travel to the first event and to the result, frozen and detached', async () => {
    const host = await openFakeHost(obedientFar);
    const labels = { colour: 'blue' };
    const running = host.supervisor.runTool(fakeTool(), 'value', { labels });
    labels.colour = 'red';
    const { request } = await running;
    expect(request.labels).toEqual({ colour: 'blue' });
    expect(Object.isFrozen(request.labels)).toBe(true);
    expect(host.events[0]).toMatchObject({ type: 'request.started', labels: { colour: 'blue' } });
    await closeFake(host);
  });
});

describe('lateResults', () => {
  it.each([
    ['keep', 'late-value', 'succeeded'],
    ['discard', 'late-value', 'timed-out'],
    ['keep', 'late-throw', 'failed'],
    ['discard', 'late-throw', 'timed-out'],
    ['discard', 'value', 'succeeded'],
  ] as const)('%s makes a %s %s', async (lateResults, behaviour, status) => {
    const host = await openFakeHost(obedientFar);
    const running = host.supervisor.runTool(fakeTool(), behaviour, { lateResults, runTimeoutMs: 50 });
    await settle();
    await host.clock.advance(60);
    const result = await running;
    expect(result.status).toBe(status);
    expect('value' in result).toBe(status === 'succeeded');
    if (behaviour !== 'value')
      expect([result.cause, ...result.also]).toContainEqual(expect.objectContaining({ kind: 'run-timeout' }));
    await closeFake(host);
  });
});

describe('two supervisors', () => {
  it('count, close and queue apart', async () => {
    const [one, other] = [await openFakeHost(obedientFar), await openFakeHost(obedientFar)];
    hang(one, 2);
    expect((await other.supervisor.runTool(fakeTool(), 'forge')).status).toBe('succeeded');
    await closeFake(other);
    const { state, queue, protocolViolations, requests } = one.supervisor.statistics();
    expect([state, queue.depth, protocolViolations, requests.succeeded]).toEqual(['open', 1, 0, 0]);
    expect(one.events.map(({ seq }) => seq)).toEqual(one.events.map((_, index) => index + 1));
    await closeFake(one);
  });
});
