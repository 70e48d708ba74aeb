/** Close: within its bound whatever hangs, once for all callers, and everybody settled. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../src/model/define-tool.ts';
import type { RunResult } from '../src/model/result.ts';
import type { CloseReport } from '../src/reports.ts';
import { obedientFar } from './support/arbitraries.ts';
import { settle } from './support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from './support/fake-host.ts';
import type { Far } from './support/fake-tenure.ts';
import { heldLog } from './support/held-log.ts';

type Host = Awaited<ReturnType<typeof openFakeHost>>;
const never = new Promise<never>(() => {});
/** Its input is never validated. */
const preparing = defineTool({
  name: 'preparing',
  module: 'file:///fake/tool.mjs',
  input: z.unknown().refine(() => never),
  effects: 'none',
});

/** Closes, and tells how long it took by the clock. */
async function closed({ supervisor, clock }: Host, withinMs: number): Promise<{ report: CloseReport; tookMs: number }> {
  const from = clock.now();
  const reports: CloseReport[] = [];
  let at = from;
  void supervisor.close({ withinMs }).then((report) => {
    reports.push(report);
    at = clock.now();
  });
  await settle();
  while (reports.length === 0 && (await clock.step())) await settle();
  return { report: reports[0] as CloseReport, tookMs: at - from };
}

