/** Serving: one record per lease, the right one, whatever the tool does. */
import { describe, expect, it } from 'vitest';
import { WORD } from '../../src/wire/protocol.ts';
import { openFar } from './far-host.ts';

describe('a value', () => {
  it('crosses in one record that says clean, when nothing else is due', async () => {
    const far = await openFar();
    await far.run('plain', 'default');
    const settled = await far.run('plain', 'default', { a: [1, new Date(0)] });
    expect(settled).toMatchObject({ ok: true, value: { a: [1, new Date(0)] }, reset: false, healthCheck: false });
    const quick = [settled, await far.run('plain', 'default'), await far.run('plain', 'default')];
    expect(quick.some(({ clean }) => clean)).toBe(true);
    for (const { seq, clean } of quick) if (clean) expect(far.of('looked').some((l) => l.seq === seq)).toBe(false);
  });

  it('is awaited, also through a foreign thenable, and the tool has no receiver', async () => {
    const far = await openFar();
    expect((await far.run('plain', 'waiting')).value).toBe('later');
    expect((await far.run('plain', 'thenable')).value).toBe(7);
    expect((await far.run('plain', 'receiver')).value).toBe(true);
  });

  it('may be circular', async () => {
    const far = await openFar();
    const { value } = await far.run('plain', 'circular');
    expect((value as { self: unknown }).self).toBe(value);
  });

  it('is computed from a transferred buffer of 64 MB', async () => {
    const far = await openFar();
    const { buffer } = new Uint8Array(64 * 2 ** 20);
    const settled = await far.run('plain', 'digest', buffer, { transfer: [buffer] });
    expect(settled.failure?.message).toMatch(/data/);
    const { buffer: bytes } = new Uint8Array(64 * 2 ** 20);
    const { value } = await far.run('plain', 'digest', new Uint8Array(bytes), { transfer: [bytes] });
    expect(value).toBe('3b6a07d0d404fab4e23b6d34bc6696a6a312dd92821332385e5af7c01c421351');
    expect(bytes.byteLength).toBe(0);
  });

  it.each(['returnFunction', 'returnThrowingGetter', 'returnSymbol'])(
    'that cannot be cloned is a coded failure, and the isolate serves on: %s',
    async (name) => {
      const far = await openFar();
      const settled = await far.run('plain', name);
      expect(settled).toMatchObject({ ok: false, clean: false, failure: { code: 'NOT_CLONEABLE', ofStop: false } });
      expect(settled.failure?.message).toMatch(/^The result cannot be cloned: ./);
      expect((await far.looked(settled.seq)).findings).toEqual([]);
      expect((await far.run('plain', 'default', 1)).value).toBe(1);
      expect(far.of('settled')).toHaveLength(2);
    },
  );
});

describe('a throw', () => {
  it.each([
    [null, 'null'],
    [0, '0'],
    ['', ''],
  ])('of %s is told as it is', async (thrown, message) => {
    const far = await openFar();
    const { failure, ok } = await far.run('plain', 'throwInput', thrown);
    expect(ok).toBe(false);
    expect(failure).toMatchObject({ code: 'TOOL_ERROR', name: 'NonError', message });
  });

  it.each(['nothing', 'symbol', 'loop', 'holder', 'hostile'])(
    'of an odd thing becomes a plain failure: %s',
    async (which) => {
      const far = await openFar();
      const { failure } = await far.run('plain', 'throwOdd', which);
      expect(failure?.code).toBe('TOOL_ERROR');
      if (which === 'holder') expect(failure).toMatchObject({ message: 'holder', fields: { code: 'EHOLD' } });
    },
  );
});

describe('loading', () => {
  it.each([
    ['throws-at-load', 'default', /throws-at-load\.mjs \(export default\) cannot be used: broken at load/],
    ['syntax-error', 'default', /syntax-error\.mjs .*cannot be used: /],
    ['missing-file', 'default', /missing-file\.mjs .*cannot be used: Cannot find module/],
    ['plain', 'absent', /plain\.mjs \(export absent\) .*no such export/],
    ['plain', 'notFunction', /plain\.mjs \(export notFunction\) .*not a function/],
  ])('fails its own request only: %s, %s', async (file, exportName, message) => {
    const far = await openFar();
    const { failure, ok } = await far.run(file, exportName);
    expect(ok).toBe(false);
    expect(failure?.code).toBe('TOOL_LOAD');
    expect(failure?.message).toMatch(message);
    expect(failure?.message).not.toMatch(/[\\/]/);
    expect((await far.run('plain', 'default', 1)).value).toBe(1);
  });
});

