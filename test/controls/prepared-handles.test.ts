/**
 * Prepared requests: accepted now, claimed once, run later.
 *
 * Invariant: threads and time are fake. Deliberately absent: what idle handles cost the process (`idle-handles.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PreparedExecution } from '../../src/model/control-shapes.ts';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { RunResult } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { patientAuthorizer } from '../authorize/asking.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';

const mirror = { run: (tenure: { value(x: unknown): void }, { input }: { input: unknown }) => tenure.value(input) };
const tool = defineTool({
  name: 'order',
  module: 'file:///fake/tool.mjs',
  input: z.object({ item: z.string(), key: z.string().optional(), nested: z.any() }),
  effects: 'none',
  secrets: ({ key }) => (key === undefined ? [] : [key]),
});
const slow = defineTool({
  name: 'slow',
  module: 'file:///fake/tool.mjs',
  input: z.unknown().refine(() => new Promise<boolean>(() => {})),
  effects: 'none',
});
const NOT_CLAIMABLE = { status: 'rejected', error: { code: 'ERR_LEASEHOLD_PREPARED_NOT_CLAIMABLE' }, lease: null };
const code = (suffix: string) => expect.objectContaining({ leaseholdCode: `ERR_LEASEHOLD_${suffix}` });

describe('a prepared request', () => {
  it('runs on what was given, whatever becomes of that', async () => {
    const rig = await requestRig(mirror);
    const input = { item: 'tea', nested: { amount: 1 } };
    const labels = { of: 'the caller' };
    const seen: unknown[] = [];
    const options: { -readonly [K in keyof RunOptions]: RunOptions[K] } = {
      labels,
      onPrepared: (_, prepared) => void seen.push(prepared),
    };
    const handle = await rig.supervisor.prepareExecution(tool, input, options);
    input.item = 'coffee';
    input.nested.amount = 2;
    labels.of = 'somebody';
    options.onPrepared = () => void seen.push('replaced');
    const result = await rig.supervisor.runPrepared(handle);
    expect(result).toMatchObject({ status: 'succeeded', value: { item: 'tea', nested: { amount: 1 } } });
    expect(result.request.labels).toEqual({ of: 'the caller' });
    expect(seen).toEqual([handle.details()]);
    await closeFake(rig);
  });

  it('tells its details, redacted and detached, also after it ran or was discarded', async () => {
    const rig = await requestRig(mirror);
    const scope = rig.supervisor.openScope({ tenant: 'acme', run: 'r-1' });
    const prepare = () => scope.prepareExecution(tool, { item: 'tea', key: 'hunter2', nested: null }, { graceMs: 7 });
    const [ran, discarded] = [await prepare(), await prepare()];
    const details = ran.details();
    expect(details).toMatchObject({ tool: 'order', tenant: 'acme', run: 'r-1', limits: { graceMs: 7 } });
    expect(details.input).toEqual({ item: 'tea', key: '[redacted]', nested: null });
    (details.input as { item: string }).item = 'changed';
    expect((await scope.runPrepared(ran)).status).toBe('succeeded');
    expect(discarded.discard()).toBe(true);
    for (const handle of [ran, discarded]) expect(handle.details().input).toMatchObject({ item: 'tea' });
    expect(new Set([ran.id, discarded.id]).size).toBe(2);
    expect(await scope.prepare(tool, { item: 'tea', key: 'hunter2', nested: null }, { graceMs: 7 })).toEqual(
      ran.details(),
    );
    await closeFake(rig);
  });

  it('is claimed by the first of two calls within one turn', async () => {
    const rig = await requestRig(mirror);
    const handle = await rig.supervisor.prepareExecution(fakeTool(), 'once');
    const results = await Promise.all([rig.supervisor.runPrepared(handle), rig.supervisor.runPrepared(handle)]);
    expect(results).toMatchObject([{ status: 'succeeded' }, NOT_CLAIMABLE]);
    expect(runResultSchema.safeParse(results[1]).error?.issues ?? []).toEqual([]);
    expect(rig.events.filter(({ type }) => type === 'request.started')).toHaveLength(1);
    expect(rig.events.filter(({ type }) => type === 'request.ended')).toHaveLength(1);
    expect(handle.discard()).toBe(false);
    await closeFake(rig);
  });

  it.each([
    ['used', async (rig, handle) => void (await rig.supervisor.runPrepared(handle))],
    ['discarded', async (_, handle) => void handle.discard()],
    ['cloned', async (_, handle) => ({ ...handle, details: () => handle.details(), discard: () => true })],
    ['of another supervisor', async () => (await requestRig()).supervisor.prepareExecution(fakeTool(), 1)],
    ['nobody made', async () => null],
  ] as [string, (rig: Awaited<ReturnType<typeof requestRig>>, handle: PreparedExecution) => Promise<unknown>][])(
    'that is %s is rejected, and nobody is told',
    async (_, spoil) => {
      const rig = await requestRig(mirror);
      const handle = await rig.supervisor.prepareExecution(fakeTool(), 'x');
      const given = ((await spoil(rig, handle)) ?? (_ === 'nobody made' ? null : handle)) as PreparedExecution;
      const [told, runs] = [rig.events.length, rig.runs()];
      expect(await rig.supervisor.runPrepared(given)).toMatchObject(NOT_CLAIMABLE);
      expect([rig.events.length, rig.runs()]).toEqual([told, runs]);
      await closeFake(rig);
    },
  );

  it('is claimed by its own scope and those around it, and by no other', async () => {
    const rig = await requestRig(mirror);
    const outer = rig.supervisor.openScope({ run: 'r-1' });
    const inner = outer.fork({ branch: 'b' });
    const other = rig.supervisor.openScope();
    const handle = await inner.prepareExecution(fakeTool(), 'x');
    expect(await other.runPrepared(handle)).toMatchObject(NOT_CLAIMABLE);
    expect(await outer.runPrepared(handle)).toMatchObject({
      status: 'succeeded',
      request: { run: 'r-1', branch: 'b' },
    });
    await closeFake(rig);
  });

  it('keeps a duration: its budget begins when it is claimed', async () => {
    const rig = await requestRig();
    const idle = rig.clock.pending;
    const handle = await rig.supervisor.prepareExecution(fakeTool(), 'hang', { operationTimeoutMs: 50 });
    expect(rig.clock.pending).toBe(idle);
    await rig.clock.advance(10_000);
    const ended: RunResult[] = [];
    void rig.supervisor.runPrepared(handle).then((result) => ended.push(result));
    await rig.clock.advance(49);
    expect(ended).toEqual([]);
    await rig.clock.advance(10_000);
    expect(ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'operation-timeout', atMs: 50 } }]);
    await closeFake(rig);
  });

  it('is bounded in both halves by the deadline of its scope', async () => {
    const rig = await requestRig();
    const scope = rig.supervisor.openScope({ deadlineMs: 100 });
    const handle = await scope.prepareExecution(fakeTool(), 'hang');
    let refusal: unknown = null;
    void scope.prepare(slow, 'x').catch((error: unknown) => {
      refusal = error;
    });
    await rig.clock.advance(60);
    const ended: RunResult[] = [];
    void scope.runPrepared(handle).then((result) => ended.push(result));
    await rig.clock.advance(40);
    expect(refusal).toEqual(code('PARENT_DEADLINE'));
    await rig.clock.advance(10_000);
    expect(ended).toMatchObject([{ cause: { kind: 'parent-deadline', atMs: 40, scope: scope.id } }]);
    await expect(scope.prepare(fakeTool(), 'x')).rejects.toEqual(code('PARENT_DEADLINE'));
    await closeFake(rig);
  });

  it('asks the authorizer once it is claimed, within its budget', async () => {
    const { authorize, asked } = patientAuthorizer();
    const rig = await requestRig(mirror, { authorize });
    const handle = await rig.supervisor.prepareExecution(fakeTool(), 'x', { operationTimeoutMs: 30 });
    expect(asked).toEqual([]);
    const ended: RunResult[] = [];
    void rig.supervisor.runPrepared(handle).then((result) => ended.push(result));
    expect(asked).toHaveLength(1);
    await rig.clock.advance(30);
    expect(ended).toMatchObject([{ status: 'timed-out', error: { code: 'ERR_LEASEHOLD_OPERATION_TIMEOUT' } }]);
    await closeFake(rig);
  });

  it('moves its buffers when it is prepared, and on when it runs', async () => {
    const rig = await requestRig(mirror);
    const buffer = new Uint8Array([1, 2, 3]).buffer;
    const handle = await rig.supervisor.prepareExecution(fakeTool(), { buffer }, { transfer: [buffer] });
    expect(buffer.byteLength).toBe(0);
    const result = await rig.supervisor.runPrepared(handle);
    expect((result.value as { buffer: ArrayBuffer }).buffer.byteLength).toBe(3);
    const kept = new ArrayBuffer(3);
    await rig.supervisor.prepare(fakeTool(), { kept }, { transfer: [kept] });
    expect(kept.byteLength).toBe(3);
    await closeFake(rig);
  });

  it('is refused where its input is, and where the scope is closed', async () => {
    const rig = await requestRig();
    const scope = rig.supervisor.openScope();
    await expect(scope.prepareExecution(tool, { item: 1 } as never)).rejects.toEqual(code('INVALID_INPUT'));
    await expect(scope.prepareExecution(fakeTool(), () => 1)).rejects.toEqual(code('NOT_CLONEABLE'));
    await expect(scope.prepareExecution(fakeTool(), 1, { speed: 1 } as never)).rejects.toEqual(code('INVALID_OPTION'));
    const handle = await scope.prepareExecution(fakeTool(), 'x');
    await expect(scope.runPrepared(handle, { graceMs: 1 } as never)).rejects.toEqual(code('INVALID_OPTION'));
    await scope.shutdown();
    await expect(scope.prepareExecution(fakeTool(), 1)).rejects.toEqual(code('CANCELLED'));
    await closeFake(rig);
    await expect(rig.supervisor.prepare(fakeTool(), 1)).rejects.toMatchObject({ name: expect.any(String) });
  });

  it('lets the signal of its options end the preparation, and nothing later', async () => {
    const rig = await requestRig(mirror);
    const controller = new AbortController();
    const { signal } = controller;
    const handle = await rig.supervisor.prepareExecution(fakeTool(), 'x', { signal });
    const waiting = rig.supervisor.prepareExecution(slow, 'x', { signal }).then(null, (error: unknown) => error);
    controller.abort(new Error('enough'));
    expect(await waiting).toEqual(code('CANCELLED'));
    expect((await rig.supervisor.runPrepared(handle)).status).toBe('succeeded');
    const again = await rig.supervisor.prepareExecution(fakeTool(), 'x');
    expect((await rig.supervisor.runPrepared(again, { signal })).status).toBe('cancelled');
    await closeFake(rig);
    expect(rig.clock.pending).toBe(0);
  });

  it('for any order of claims and discards, runs once for the claim that came first', async () => {
    const steps = fc.array(fc.constantFrom('claim', 'discard', 'foreign', 'details', 'idle'), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const rig = await requestRig(mirror);
        const stranger = rig.supervisor.openScope();
        const handle = await rig.supervisor.prepareExecution(fakeTool(), 'x', { operationTimeoutMs: 5 });
        const results: Promise<RunResult>[] = [];
        let gone = false;
        let claimed = 0;
        for (const step of plan) {
          if (step === 'claim') {
            results.push(rig.supervisor.runPrepared(handle));
            claimed += gone ? 0 : 1;
            gone = true;
            await settle();
          } else if (step === 'discard') {
            expect(handle.discard()).toBe(!gone);
            gone = true;
          } else if (step === 'foreign') results.push(stranger.runPrepared(handle));
          else if (step === 'details') expect(handle.details().input).toBe('x');
          else await rig.clock.advance(100);
        }
        await settle();
        const succeeded = (await Promise.all(results)).filter(({ ok }) => ok);
        expect([succeeded.length, rig.runs()]).toEqual([claimed, claimed]);
        await closeFake(rig);
      }),
      { numRuns: 100 },
    );
  });
});
