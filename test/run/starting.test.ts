/** Starting: what may go wrong between a grant and the begin of the run, and that nothing is then told or run twice. */
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/model/stores.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { WORD } from '../../src/wire/protocol.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { FAILURE, type FakeTenure } from '../support/fake-tenure.ts';
import { heldLog } from '../support/held-log.ts';
import { requestRig } from './request-rig.ts';

const EXIT = { code: 1, error: null };
const ONCE = ['prepared', 'admitted', 'dispatched', 'settled', 'closed'];
const LOST = ['queued', 'acquired', 'queued'];

/** Its isolates hear and tell only when they are delivered to. */
const manual = { ...obedientFar, schedule: 'manual' as const };

/** The thread is faster than a recall: it marks the start between the flag and the look of the host, and answers. */
function outrun(tenure: FakeTenure): () => void {
  let answer = (): void => undefined;
  tenure.post = (message) => {
    if (message.t !== 'stop') return;
    const { seq } = message;
    Atomics.store(tenure.words, WORD.STARTED, seq);
    const failure = { ...FAILURE, name: 'AbortError', ofStop: true };
    const hooks = { reset: false, healthCheck: false };
    answer = () => {
      tenure.emit({ t: 'settled', seq, ok: false, failure, recalled: true, clean: true, ...hooks, ranMs: 0 });
      tenure.deliver();
    };
  };
  return () => answer();
}

describe('a grant', () => {
  it('comes to no lease that has ended, though its log is slow', async () => {
    const { eventLog } = heldLog(['admitted']);
    const rig = await requestRig(obedientFar, { eventLog });
    const controller = new AbortController();
    let prepared = 0;
    const onPrepared = () => {
      prepared += 1;
      return undefined;
    };
    await rig.run(fakeTool());
    await rig.run(fakeTool(), 'value', { signal: controller.signal, onPrepared });
    controller.abort();
    expect(rig.supervisor.statistics().queue.depth).toBe(0);
    rig.leased().value('first');
    await rig.run(fakeTool(), 'value');
    expect([prepared, rig.runs(), rig.supervisor.statistics().isolates.idle]).toEqual([0, 2, 1]);
    await rig.clock.advance(1_000);
    expect(rig.ended.map(({ status }) => status).sort()).toEqual(['cancelled', 'succeeded', 'succeeded']);
    expect(rig.supervisor.statistics().protocolViolations).toBe(0);
    await closeFake(rig);
  });

  it('whose onPrepared cancels and then throws ends the request once, as cancelled', async () => {
    const rig = await requestRig(obedientFar);
    const controller = new AbortController();
    const onPrepared = () => {
      controller.abort();
      throw new Error('after the cancel');
    };
    await rig.run(fakeTool(), 'value', { signal: controller.signal, onPrepared });
    expect(rig.ended).toMatchObject([{ status: 'cancelled', lease: { path: ['queued', 'acquired', 'completed'] } }]);
    expect(rig.events.filter(({ type }) => type === 'request.ended')).toHaveLength(1);
    const { requests, protocolViolations } = rig.supervisor.statistics();
    expect([requests.cancelled, requests.failed, protocolViolations]).toEqual([1, 0, 0]);
    await closeFake(rig);
  });
});