describe('the STARTED word', () => {
  it('tells the lease that began, also while a busy loop keeps every message back', async () => {
    const far = await openFar();
    const gate = new Int32Array(new SharedArrayBuffer(4));
    // Loading turns the loop, so the tool is loaded before.
    Atomics.store(gate, 0, 1);
    await far.run('plain', 'untilWord', { words: gate.buffer, index: 0 });
    far.records.length = 0;
    Atomics.store(gate, 0, 0);
    const seq = far.start('plain', 'untilWord', { words: gate.buffer, index: 0 });
    while (Atomics.load(far.words, WORD.STARTED) !== seq);
    Atomics.store(gate, 0, 1);
    expect((await far.settled(seq)).value).toBe('seen');
    expect(far.of('started')).toEqual([]);
  });

  it('is followed by a started record only when a turn passed without an end', async () => {
    const far = await openFar();
    const { seq } = await far.run('plain', 'default');
    const slow = far.start('stopping', 'untilAbort');
    await far.until('started', (record) => record.seq === slow);
    far.stop(slow, 'cancel');
    await far.settled(slow);
    expect((await far.run('plain', 'default')).ok).toBe(true);
    expect(far.of('started').map((record) => record.seq)).not.toContain(seq + 2);
  });
});

describe('hooks', () => {
  it('are announced; reset is followed by a look, a failing health check rejects', async () => {
    const far = await openFar();
    const settled = await far.run('hooked', 'default');
    expect(settled).toMatchObject({ reset: true, healthCheck: true, clean: false });
    expect((await far.looked(settled.seq)).findings).toEqual([{ kind: 'residual-handle', detail: 'Timeout × 1' }]);
    expect(await far.hook.remote.reset(settled.seq)).toEqual({ findings: [] });
    await expect(far.hook.remote.healthCheck(settled.seq)).rejects.toMatchObject({ message: 'unwell', code: 'ESICK' });
  });

  it('refuse a lease that is not the last', async () => {
    const far = await openFar();
    const { seq } = await far.run('hooked', 'default');
    await far.run('plain', 'default');
    await expect(far.hook.remote.reset(seq)).rejects.toThrow('another lease');
  });
});

describe('a run that was told to stop before it began', () => {
  it('is taken back: no code of its module runs, and the next one is served', async () => {
    const far = await openFar();
    Atomics.store(far.words, WORD.STOP, 1);
    const settled = await far.run('throws-at-load', 'default');
    expect(settled).toMatchObject({ ok: false, clean: true, ranMs: 0, failure: { name: 'AbortError', ofStop: true } });
    expect((await far.run('plain', 'default', 1)).value).toBe(1);
    expect(far.of('started').map(({ seq }) => seq)).not.toContain(1);
  });
});

describe('a rejection that nobody hears', () => {
  it('is blamed on no later lease, over many that follow at once', async () => {
    const far = await openFar();
    /** As a busy host does: it looks without a turn of its loop, and posts the next before the isolate may sleep. */
    const runAtOnce = async (file: string, exportName: string): Promise<void> => {
      const seq = far.start(file, exportName);
      Atomics.store(far.words, WORD.POSTED, seq);
      const hasSettled = () => far.records.slice(-2).some((record) => record.t === 'settled' && record.seq === seq);
      for (let look = 0; look < 100_000 && !hasSettled(); look += 1) far.sweep();
      await far.settled(seq);
    };
    for (let pair = 0; pair < 500; pair += 1) {
      await runAtOnce('rejecting', 'leaveRejection');
      // It is still there in the turn after: whatever was not seen by then would be taken for its own.
      await runAtOnce('plain', 'waiting');
    }
    expect(far.of('settled').filter(({ ok }) => ok)).toHaveLength(1_000);
    expect(far.of('fatal').map(({ seq }) => seq)).toEqual([0]);
  });
});
