/** ValueCheck: what bounds an asynchronous schema after the tool answered, and what no longer does. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { closeFake } from '../support/fake-host.ts';
import { requestRig } from './request-rig.ts';

/** A tool whose value is looked at for `ms`, by the clock of the rig. */
async function checked(ms: number) {
  const rig = await requestRig(obedientFar);
  const output = z
    .unknown()
    .refine(() => new Promise<boolean>((resolve) => rig.clock.setTimeout(() => resolve(true), ms)));
  const tool = defineTool({
    name: 'checked',
    module: 'file:///fake/tool.mjs',
    input: z.unknown(),
    output,
    effects: 'none',
  });
  return { ...rig, tool };
}

describe('a value that is looked at after a stop', () => {
  it.each(['cancel', 'operation-timeout', 'run-timeout', 'parent-deadline'] as const)(
    'is not refused for the time that passed before: %s',
    async (kind) => {
      const rig = await checked(5);
      const controller = new AbortController();
      const scope = rig.supervisor.openScope(kind === 'parent-deadline' ? { deadlineMs: 50 } : {});
      const options =
        kind === 'operation-timeout' ? { operationTimeoutMs: 50 } : kind === 'run-timeout' ? { runTimeoutMs: 50 } : {};
      await rig.run(rig.tool, 'late-value', { signal: controller.signal, ...options }, scope);
      await rig.clock.advance(50);
      if (kind === 'cancel') controller.abort();
      await rig.clock.advance(0);
      await rig.clock.advance(5);
      expect(rig.ended).toMatchObject([
        { status: 'succeeded', value: 'done', late: 'within-grace', cause: null, also: [{ kind, atMs: 50 }] },
      ]);
      await closeFake(rig);
    },
  );

  it('has validateMs all the same', async () => {
    const rig = await checked(10_000);
    await rig.run(rig.tool, 'late-value', { operationTimeoutMs: 50 });
    await rig.clock.advance(50 + 999);
    expect(rig.ended).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([{ status: 'failed', error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT' } }]);
    await rig.clock.advance(10_000);
    await closeFake(rig);
  });
});

describe('a stop while a value is looked at', () => {
  it('is the cause, and told once', async () => {
    const rig = await checked(500);
    const controller = new AbortController();
    await rig.run(rig.tool, 'value', { signal: controller.signal });
    await rig.clock.advance(20);
    controller.abort();
    await rig.clock.advance(0);
    expect(rig.ended).toMatchObject([{ status: 'cancelled', cause: { kind: 'cancel', atMs: 20 }, also: [] }]);
    expect(rig.events.filter(({ type }) => type === 'stop.recorded')).toHaveLength(1);
    await rig.clock.advance(500);
    await closeFake(rig);
  });

  it('comes after a deadline that was due earlier', async () => {
    const rig = await checked(5_000);
    const controller = new AbortController();
    await rig.run(rig.tool, 'value', { operationTimeoutMs: 100, signal: controller.signal });
    rig.clock.jump(180);
    controller.abort();
    await rig.clock.advance(0);
    expect(rig.ended).toMatchObject([
      { status: 'timed-out', cause: { kind: 'operation-timeout', atMs: 100 }, also: [{ kind: 'cancel' }] },
    ]);
    await rig.clock.advance(5_000);
    await closeFake(rig);
  });

  it('is one deadline, though the scope tells of it as well', async () => {
    const rig = await checked(5_000);
    const scope = rig.supervisor.openScope({ deadlineMs: 100 });
    expect(scope.ctx.signal.aborted).toBe(false);
    await rig.run(rig.tool, 'value', {}, scope);
    await rig.clock.advance(100);
    expect(rig.ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'parent-deadline' }, also: [] }]);
    await rig.clock.advance(5_000);
    await closeFake(rig);
  });
});