describe('an opaque body whose entry is on its way', () => {
  it.each([
    ['value', 'succeeded', 'applied', ONCE],
    ['hang', 'indeterminate', 'dispatched', ONCE.filter((kind) => kind !== 'settled')],
  ] as const)('is recorded once when its isolate is lost, before a %s', async (behaviour, status, state, kinds) => {
    const log = heldLog(['dispatched']);
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, standby: 1 });
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), behaviour, { signal: controller.signal });
    rig.leased().die(EXIT);
    await settle();
    expect([log.held.length, rig.runs()]).toEqual([1, 0]);
    log.release();
    await settle();
    controller.abort();
    await rig.clock.advance(10_000);
    expect(rig.ended).toMatchObject([{ status, intents: [{ state }] }]);
    expect(rig.ended[0]?.lease?.path.slice(0, 5)).toEqual([...LOST, 'acquired', 'running']);
    expect((await log.entries()).map(({ kind }) => kind)).toEqual(kinds);
    expect(rig.runs()).toBe(1);
    await closeFake(rig);
  });

  it('is withdrawn once it is recorded when a stop ended the lease meanwhile', async () => {
    const log = heldLog(['dispatched']);
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog });
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), 'value', { signal: controller.signal });
    controller.abort();
    await settle();
    expect(rig.ended).toEqual([]);
    log.release();
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'cancelled', intents: [{ state: 'not-applied' }] }]);
    expect((await log.entries()).map(({ kind }) => kind)).toEqual(ONCE);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it('is refused after sweepMs when the log does not acknowledge it', async () => {
    const log = heldLog(['dispatched']);
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, defaults: { sweepMs: 100 } });
    await rig.run(fakeTool('opaque'), 'value');
    await rig.clock.advance(200);
    expect(rig.ended).toMatchObject([
      { status: 'failed', error: { code: 'ERR_LEASEHOLD_INTENT_REFUSED' }, intents: [], lease: { end: 'completed' } },
    ]);
    log.release();
    await rig.run(fakeTool(), 'value');
    expect([rig.runs(), rig.ended[1]?.status]).toEqual([1, 'succeeded']);
    await closeFake(rig);
  });

  it('is refused by a promise of another realm that rejects', async () => {
    const log = memoryEventLog();
    const Foreign = runInNewContext('Promise') as PromiseConstructor;
    const eventLog: EventLog = {
      durability: 'synced',
      read: (filter) => log.read(filter),
      openIntents: () => log.openIntents(),
      append: (event) => (event.kind === 'dispatched' ? Foreign.reject(new Error('disk full')) : log.append(event)),
    };
    const rig = await requestRig(obedientFar, { eventLog });
    await rig.run(fakeTool('opaque'), 'value');
    expect(rig.ended).toMatchObject([
      { status: 'failed', error: { code: 'ERR_LEASEHOLD_INTENT_REFUSED' }, intents: [] },
    ]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });
});

describe('a run whose isolate is lost before it began', () => {
  it('is not applied when it is stopped in the queue again', async () => {
    const rig = await requestRig({ ...manual, boot: (ordinal) => (ordinal === 0 ? 'ready' : 'never') });
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), 'value', { signal: controller.signal });
    const tenure = rig.leased();
    tenure.die(EXIT);
    tenure.deliver();
    expect(rig.supervisor.statistics().queue.depth).toBe(1);
    controller.abort();
    await settle();
    expect(rig.ended).toMatchObject([
      { status: 'cancelled', intents: [{ state: 'not-applied' }], lease: { path: [...LOST, 'completed'] } },
    ]);
    await closeFake(rig);
  });

  it.each([
    ['is not run again when it moved a buffer there', 'none', true, ['interrupted', 0]],
    ['is run elsewhere when it moves nothing', 'none', false, ['succeeded', 1]],
    ['is run elsewhere with a buffer that was not posted yet', 'opaque', true, ['succeeded', 1]],
  ] as const)('%s', async (_, effects, moves, [status, runs]) => {
    const log = heldLog(effects === 'opaque' ? ['dispatched'] : []);
    const rig = await requestRig(manual, { standby: 1, eventLog: log.eventLog });
    await rig.run(fakeTool(effects), 'value', { transfer: moves ? [new ArrayBuffer(8)] : [] });
    const tenure = rig.leased();
    tenure.die(EXIT);
    tenure.deliver();
    log.release();
    await settle();
    for (const other of rig.tenures.alive) other.deliver();
    await settle();
    expect(rig.runs()).toBe(runs);
    expect(rig.ended).toMatchObject([{ status }]);
    if (status === 'interrupted') {
      expect(rig.ended[0]?.cause?.kind).toBe('lease-unavailable');
      expect(rig.ended[0]?.lease?.path).toEqual(['queued', 'acquired', 'completed']);
    }
    await closeFake(rig);
  });
});