describe('close', () => {
  it.each([1, 4, 100, 1_000, 10_000])('within %i ms settles what hangs, waits and prepares', async (withinMs) => {
    const host = await openFakeHost(obedientFar);
    const ended: RunResult[] = [];
    for (const tool of [fakeTool(), fakeTool(), preparing]) {
      void host.supervisor.runTool(tool, 'hang').then((result) => ended.push(result));
    }
    await settle();
    const { report, tookMs } = await closed(host, withinMs);
    expect(tookMs).toBeLessThanOrEqual(withinMs);
    await settle();
    expect(ended.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
    expect(new Set(ended.map(({ cause }) => cause?.kind))).toEqual(new Set(['shutdown']));
    expect(report).toEqual({ settled: 0, interrupted: 3, abandoned: [] });
    expect(host.supervisor.statistics().state).toBe('closed');
    await host.clock.advance(60_000);
    expect([host.clock.pending, host.tenures.alive, host.tenures.closed]).toEqual([0, [], true]);
  });

  it.each([1, 1_000])('within %i ms reports threads that will not die', async (withinMs) => {
    const host = await openFakeHost({ dies: ({ runs }) => runs === 0 });
    const ended: RunResult[] = [];
    void host.supervisor.runTool(fakeTool(), 'hang').then((result) => ended.push(result));
    await settle();
    const { report, tookMs } = await closed(host, withinMs);
    expect(tookMs).toBeLessThanOrEqual(withinMs);
    expect(report).toMatchObject({ interrupted: 1, abandoned: [{ kind: 'thread', state: 'abandoned', leases: 1 }] });
    expect(ended).toMatchObject([{ status: 'interrupted', output: { drain: { ended: 'cap' } } }]);
  });

  it('lets run what ends in time, and interrupts at once what has not begun', async () => {
    const host = await openFakeHost(obedientFar, {
      defaults: { graceMs: 10, killMs: 10, resetMs: 10, healthMs: 10, sweepMs: 10 },
    });
    const running = host.supervisor.runTool(fakeTool(), 'hang');
    const queued = host.supervisor.runTool(fakeTool(), 'value');
    await settle();
    const closing = host.supervisor.close({ withinMs: 10_000 });
    expect((await queued).status).toBe('interrupted');
    await host.clock.advance(5_000);
    host.tenures.working[0]?.value('in time');
    expect(await running).toMatchObject({ status: 'succeeded', value: 'in time', also: [] });
    expect(await closing).toMatchObject({ settled: 1, interrupted: 1 });
  });

  it('is one promise for all callers, whatever bound they give', async () => {
    const host = await openFakeHost();
    const closing = host.supervisor.close({ withinMs: 100 });
    expect(host.supervisor.close({ withinMs: 5_000 })).toBe(closing);
    await host.clock.advance(100);
    await closing;
    expect(host.supervisor.close()).toBe(closing);
  });

  it('rejects what is asked afterwards, and what is asked meanwhile', async () => {
    const host = await openFakeHost(obedientFar);
    const scope = host.supervisor.openScope();
    void host.supervisor.runTool(fakeTool(), 'hang');
    await settle();
    const closing = host.supervisor.close({ withinMs: 1_000 });
    const rejected = { status: 'rejected', error: { code: 'ERR_LEASEHOLD_CLOSED' }, lease: null };
    expect(await host.supervisor.runTool(fakeTool(), 'value')).toMatchObject(rejected);
    expect(await scope.runTool(fakeTool(), 'value')).toMatchObject(rejected);
    await host.clock.advance(1_000);
    await closing;
    expect(await host.supervisor.runTool(fakeTool(), 'value')).toMatchObject(rejected);
  });

  it('tells a function of the host, and waits for it no longer than its bound', async () => {
    const host = await openFakeHost();
    const scope = host.supervisor.openScope();
    scope.spawn('deaf', () => never);
    const { signal } = scope.ctx;
    const { tookMs } = await closed(host, 500);
    expect(tookMs).toBeLessThanOrEqual(500);
    expect(signal.reason).toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_SHUTDOWN' });
  });

  it('interrupts a request whose value a schema still looks at', async () => {
    const host = await openFakeHost(obedientFar);
    const output = z.unknown().refine(() => never);
    const tool = defineTool({
      name: 'checked',
      module: 'file:///fake/tool.mjs',
      input: z.unknown(),
      output,
      effects: 'none',
    });
    const running = host.supervisor.runTool(tool, 'value');
    await settle();
    const { report, tookMs } = await closed(host, 100);
    expect(tookMs).toBeLessThanOrEqual(100);
    expect([(await running).status, report.interrupted]).toEqual(['interrupted', 1]);
  });

  it('counts what ran or waited, as interrupted only by itself, and nothing it refuses', async () => {
    const host = await openFakeHost(obedientFar, { isolates: 3, standby: 0 });
    const controller = new AbortController();
    const ended: string[] = [];
    const run = (behaviour: string, signal?: AbortSignal) =>
      void host.supervisor
        .runTool(fakeTool(), behaviour, signal === undefined ? {} : { signal })
        .then(({ status }) => ended.push(status));
    run('value');
    await settle();
    run('late-value');
    run('hang', controller.signal);
    run('hang');
    await settle();
    controller.abort();
    const closing = closed(host, 1_000);
    run('value');
    const { report } = await closing;
    expect(report).toEqual({ settled: 2, interrupted: 1, abandoned: [] });
    expect(ended.sort()).toEqual(['cancelled', 'interrupted', 'rejected', 'succeeded', 'succeeded']);
  });

  it('settles and counts a request that waits for the log to take its end', async () => {
    const host = await openFakeHost(obedientFar, { eventLog: heldLog(['closed']).eventLog });
    const ended: RunResult[] = [];
    void host.supervisor.runTool(fakeTool(), 'value').then((result) => ended.push(result));
    await settle();
    expect(ended).toEqual([]);
    const { report, tookMs } = await closed(host, 1_000);
    expect(ended).toMatchObject([{ status: 'succeeded', durability: 'none' }]);
    expect([report.settled, tookMs <= 1_000]).toEqual([1, true]);
  });

  it('lets no late look make an isolate fit that it has killed', async () => {
    const far: Far = {
      run: (tenure, { seq }) =>
        tenure.emit({
          t: 'settled',
          seq,
          ok: true,
          value: 'done',
          clean: false,
          reset: false,
          healthCheck: false,
          ranMs: 0,
        }),
      dies: (tenure) => {
        tenure.looked(1);
        return false;
      },
    };
    const host = await openFakeHost(far, { standby: 0, defaults: { sweepMs: 5_000, killMs: 50 } });
    const run = host.supervisor.runTool(fakeTool(), 'value');
    await settle();
    const closing = host.supervisor.close({ withinMs: 300 });
    await host.clock.advance(300);
    expect(await run).toMatchObject({
      status: 'succeeded',
      lease: { end: 'quarantined', findings: [{ kind: 'abandoned' }] },
    });
    expect(host.supervisor.statistics().protocolViolations).toBe(0);
    await closing;
  });

  it('ends a drain that hangs by a kill of its own, which is no exit of the isolate', async () => {
    const far: Far = {
      run: (tenure, { seq }) =>
        tenure.emit({
          t: 'settled',
          seq,
          ok: true,
          value: 'done',
          clean: true,
          reset: true,
          healthCheck: false,
          ranMs: 0,
        }),
    };
    const host = await openFakeHost(far, { standby: 0, defaults: { resetMs: 5_000 } });
    const ended: RunResult[] = [];
    void host.supervisor.runTool(fakeTool(), 'value').then((result) => ended.push(result));
    await host.clock.advance(150);
    const { tookMs } = await closed(host, 600);
    expect(tookMs).toBeLessThanOrEqual(600);
    expect(ended).toMatchObject([{ status: 'succeeded', value: 'done', exit: null, also: [{ kind: 'shutdown' }] }]);
    expect(ended[0]?.lease).toMatchObject({ end: 'quarantined', findings: [{ kind: 'killed', condemns: true }] });
    expect(host.supervisor.statistics().protocolViolations).toBe(0);
  });

  it('comes with leaving the block', async () => {
    const host = await openFakeHost();
    {
      await using owned = host.supervisor;
      expect(owned.statistics().state).toBe('open');
    }
    expect(host.supervisor.statistics().state).toBe('closed');
    expect(await closeFake(host)).toMatchObject({ settled: 0, interrupted: 0 });
  });
});
