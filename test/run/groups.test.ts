/** Groups: who joins, what is counted, and for how long. */
import { describe, expect, it } from 'vitest';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import { Groups, MAX_SETTLED_GROUPS } from '../../src/run/groups.ts';
import { sampleResult } from '../model/sample-result.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const group = 'nightly';

async function opened(options: object = {}) {
  const host = await openFakeHost(obedientFar, { standby: 0, ...options });
  const run = (behaviour: string, more: RunOptions = { group }) => host.supervisor.runTool(fakeTool(), behaviour, more);
  return { ...host, run };
}

describe('a group', () => {
  it('counts what joined it by status, attempts and times, and stands in its result', async () => {
    const { run, ...host } = await opened();
    const results = [await run('value'), await run('throw'), await run('value')];
    const { requests, attempts, times, waiting, running } = host.supervisor.group(group).statistics();
    expect(requests).toMatchObject({ succeeded: 2, failed: 1, rejected: 0 });
    expect({ attempts, waiting, running }).toEqual({ attempts: 3, waiting: 0, running: 0 });
    const totals = results.map(({ timing }) => timing.totalMs);
    const sumMs = totals.reduce((sum, ms) => sum + ms, 0);
    expect(times).toEqual({ count: 3, sumMs, minMs: Math.min(...totals), maxMs: Math.max(...totals) });
    expect(results.map(({ request }) => request.group)).toEqual([group, group, group]);
    await closeFake(host);
  });

  it('tells of members that run and of members that wait, and settles after the last', async () => {
    const { run, ...host } = await opened();
    const of = host.supervisor.group(group);
    const settled: number[] = [];
    void run('obey');
    void run('obey');
    void of.untilSettled().then(({ times }) => settled.push(times.count));
    await settle();
    expect(of.statistics()).toMatchObject({ running: 1, waiting: 1, times: { count: 0, minMs: null, maxMs: null } });
    host.tenures.working[0]?.value(1);
    await settle();
    expect([of.statistics().running, of.statistics().waiting, settled]).toEqual([1, 0, []]);
    host.tenures.working[0]?.value(2);
    await settle();
    expect(settled).toEqual([2]);
    await closeFake(host);
  });

  it('tells of a member that is to be tried again as waiting', async () => {
    const { run, ...host } = await opened();
    void run('exit', { group, retry: { attempts: 2, backoff: { initialMs: 100, jitter: 'none' } } });
    await settle();
    expect(host.supervisor.group(group).statistics()).toMatchObject({ attempts: 1, waiting: 1, running: 0 });
    await host.clock.advance(10_000);
    const { attempts, requests, waiting } = host.supervisor.group(group).statistics();
    expect({ attempts, waiting, failed: requests.failed }).toEqual({ attempts: 2, waiting: 0, failed: 1 });
    await closeFake(host);
  });

  it('counts what never reached an isolate', async () => {
    const { run, ...host } = await opened({ authorize: () => ({ allow: false }) });
    await run('value');
    const signal = AbortSignal.abort();
    await run('value', { group, signal });
    const { requests, attempts } = host.supervisor.group(group).statistics();
    expect(requests).toMatchObject({ denied: 1, cancelled: 1 });
    expect(attempts).toBe(1);
    await closeFake(host);
  });

  it('is joined by nobody who does not say so, whatever scope it is in', async () => {
    const { run, ...host } = await opened();
    const scope = host.supervisor.openScope();
    const results = [await run('value', {})];
    await scope.runTool(fakeTool(), 'value', { group });
    results.push(await scope.runTool(fakeTool(), 'value'), await scope.fork().runTool(fakeTool(), 'value'));
    results.push(await scope.spawn('child', (inner) => inner.runTool(fakeTool(), 'value')).result);
    await scope.coordinate({ tool: fakeTool(), input: 'value', options: { group } }, (result, given) =>
      result.request.group === undefined ? { done: given.id } : { tool: fakeTool(), input: 'value' },
    );
    expect(host.supervisor.group(group).statistics().times.count).toBe(2);
    expect(results.every(({ request }) => !('group' in request))).toBe(true);
    await closeFake(host);
  });

  it('of a name that nobody joined, counts zero and is settled', async () => {
    const { supervisor, ...host } = await opened();
    const none = supervisor.group('none');
    expect(none.name).toBe('none');
    expect(await none.untilSettled()).toMatchObject({ attempts: 0, waiting: 0, running: 0, times: { count: 0 } });
    await closeFake({ supervisor, ...host });
  });

  it('settles when the supervisor closes', async () => {
    const { run, ...host } = await opened();
    void run('hang');
    const settling = host.supervisor.group(group).untilSettled();
    await settle();
    await closeFake(host, 1_000);
    expect((await settling).requests.interrupted).toBe(1);
  });

  it('counts itself to its end beside an observer that throws at everything', async () => {
    const { run, ...host } = await opened();
    const observers = [
      {
        onEvent: () => {
          throw new Error('broken');
        },
      },
    ];
    await run('value', { group, observers });
    expect(host.supervisor.group(group).statistics().requests.succeeded).toBe(1);
    await closeFake(host);
  });

  it.each([[''], ['x'.repeat(257)], [7], [null], [undefined]])('cannot be asked for by %j', async (name) => {
    const host = await opened();
    const refusal = expect.objectContaining({ code: 'ERR_LEASEHOLD_INVALID_OPTION' });
    expect(() => host.supervisor.group(name as string)).toThrow(refusal);
    if (name !== undefined) await expect(host.run('value', { group: name as string })).rejects.toEqual(refusal);
    await closeFake(host);
  });
});

describe('Groups', () => {
  const names = { requestId: 'req', tool: 'fake', tenant: 't', run: 'r', branch: 'b' };
  const stamp = { seq: 1, at: 1 };
  const start = (groups: Groups, name: string) =>
    groups.join(name).onEvent({ ...stamp, ...names, type: 'request.started', labels: {} });
  const end = (groups: Groups, name: string) =>
    groups.join(name).onEvent({ ...stamp, ...names, type: 'request.ended', result: sampleResult() });
  const count = (groups: Groups, name: string) => groups.named(name).statistics().times.count;

  it('forget who settled first once a thousand others have, and never a living one', () => {
    const groups = new Groups();
    start(groups, 'lives');
    end(groups, 'lives');
    start(groups, 'lives');
    for (let index = 0; index <= MAX_SETTLED_GROUPS; index += 1) {
      start(groups, `group ${index}`);
      end(groups, `group ${index}`);
    }
    expect([count(groups, 'group 0'), count(groups, 'group 1'), count(groups, `group ${MAX_SETTLED_GROUPS}`)]).toEqual([
      0, 1, 1,
    ]);
    expect(groups.named('lives').statistics().waiting).toBe(1);
  });

  it('count on where one is joined again before it was forgotten', () => {
    const groups = new Groups();
    for (let pass = 0; pass < 2; pass += 1) {
      start(groups, 'again');
      end(groups, 'again');
    }
    expect(count(groups, 'again')).toBe(2);
  });
});
