/** Stops as a tool sees them: the flag, the signal, the deadline, and whose a thrown error is. */
import { describe, expect, it } from 'vitest';
import { type FarHost, openFar } from './far-host.ts';

/** Starts a tool of `stopping` and waits until its own code runs. */
function begun(far: FarHost, exportName: string): number {
  const words = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const seq = far.start('stopping', exportName, words);
  while (Atomics.load(words, 0) === 0);
  return seq;
}

describe('stopRequested', () => {
  it('turns true inside a busy loop, with the reason already there', async () => {
    const far = await openFar();
    const seq = begun(far, 'busyFlag');
    far.stop(seq, 'cancel', 'user left');
    const { failure } = await far.settled(seq);
    expect(failure).toMatchObject({ name: 'AbortError', ofStop: true, fields: { code: 'ERR_LEASEHOLD_CANCELLED' } });
  });

  it('turns true inside a busy loop at the deadline, though the host says nothing', async () => {
    const far = await openFar();
    const { failure } = await far.run('stopping', 'busyFlag', null, { remainingMs: 20 });
    expect(failure).toMatchObject({
      name: 'TimeoutError',
      ofStop: true,
      fields: { code: 'ERR_LEASEHOLD_RUN_TIMEOUT' },
    });
  });

  it('is false for a stop of another lease', async () => {
    const far = await openFar();
    await far.run('plain', 'default');
    far.stop(1, 'cancel');
    expect((await far.run('plain', 'remaining')).value).toEqual([expect.any(Number), false]);
  });
});

describe('signal', () => {
  it('reads aborted inside a busy loop, and names the kind and the words of the stop', async () => {
    const far = await openFar();
    const seq = begun(far, 'busyAborted');
    far.stop(seq, 'parent-deadline', 'the scope ended');
    expect((await far.settled(seq)).value).toEqual([
      'TimeoutError',
      'ERR_LEASEHOLD_PARENT_DEADLINE',
      'stopped: parent-deadline: the scope ended',
    ]);
  });

  it('aborts at the deadline without the help of the host', async () => {
    const far = await openFar();
    const { failure } = await far.run('stopping', 'untilAbort', null, { remainingMs: 20 });
    expect(failure).toMatchObject({ name: 'TimeoutError', ofStop: true });
  });

  it('never aborts after the end, so a tool that keeps it sees nothing of later leases', async () => {
    const far = await openFar();
    await far.run('stopping', 'keepSignal');
    const seq = begun(far, 'untilAbort');
    far.stop(seq, 'cancel');
    await far.settled(seq);
    expect((await far.run('stopping', 'keepSignal')).value).toEqual([false, false]);
  });
});

describe('ofStop', () => {
  it.each([
    ['wrapped', true],
    ['unrelated', false],
    ['abortShaped', true],
  ])('of an error is told by its graph: %s is %s', async (name, ofStop) => {
    const far = await openFar();
    const seq = begun(far, name);
    far.stop(seq, 'cancel');
    expect((await far.settled(seq)).failure?.ofStop).toBe(ofStop);
  });
});

describe('deadline', () => {
  it('tells the time that is left, and Infinity when nothing bounds the run', async () => {
    const far = await openFar();
    const [left] = (await far.run('plain', 'remaining', null, { remainingMs: 5_000 })).value as [number];
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(5_000);
    expect((await far.run('plain', 'remaining', null, { remainingMs: null })).value).toEqual([
      Number.POSITIVE_INFINITY,
      false,
    ]);
  });
});
