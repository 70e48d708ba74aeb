/** Attempt: what an isolate may say and ask around the end of its lease, and what a lost one leaves unknown. */
import { describe, expect, it } from 'vitest';
import { Isolate } from '../../src/isolate/isolate.ts';
import { Attempt } from '../../src/run/attempt.ts';
import { openChannel } from '../../src/wire/channel.ts';
import { type HostCalls, WORD } from '../../src/wire/protocol.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { FakeTenure } from '../support/fake-tenure.ts';
import { heldLog } from '../support/held-log.ts';
import { attemptParts } from './attempt-parts.ts';
import { requestRig } from './request-rig.ts';

/** The far side of the awaited calls, on a fake thread. */
function callsFrom(tenure: FakeTenure): HostCalls {
  const channel = openChannel<HostCalls>({ post: (d) => tenure.emit({ t: 'call', d }) });
  const post = tenure.post.bind(tenure);
  tenure.post = (message) => {
    if (message.t === 'call') queueMicrotask(() => channel.receive(message.d));
    else post(message);
  };
  return channel.remote;
}

describe('calls of an isolate', () => {
  const foreign = { name: 'charge', key: null, onAmbiguous: 'hold' };

  it('are refused under the number of any other lease, and leave no trace', async () => {
    const log = heldLog([]);
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, share: 'any' });
    const calls = callsFrom(rig.tenures.all[0] as FakeTenure);
    const [a, b] = ['a', 'b'].map((tenant) => rig.supervisor.openScope({ tenant }));
    await rig.run(fakeTool('declared'), 'hang', {}, a);
    const digest = await calls.putBlob(1, Buffer.from('of a'));
    expect(await calls.dispatch(1, foreign)).toMatch(/^[0-9a-f]{64}$/);
    await calls.settle(1, 'charge', 'applied');
    rig.leased().value('first');
    await settle();
    await rig.run(fakeTool('declared'), 'hang', {}, b);
    const before = (await log.entries()).length;
    for (const seq of [0, 1, 3]) {
      await expect(calls.getBlob(seq, digest)).rejects.toThrow('is over');
      await expect(calls.putBlob(seq, Buffer.from('x'))).rejects.toThrow('is over');
      await expect(calls.settle(seq, 'charge', 'applied')).rejects.toThrow('is over');
      await expect(calls.dispatch(seq, foreign)).rejects.toThrow('was not let go');
    }
    await expect(calls.getBlob(2, digest)).rejects.toMatchObject({ code: 'ERR_LEASEHOLD_BLOB_NOT_FOUND' });
    expect(await log.entries()).toHaveLength(before);
    rig.leased().value('second');
    await settle();
    expect(rig.ended.map(({ intents }) => intents.length)).toEqual([1, 0]);
    await closeFake(rig);
  });
});

describe('a record after the lease has ended', () => {
  it('of an abandoned isolate is logged as late, and changes nothing', async () => {
    const log = heldLog([]);
    const rig = await requestRig({ dies: () => false }, { eventLog: log.eventLog, standby: 1 });
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), 'hang', { signal: controller.signal });
    const tenure = rig.leased();
    controller.abort();
    await rig.clock.advance(10_000);
    const told = rig.events.length;
    const text = JSON.stringify(rig.ended);
    expect(rig.ended).toMatchObject([{ status: 'indeterminate', lease: { end: 'quarantined' } }]);
    tenure.value('too late');
    await settle();
    expect((await log.entries()).map(({ kind }) => kind).slice(-2)).toEqual(['closed', 'late']);
    expect((await log.entries()).at(-1)?.body).toEqual({ fact: 'settled', ok: true });
    expect([JSON.stringify(rig.ended), rig.events.length]).toEqual([text, told]);
    await closeFake(rig);
  });
});

describe('output that an isolate held back', () => {
  const exhausted = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });

  it.each([
    ['ran out of memory', { code: 1, error: exhausted }, 'OUT_OF_MEMORY'],
    ['exited', { code: 3, error: null }, 'ISOLATE_EXITED'],
    ['was ended by an error', { code: 1, error: new Error('broke') }, 'UNCAUGHT'],
  ])('is lost with one that %s, and the output has no end', async (_, exit, code) => {
    const rig = await requestRig();
    await rig.run(fakeTool());
    const tenure = rig.leased();
    const output = { seq: 1, stream: 'stdout', bytes: Buffer.from('kept'), omittedBytes: 0, credit: 4 };
    tenure.emit({ t: 'output', ...output });
    Atomics.store(tenure.words, WORD.HELD, 1_000);
    tenure.die(exit);
    await settle();
    expect(rig.ended).toMatchObject([
      { status: 'failed', error: { code: `ERR_LEASEHOLD_${code}` }, output: { stdout: { text: 'kept', eof: false } } },
    ]);
    await closeFake(rig);
  });

  it.each([0, 1_000])('is told whole by one that settled, then exited with %i bytes marked', async (marked) => {
    const rig = await requestRig();
    await rig.run(fakeTool());
    const tenure = rig.leased();
    Atomics.store(tenure.words, WORD.HELD, marked);
    tenure.value('done', false);
    tenure.die({ code: 3, error: null });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'succeeded', output: { stdout: { eof: true } } }]);
    await closeFake(rig);
  });
});

describe('an isolate that its keeper ends during a lease', () => {
  const keeper = {
    onIsolateChange: () => undefined,
    onUnusedDeath: () => undefined,
    onProtocolViolation: () => undefined,
  };

  it.each(['running', 'draining'] as const)('was killed, and did not exit by itself: %s', async (state) => {
    const { clock, setting } = attemptParts();
    const tenure = new FakeTenure({}, 0);
    const isolate = new Isolate(
      { kind: 'thread', clock, killMs: 100, actors: setting.actors, keeper, condemns: () => true },
      tenure,
    );
    await settle();
    const attempt = new Attempt(setting);
    attempt.enqueue();
    attempt.grant(isolate);
    await settle();
    const hooks = { reset: true, healthCheck: false };
    if (state === 'draining')
      tenure.emit({ t: 'settled', seq: 1, ok: true, value: 1, clean: true, ...hooks, ranMs: 0 });
    await settle();
    expect(attempt.lease.state).toBe(state);
    isolate.condemn();
    await settle();
    expect([attempt.lease.state, attempt.exit, attempt.ledger.stops]).toEqual(['quarantined', null, []]);
    expect(attempt.findings.map(({ kind }) => kind)).toEqual(['killed']);
  });
});

describe('an error of an earlier tool that nothing caught', () => {
  it('condemns the isolate of a lease that ends before its own tool ran', async () => {
    const log = heldLog(['dispatched']);
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, standby: 1 });
    const controller = new AbortController();
    await rig.run(fakeTool('opaque'), 'value', { signal: controller.signal });
    const tenure = rig.leased();
    tenure.fatal();
    await settle();
    expect(tenure.terminated).toBe(false);
    controller.abort();
    log.release();
    await rig.run(fakeTool(), 'value');
    expect(rig.ended.map(({ status }) => status).sort()).toEqual(['cancelled', 'succeeded']);
    expect([tenure.terminated, tenure.runs]).toEqual([true, 0]);
    expect(rig.supervisor.statistics().protocolViolations).toBe(0);
    await closeFake(rig);
  });
});
