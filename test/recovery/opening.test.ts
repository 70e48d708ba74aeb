/** Opening: nothing is granted before the log is decided, a log that cannot be read opens nothing, and one that fails degrades. */
import { describe, expect, it } from 'vitest';
import type { SupervisorOptions } from '../../src/model/options.ts';
import type { RunResult } from '../../src/model/result.ts';
import type { EventLog, LogHealth } from '../../src/model/stores.ts';
import { openSupervisor } from '../../src/supervisor.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { FakeTenures } from '../support/fake-tenure.ts';
import { begun, dispatched, type Entry, lostLog } from './lost-log.ts';

/** Lets also the look for processes come to its end, which is real. */
async function untilTrue(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise<void>((resume) => setImmediate(resume));
  await settle();
}

/** A supervisor on a log whose reading waits to be let go, or fails. */
function opened(entries: readonly Entry[], options: Partial<SupervisorOptions> = {}) {
  const log = lostLog(entries);
  const clock = new FakeClock();
  const tenures = new FakeTenures(obedientFar);
  let [release, heard]: [() => void, (health: LogHealth) => void] = [() => undefined, () => undefined];
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const state = { failing: false, health: 'writable' as LogHealth };
  const eventLog: EventLog = {
    ...log.eventLog,
    get health() {
      return state.health;
    },
    onHealth(listener) {
      heard = listener;
      return () => undefined;
    },
    async append(event) {
      if (state.health !== 'writable') throw new Error('the disk is full');
      return log.eventLog.append(event);
    },
    async *read(filter) {
      await gate;
      if (state.failing) throw new Error('damaged');
      yield* log.eventLog.read(filter);
    },
  };
  const turn = (health: LogHealth) => {
    state.health = health;
    heard(health);
  };
  const told: string[] = [];
  const observer = { onEvent: ({ type }: { readonly type: string }) => void told.push(type) };
  const setting = { isolates: 1, standby: 0, clock, eventLog, observers: [observer], ...options };
  const supervisor = openSupervisor(setting, { tenures });
  const ended: RunResult[] = [];
  const run = async (effects: 'none' | 'opaque' = 'none') => {
    void supervisor.runTool(fakeTool(effects), 'value').then((result) => ended.push(result));
    await settle();
  };
  const stateNow = () => supervisor.statistics().state;
  return { ...log, supervisor, clock, tenures, events: [], state, release, turn, told, ended, run, stateNow };
}

describe('a supervisor on a log that survives', () => {
  it('lets requests queue while it opens, and grants them once the log is decided', async () => {
    const rig = opened([...begun('a'), dispatched('a')]);
    await rig.run();
    expect([rig.stateNow(), rig.ended.length, rig.supervisor.statistics().queue.depth]).toEqual(['opening', 0, 1]);
    expect(rig.told).toEqual(['request.started', 'lease.queued']);
    rig.release();
    await untilTrue(() => rig.ended.length > 0);
    expect([rig.stateNow(), rig.ended[0]?.status]).toEqual(['open', 'succeeded']);
    const kinds = (await rig.written()).map(({ requestId, kind }) => `${requestId === 'a' ? 'lost' : 'new'} ${kind}`);
    expect(kinds).toContain('lost closed');
    expect(kinds.filter((kind) => kind === 'new closed')).toHaveLength(1);
    await closeFake(rig);
  });

  it('is ready only then, and tells one report to all who ask', async () => {
    const rig = opened([...begun('a'), dispatched('a')]);
    let isReady = false;
    const ready = rig.supervisor.untilReady().then(() => {
      isReady = true;
    });
    await settle();
    expect(isReady).toBe(false);
    rig.release();
    await ready;
    const report = await rig.supervisor.recover();
    expect(report).toMatchObject({ closed: [{ requestId: 'a' }], held: [{ intent: 'charge' }] });
    expect(await rig.supervisor.recover()).toBe(report);
    expect(Object.isFrozen(report.held[0])).toBe(true);
    await closeFake(rig);
  });

  it('asks its hooks', async () => {
    const rig = opened([...begun('a'), dispatched('a', 'reconcile')], {
      reconcile: { charge: () => ({ verdict: 'applied' }) },
    });
    rig.release();
    expect(await rig.supervisor.recover()).toMatchObject({ reconciled: [{ verdict: 'applied' }] });
    await closeFake(rig);
  });

  it('opens nothing while its log cannot be read, and opens when it can', async () => {
    const rig = opened(begun('a'));
    rig.state.failing = true;
    await rig.run();
    rig.release();
    expect(await rig.supervisor.recover()).toMatchObject({ closed: [], failures: [{ step: 'read' }] });
    expect([rig.stateNow(), rig.ended.length]).toEqual(['degraded', 0]);
    await rig.run();
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_DEGRADED' } }]);
    await expect(rig.supervisor.untilReady()).rejects.toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_DEGRADED' });
    rig.state.failing = false;
    expect(await rig.supervisor.recover()).toMatchObject({ closed: [{ requestId: 'a' }] });
    await untilTrue(() => rig.ended.length > 1);
    expect([rig.stateNow(), rig.ended[1]?.status]).toEqual(['open', 'succeeded']);
    expect(rig.told.filter((type) => type.startsWith('supervisor.'))).toEqual([
      'supervisor.degraded',
      'supervisor.healed',
    ]);
    await closeFake(rig);
  });

  it('closes while it opens, and decides nothing more', async () => {
    const rig = opened(begun('a'));
    await rig.run();
    const closed = closeFake(rig);
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'interrupted' }]);
    rig.release();
    await closed;
    expect((await rig.supervisor.recover()).closed).toEqual([]);
    expect((await rig.written()).filter(({ requestId }) => requestId === 'a')).toEqual([]);
    expect(rig.stateNow()).toBe('closed');
  });

  it('is degraded while its log fails, refuses effects meanwhile, and heals with it', async () => {
    const rig = opened([]);
    rig.release();
    await rig.supervisor.untilReady();
    await rig.run('opaque');
    rig.turn('failed');
    expect(rig.stateNow()).toBe('degraded');
    await rig.run('opaque');
    rig.turn('writable');
    expect(rig.stateNow()).toBe('open');
    await rig.run('opaque');
    expect(rig.ended.map(({ status, durability }) => [status, durability])).toEqual([
      ['succeeded', 'synced'],
      ['rejected', 'none'],
      ['succeeded', 'synced'],
    ]);
    expect(rig.told.filter((type) => type.startsWith('supervisor.'))).toEqual([
      'supervisor.degraded',
      'supervisor.healed',
    ]);
    await closeFake(rig);
  });

  it('lets no effect go that was admitted before its log failed', async () => {
    const rig = opened([]);
    await rig.run('opaque');
    rig.turn('failed');
    rig.release();
    await untilTrue(() => rig.ended.length > 0);
    expect(rig.ended).toMatchObject([
      { status: 'failed', error: { code: 'ERR_LEASEHOLD_INTENT_REFUSED' }, intents: [] },
    ]);
    expect(rig.tenures.all.reduce((sum, { runs }) => sum + runs, 0)).toBe(0);
    rig.turn('writable');
    await closeFake(rig);
  });
});

describe('a supervisor on a log in memory', () => {
  it('is open at once, and has nothing to tell', async () => {
    const tenures = new FakeTenures(obedientFar);
    const clock = new FakeClock();
    const supervisor = openSupervisor({ isolates: 1, clock }, { tenures });
    expect(supervisor.statistics().state).toBe('open');
    expect(Object.values(await supervisor.recover()).flat()).toEqual([]);
    await closeFake({ supervisor, clock, tenures, events: [] });
  });
});
