/** The far side in a process of its own: what differs from a thread, and what must not. */

import { describe, expect, it } from 'vitest';
import { CREDIT_BYTES } from '../../src/wire/protocol.ts';
import { type FarProcess, openFarProcess } from './far-process.ts';

const kinds = (far: FarProcess) => far.records.map(({ t }) => t);

describe('a run in a process', () => {
  it('is answered as in a thread, and told as started before', async () => {
    const far = await openFarProcess();
    const settled = await far.run('plain', 'default', { a: 1n, b: new Map([[1, new Date(0)]]) });
    expect(settled).toMatchObject({ ok: true, value: { a: 1n, b: new Map([[1, new Date(0)]]) } });
    expect(kinds(far).slice(0, 3)).toEqual(['installed', 'started', 'settled']);
  });

  it('is told as started before its module loads', async () => {
    const far = await openFarProcess();
    expect(await far.run('throws-at-load', 'default')).toMatchObject({ failure: { code: 'TOOL_LOAD' } });
    expect(far.of('started')).toHaveLength(1);
  });

  it('loses nothing of types, cycles and shared buffers on the way in and out', async () => {
    const far = await openFarProcess();
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const loop: Record<string, unknown> = { set: new Set([1]), pattern: /x/g, view: bytes.subarray(1), other: bytes };
    loop['self'] = loop;
    const { value } = await far.run('own-process', 'echoTypes', {
      ...loop,
      loop,
      error: new TypeError('t', { cause: 1 }),
    });
    expect(value).toMatchObject({ set: new Set([1]), pattern: /x/g, view: new Uint8Array([2, 3, 4]), same: true });
    expect(value).toMatchObject({ error: { name: 'TypeError', message: 't' } });
    const { loop: seen } = value as { loop: { self: unknown } };
    expect(seen.self).toBe(seen);
  });

  it.each(['shared', 'port'])('that returns a thing of its own process (%s) fails as not cloneable', async (name) => {
    const far = await openFarProcess();
    const { failure } = await far.run('own-process', name);
    expect(failure).toMatchObject({ code: 'NOT_CLONEABLE', name: 'DataCloneError' });
  });

  it('whose value is larger than any pipe arrives whole', async () => {
    const far = await openFarProcess();
    const { value } = await far.run('own-process', 'answer', 20_000_000);
    expect((value as Uint8Array).byteLength).toBe(20_000_000);
    expect((value as Uint8Array).every((byte) => byte === 7)).toBe(true);
  });

  it('calls its host and its hooks as in a thread', async () => {
    const far = await openFarProcess({
      calls: { dispatch: async () => 'key-1', settle: async () => undefined },
    });
    expect((await far.run('calling', 'apply', null, { effects: 'declared' })).value).toBe('applied with key-1');
    const { seq } = await far.run('hooked', 'default');
    expect(await far.hook.remote.reset(seq)).toEqual({ findings: [] });
  });
});

describe('a stop in a process', () => {
  it('that came with its run takes the run back', async () => {
    const far = await openFarProcess();
    const run = far.message('stopping', 'busyFlag');
    far.post(run, { t: 'stop', seq: run.seq, kind: 'cancel', reason: null });
    expect(await far.settled(run.seq)).toMatchObject({ ok: false, recalled: true, clean: true });
    expect(far.of('started')).toEqual([]);
    expect((await far.run('plain', 'default', 1)).value).toBe(1);
  });

  it('reaches a busy loop that asks', async () => {
    const far = await openFarProcess();
    const seq = far.start('stopping', 'busyFlag');
    await far.until('started');
    far.post({ t: 'stop', seq, kind: 'cancel', reason: 'user left' });
    expect((await far.settled(seq)).failure).toMatchObject({
      ofStop: true,
      fields: { code: 'ERR_LEASEHOLD_CANCELLED' },
    });
  });

  it('aborts the signal between turns', async () => {
    const far = await openFarProcess();
    const seq = far.start('stopping', 'untilAbort');
    await far.until('started');
    far.post({ t: 'stop', seq, kind: 'cancel', reason: null });
    expect((await far.settled(seq)).failure).toMatchObject({ name: 'AbortError', ofStop: true });
  });

  it.each(['busyFlag', 'untilAbort'])('is made of the deadline without the host (%s)', async (name) => {
    const far = await openFarProcess();
    const { failure } = await far.run('stopping', name, null, { remainingMs: 30 });
    expect(failure).toMatchObject({ name: 'TimeoutError', fields: { code: 'ERR_LEASEHOLD_RUN_TIMEOUT' } });
  });
});

