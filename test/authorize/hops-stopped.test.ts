/** Stops, and the end of the lease, while a hop is asked about: both end the wait, and neither is an answer. */
import { describe, expect, it } from 'vitest';
import type { InlineContext } from '../../src/model/work.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake } from '../support/fake-host.ts';
import { HOP, inlineTool, patientAboutHops, told } from './hop-rig.ts';

describe('a stop while a hop is asked about', () => {
  it.each([
    ['a cancel', 'cancelled', 'cancel'],
    ['a close', 'interrupted', 'shutdown'],
    ['the run timeout', 'timed-out', 'run-timeout'],
    ['the operation deadline', 'timed-out', 'operation-timeout'],
    ['the deadline of the scope', 'timed-out', 'parent-deadline'],
  ])('%s ends the wait at once, and the request is %s', async (by, status, kind) => {
    const rig = await patientAboutHops({ defaults: { authorizeMs: 3_600_000 } });
    const controller = new AbortController();
    const scope = rig.supervisor.openScope(by === 'the deadline of the scope' ? { deadlineMs: 50 } : {});
    const bounds = {
      ...(by === 'the run timeout' && { runTimeoutMs: 50 }),
      ...(by === 'the operation deadline' && { operationTimeoutMs: 50 }),
    };
    await rig.run(
      inlineTool((context) => context.authorizeHop(HOP)),
      {},
      { signal: controller.signal, ...bounds },
      scope,
    );
    const closing = by === 'a close' ? rig.supervisor.close({ withinMs: 1 }) : null;
    if (by === 'a cancel') controller.abort(new Error('left'));
    if (kind !== 'cancel' && kind !== 'shutdown') await rig.clock.advance(50);
    await settle();
    expect(rig.ended).toMatchObject([{ status, cause: { kind }, lease: { end: 'completed' } }]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    rig.asked[0]?.answer({ allow: false });
    await settle();
    expect(rig.ended).toHaveLength(1);
    await Promise.all([closing, closeFake(rig)]);
  });

  it('ends the waits of all hops that are asked about', async () => {
    const rig = await patientAboutHops();
    const controller = new AbortController();
    const both = (context: InlineContext) =>
      Promise.allSettled([1, 2].map((number) => context.authorizeHop({ ...HOP, number })));
    let heard: unknown;
    const tool = inlineTool(async (context) => {
      heard = await both(context);
      throw context.signal.reason;
    });
    await rig.run(tool, {}, { signal: controller.signal });
    controller.abort(new Error('left'));
    await settle();
    expect(heard).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    expect(rig.asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(rig.ended).toMatchObject([{ status: 'cancelled' }]);
    expect(rig.clock.pending).toBe(0);
    await closeFake(rig);
  });

  it('decides in a blocked host too, although the yes is here', async () => {
    let heard: unknown;
    const rig = await patientAboutHops();
    await rig.run(
      inlineTool(async (context) => {
        heard = await told(context.authorizeHop(HOP));
        throw heard;
      }),
      {},
      { runTimeoutMs: 50 },
    );
    rig.clock.jump(60);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(heard).toMatchObject({ name: 'AbortError' });
    expect(rig.ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'run-timeout', atMs: 50 } }]);
    await closeFake(rig);
  });
});

describe('a hop after the lease', () => {
  it('is refused without asking, and changes nothing', async () => {
    let late: InlineContext | null = null;
    const rig = await patientAboutHops();
    await rig.run(
      inlineTool(async (context) => {
        late = context;
        return 'done';
      }),
    );
    const heard = await told((late as InlineContext | null)?.authorizeHop(HOP) ?? Promise.resolve());
    expect(heard).toMatchObject({ code: 'ERR_LEASEHOLD_DENIED' });
    expect(rig.asked).toEqual([]);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: 'done' }]);
    await closeFake(rig);
  });

  it('that was asked about before is let go by no answer', async () => {
    let heard: Promise<unknown> | null = null;
    const rig = await patientAboutHops();
    await rig.run(
      inlineTool(async (context) => {
        heard = told(context.authorizeHop(HOP));
        return 'done';
      }),
    );
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    rig.asked[0]?.answer({ allow: true });
    expect(await heard).toMatchObject({ code: 'ERR_LEASEHOLD_DENIED' });
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    await closeFake(rig);
  });
});