describe('a recall that loses its race', () => {
  it.each(['none', 'opaque'] as const)('of a start that was given up is lease-unavailable: %s', async (effects) => {
    const rig = await requestRig(manual, { defaults: { startMs: 50 } });
    const answer = outrun(rig.tenures.all[0] as FakeTenure);
    await rig.run(fakeTool(effects), 'value');
    await rig.clock.advance(50);
    answer();
    await settle();
    expect(rig.ended).toMatchObject([
      {
        status: 'interrupted',
        cause: { kind: 'lease-unavailable', atMs: 50 },
        also: [],
        intents: effects === 'opaque' ? [{ state: 'not-applied' }] : [],
      },
    ]);
    await closeFake(rig);
  });

  it('of a cancel leaves an opaque body not applied', async () => {
    const rig = await requestRig(manual);
    const answer = outrun(rig.tenures.all[0] as FakeTenure);
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), 'value', { signal: controller.signal });
    controller.abort();
    answer();
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'cancelled', intents: [{ state: 'not-applied' }] }]);
    expect(rig.ended[0]?.lease?.path).toContain('running');
    await closeFake(rig);
  });

  it('is lease-unavailable also when the answer is here before the stop is entered', async () => {
    const rig = await requestRig(manual, { defaults: { startMs: 50 } });
    const tenure = rig.tenures.all[0] as FakeTenure;
    tenure.post = ({ t, ...message }) => {
      if (t !== 'stop') return;
      const { seq } = message as { seq: number };
      Atomics.store(tenure.words, WORD.STARTED, seq);
      const failure = { ...FAILURE, name: 'AbortError', ofStop: true };
      const hooks = { reset: false, healthCheck: false };
      tenure.emit({ t: 'settled', seq, ok: false, failure, recalled: true, clean: true, ...hooks, ranMs: 0 });
    };
    await rig.run(fakeTool(), 'value');
    await rig.clock.advance(50);
    tenure.deliver();
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'interrupted', cause: { kind: 'lease-unavailable' }, also: [] }]);
    await closeFake(rig);
  });
});

describe('a slow start', () => {
  it('is not given up while its input may be on its way', async () => {
    const rig = await requestRig(manual, { defaults: { startMs: 50 } });
    (rig.tenures.all[0] as FakeTenure).transitMs = 400;
    await rig.run(fakeTool());
    const [tenure] = rig.tenures.all as [FakeTenure];
    await rig.clock.advance(449);
    expect(tenure.terminated).toBe(false);
    await rig.clock.advance(1);
    expect(tenure.terminated).toBe(true);
    await closeFake(rig);
  });

  it('for any instant, is noticed within twice that time, and times out from then', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 900 }), async (startMs) => {
        const rig = await requestRig(manual, { defaults: { graceMs: 20, killMs: 20 } });
        await rig.run(fakeTool(), 'hang', { runTimeoutMs: 100 });
        await rig.clock.advance(startMs);
        // Blocked from its first turn on: it posts nothing.
        Atomics.store(rig.leased().words, WORD.STARTED, 1);
        await rig.clock.advance(2_000);
        const [result] = rig.ended;
        const noticedMs = result?.timing.acquiredMs ?? -1;
        expect(noticedMs).toBeGreaterThanOrEqual(startMs);
        expect(noticedMs).toBeLessThanOrEqual(Math.max(10, 2 * startMs));
        expect(result).toMatchObject({ status: 'timed-out', cause: { kind: 'run-timeout', atMs: noticedMs + 100 } });
        await closeFake(rig);
      }),
      { numRuns: 40 },
    );
  });
});