describe('output of a process', () => {
  it('past the streams of Node comes by the pipes, and the rest as records', async () => {
    const far = await openFarProcess();
    await far.run('own-process', 'writeRaw');
    await far.untilSo(() => far.raw.stdout.length > 0 && far.raw.stderr.length > 0);
    expect(far.raw).toEqual({ stdout: 'raw on one\nof a child\n', stderr: 'raw on two\n' });
    expect(far.text('stdout')).toBe('captured\n');
  });

  it('that precedes a hang has left the process', async () => {
    const far = await openFarProcess();
    far.start('output', 'sayThenHang');
    await far.untilSo(() => far.text('stdout') === 'before the hang\n');
    expect(far.exit).toBeNull();
  });

  it.each([
    [2_000, 8],
    [1_000, 64],
    [300, 600],
    [200, 1_610],
    [100, 7_800],
    [20, 40_000],
  ])('tells a host that did not read whether any is missing: %i lines of %i', async (lines, width) => {
    const far = await openFarProcess({ tailBytes: 1_048_576 });
    const seq = far.start('own-process', 'floodThenSpin', { lines, width });
    await far.until('started');
    far.block();
    far.post({ t: 'stop', seq, kind: 'cancel', reason: null });
    await far.untilSo(() => far.raw.stderr === 'written\n');
    await far.end();
    expect(far.text('stdout').length).toBeLessThan(lines * width);
    expect(far.of('held').at(-1)?.bytes).toBeGreaterThan(0);
  });

  it.each([
    [64, 8_000],
    [40, 12_000],
    [64, 30_000],
  ])('is told as missing to a host that did not read, behind %i calls of %i bytes', async (calls, size) => {
    const far = await openFarProcess({ calls: { putBlob: async () => 'a digest' } });
    const seq = far.start('own-process', 'callThenSpin', { calls, size });
    await far.until('started');
    far.block();
    far.post({ t: 'stop', seq, kind: 'cancel', reason: null });
    await far.untilSo(() => far.raw.stderr === 'written\n');
    await far.end();
    expect(far.text('stdout')).toBe('');
    expect(far.of('held').at(-1)?.bytes).toBeGreaterThan(0);
  });

  it('swells no host that does not read: beyond the window only the tail is kept', async () => {
    const far = await openFarProcess({ tailBytes: 10_000 });
    const seq = far.start('own-process', 'floodOnStop', 20_000);
    await far.until('started');
    far.block();
    far.post({ t: 'stop', seq, kind: 'cancel', reason: null });
    // Past Node's streams, so it comes though no record is read.
    await far.untilSo(() => far.raw.stderr === 'written\n');
    far.unblock();
    await far.settled(1);
    const output = far.of('output');
    const omitted = output.reduce((sum, record) => sum + record.omittedBytes, 0);
    expect(far.text('stdout').length + omitted).toBe(20_000 * 100);
    expect(output.reduce((sum, { credit }) => sum + credit, 0)).toBeLessThan(CREDIT_BYTES + 11_000);
    expect(far.text('stdout')).toMatch(/\.19999\n$/);
    // It follows the answer: what the window still charges is told as read only once the host has read it.
    await far.until('held', ({ bytes }) => bytes === 0);
    expect(far.of('held').map(({ bytes }) => bytes > 0)).toEqual([true, false]);
  });
});

describe('a tool that reaches for the link', () => {
  it('finds no channel of Node', async () => {
    const far = await openFarProcess();
    expect((await far.run('own-process', 'hasIpc')).value).toEqual(['undefined', 'undefined', null]);
  });

  it('and listens for messages of a channel that is not there is found', async () => {
    const far = await openFarProcess();
    const { seq } = await far.run('own-process', 'ipcListener');
    expect((await far.looked(seq)).findings).toEqual([{ kind: 'process-listener', detail: 'message' }]);
  });

  it('forges no record, and its own answer is told', async () => {
    const far = await openFarProcess();
    expect((await far.run('own-process', 'forge')).value).toBe('true');
    expect(far.foreign).toEqual([{ t: 'settled', seq: 1, ok: true, value: 'forged', clean: true, ranMs: 0 }]);
  });

  it('and writes what is no record is told of, and its own answer after it', async () => {
    const far = await openFarProcess();
    expect((await far.run('own-process', 'unreadable')).value).toBe('true');
    expect(far.foreign).toEqual([undefined]);
  });

  it('and puts setters where a list would be filled meets none', async () => {
    const far = await openFarProcess();
    expect((await far.run('own-process', 'stealFrames')).value).toBe(0);
    expect(far.text('stdout')).toBe('said\n'.repeat(10));
    expect((await far.looked(1)).findings).toContainEqual(
      expect.objectContaining({ kind: 'intrinsic-changed', detail: 'Array.prototype: other keys' }),
    );
  });

  it('and patches what writes sees no record', async () => {
    const far = await openFarProcess();
    expect((await far.run('own-process', 'patchWrites')).value).toBe(0);
    expect(far.text('stdout')).toBe('patched\n');
  });

  it('and destroys it ends its process', async () => {
    const far = await openFarProcess();
    far.start('own-process', 'destroyLink');
    expect(await far.untilExit()).toEqual({ code: null, signal: 'SIGKILL' });
  });
});

describe('the end of a process', () => {
  it('has its own code, also after output that was still on its way', async () => {
    const far = await openFarProcess();
    far.start('own-process', 'sayAndExit', 3);
    expect(await far.untilExit()).toEqual({ code: 3, signal: null });
    expect(far.text('stdout')).toHaveLength(200_000);
  });

  it('comes when the link closes', async () => {
    const far = await openFarProcess();
    far.hangUp();
    expect(await far.untilExit()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('comes when the link closes while a busy loop asks its context', async () => {
    const far = await openFarProcess();
    far.start('stopping', 'busyFlag');
    await far.until('started');
    far.hangUp();
    expect(await far.untilExit()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('leaves no change of the working directory to the next lease', async () => {
    const far = await openFarProcess();
    const before = (await far.run('own-process', 'where')).value;
    const { seq } = await far.run('own-process', 'chdirAside');
    expect((await far.looked(seq)).findings).toEqual([{ kind: 'env-changed', detail: 'the working directory' }]);
    expect((await far.run('own-process', 'where')).value).toBe(before);
  });

  it('leaves no change of the mask of new files to the next lease', async () => {
    const far = await openFarProcess();
    const { seq, value: before } = await far.run('own-process', 'maskNewFiles', 0o077);
    expect((await far.looked(seq)).findings).toEqual([{ kind: 'env-changed', detail: 'the mask of new files' }]);
    expect((await far.run('own-process', 'maskNewFiles', 0o077)).value).toBe(before);
  });
});
