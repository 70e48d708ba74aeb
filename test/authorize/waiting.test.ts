/** What may come between the question and the answer of an authorizer, and between its yes and the queue. */
import { describe, expect, it } from 'vitest';
import type { Authorizer, SupervisorOptions } from '../../src/model/option-shapes.ts';
import { requestRig } from '../run/request-rig.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';
import { patientAuthorizer } from './asking.ts';

/** A rig whose authorizer waits to be told. */
async function patient(options: Partial<SupervisorOptions> = {}, far: Far = obedientFar) {
  const { authorize, asked } = patientAuthorizer();
  const rig = await requestRig(far, { authorize, ...options });
  const types = () => rig.events.map(({ type }) => type);
  return { ...rig, asked, types };
}
describe('while the authorizer is asked', () => {
  it('the request counts in the queue and holds no isolate', async () => {
    const rig = await patient({ queue: { capacity: 1 } });
    await rig.run(fakeTool(), 'value');
    await rig.run(fakeTool(), 'value');
    const { queue, isolates } = rig.supervisor.statistics();
    expect([queue.depth, isolates.leased]).toEqual([1, 0]);
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' } }]);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended[1]).toMatchObject({ status: 'succeeded' });
    await closeFake(rig);
  });

  it('a queue without room keeps its place for it', async () => {
    const rig = await patient({ queue: { capacity: 0 } });
    await rig.run(fakeTool(), 'value');
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    await closeFake(rig);
  });

  it('its silence ends the request at authorizeMs, and its signal aborts', async () => {
    const rig = await patient({ defaults: { authorizeMs: 250 } });
    await rig.run(fakeTool(), 'value');
    await rig.clock.advance(249);
    expect([rig.ended.length, rig.asked[0]?.signal.aborted]).toEqual([0, false]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([
      {
        status: 'denied',
        error: { code: 'ERR_LEASEHOLD_AUTHORIZER_FAILED', message: expect.stringContaining('authorizeMs (250 ms)') },
        timing: { totalMs: 250 },
      },
    ]);
    expect(rig.asked[0]?.signal).toMatchObject({ aborted: true, reason: { name: 'AbortError' } });
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect([rig.runs(), rig.clock.pending]).toEqual([0, 0]);
    await closeFake(rig);
  });

  it.each([
    ['a cancel', 'cancelled', 'cancel'],
    ['a cancel of the scope', 'cancelled', 'cancel'],
    ['a close', 'interrupted', 'shutdown'],
    ['the operation deadline', 'timed-out', 'operation-timeout'],
    ['the deadline of the scope', 'timed-out', 'parent-deadline'],
  ])('%s ends the request at once, %s', async (by, status, kind) => {
    const rig = await patient({ defaults: { authorizeMs: 3_600_000 } });
    const controller = new AbortController();
    const deadline = by === 'the deadline of the scope' ? { deadlineMs: 50 } : {};
    const scope = rig.supervisor.openScope(deadline);
    const operation = by === 'the operation deadline' ? { operationTimeoutMs: 50 } : {};
    await rig.run(fakeTool(), 'value', { signal: controller.signal, ...operation }, scope);
    if (by === 'a cancel') controller.abort(new Error('left'));
    if (by === 'a cancel of the scope') scope.cancel('left');
    const closing = by === 'a close' ? rig.supervisor.close({ withinMs: 60_000 }) : null;
    if (kind.endsWith('deadline') || kind.endsWith('timeout')) await rig.clock.advance(50);
    await settle();
    expect(rig.ended).toMatchObject([{ status, cause: { kind }, lease: { isolate: null } }]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    // Late, and nobody's any more.
    rig.asked[0]?.[by === 'a close' ? 'fail' : 'answer']({ allow: true });
    await settle();
    expect([rig.runs(), rig.ended.length, rig.supervisor.statistics().queue.depth]).toEqual([0, 1, 0]);
    await closing;
    await closeFake(rig);
  });

  it('a stop decides also when the answer comes within the same turn', async () => {
    const rig = await patient();
    const controller = new AbortController();
    await rig.run(fakeTool(), 'value', { signal: controller.signal });
    rig.asked[0]?.answer({ allow: true });
    controller.abort(new Error('left'));
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'cancelled' }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it('a deadline that passes in a blocked host decides, although the yes is here', async () => {
    const rig = await patient();
    await rig.run(fakeTool(), 'value', { operationTimeoutMs: 50 });
    rig.clock.jump(60);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'operation-timeout', atMs: 50 } }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it('a stop by the authorizer itself decides, whatever it says then', async () => {
    const controller = new AbortController();
    const authorize: Authorizer = () => {
      controller.abort(new Error('not this one'));
      return { allow: true };
    };
    const rig = await requestRig(obedientFar, { authorize });
    await rig.run(fakeTool(), 'value', { signal: controller.signal });
    expect(rig.ended).toMatchObject([{ status: 'cancelled', cause: { reason: 'not this one' } }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });
});

describe('after a yes', () => {
  it('a close in the same turn interrupts the request', async () => {
    const rig = await patient();
    await rig.run(fakeTool(), 'value');
    rig.asked[0]?.answer({ allow: true });
    await closeFake(rig);
    expect(rig.ended).toMatchObject([{ status: 'interrupted', cause: { kind: 'shutdown' } }]);
    expect(rig.runs()).toBe(0);
  });

  it('a queue of capacity 0 that lost its isolate meanwhile refuses it', async () => {
    const far: Far = { ...obedientFar, boot: (ordinal) => (ordinal === 0 ? 'ready' : 'never') };
    const rig = await patient({ queue: { capacity: 0 } }, far);
    await rig.run(fakeTool(), 'value');
    rig.tenures.alive[0]?.die({ code: 1, error: null });
    await settle();
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' }, lease: null }]);
    expect(rig.supervisor.statistics().queue.depth).toBe(0);
    await closeFake(rig);
  });

  it('a supervisor that was degraded meanwhile refuses it', async () => {
    const far: Far = { ...obedientFar, boot: (ordinal) => (ordinal === 0 ? 'ready' : 'fails') };
    const rig = await patient({ restart: { maxReplacements: 0 }, defaults: { authorizeMs: 60_000 } }, far);
    await rig.run(fakeTool(), 'value');
    rig.tenures.alive[0]?.die({ code: 1, error: null });
    await settle();
    while (rig.supervisor.statistics().state !== 'degraded' && (await rig.clock.step())) await settle();
    expect(rig.supervisor.statistics().state).toBe('degraded');
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_DEGRADED' }, lease: null }]);
    await closeFake(rig);
  });
});
