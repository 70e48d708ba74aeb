/** Tools that patch, post, exit and throw aside: none makes the isolate say something wrong. */
import { describe, expect, it } from 'vitest';
import { openFar, textOf } from './far-host.ts';

describe('a tool', () => {
  it('that patches postMessage sees no record and changes none', async () => {
    const far = await openFar();
    const settled = await far.run('hostile', 'patchPost');
    expect(settled.value).toBe('right');
    expect((await far.run('hostile', 'seenByPatch')).value).toBe(0);
  });

  it('that patches the globals and prototypes gets its own value, and is found out', async () => {
    const far = await openFar({ full: 'every' });
    const settled = await far.run('hostile', 'patchGlobals');
    expect(settled).toMatchObject({ ok: true, value: 'right', clean: false });
    const details = (await far.looked(settled.seq)).findings.map(({ detail }) => detail);
    expect(details).toEqual(
      expect.arrayContaining(['JSON.stringify', 'Array.prototype.push', 'Promise.prototype.then']),
    );
  });

  it('that posts to every port it finds posts without the nonce', async () => {
    const far = await openFar();
    const settled = await far.run('hostile', 'postToPorts');
    expect(settled.value).toBeGreaterThan(0);
    expect(far.of('settled')).toEqual([settled]);
    expect(far.foreign).toEqual([{ t: 'settled', seq: 1, ok: true, value: 'forged', clean: true }]);
  });

  it('that posts to its parent reaches the Worker only', async () => {
    const far = await openFar();
    expect((await far.run('hostile', 'postToParent')).value).toBeUndefined();
    expect(far.foreign).toEqual([]);
  });

  it('that traps property names on prototypes catches neither nonce nor record', async () => {
    const far = await openFar();
    const settled = await far.run('hostile', 'setterTrap');
    expect(settled.value).toBe('done');
    expect(textOf(far, 'stdout')).not.toContain(far.nonce);
  });

  it('that exits ends the thread with its code and leaves no result', async () => {
    const far = await openFar();
    far.start('hostile', 'exit');
    expect(await far.untilExit()).toBe(3);
    expect(far.of('settled')).toEqual([]);
  });

  it('that exits again in an exit handler ends all the same', async () => {
    const far = await openFar();
    far.start('hostile', 'exitInExit');
    expect(await far.untilExit()).toBeGreaterThan(0);
    expect(far.of('settled')).toEqual([]);
  });
});

describe('an uncaught error', () => {
  it.each([
    ['removeListeners', 'nobody listens'],
    ['rejectAside', 'aside'],
  ])('is told as fatal for the lease at hand, and the thread lives: %s', async (name, message) => {
    const far = await openFar();
    const seq = far.start('hostile', name);
    expect(await far.until('fatal')).toMatchObject({ seq, failure: { code: 'UNCAUGHT', message } });
    // The hook is refused, but by a thread that still answers.
    await expect(far.hook.remote.healthCheck(seq)).rejects.toThrow('another lease');
  });

  it('after the end belongs to nobody', async () => {
    const far = await openFar();
    await far.run('hostile', 'throwLater');
    expect(await far.until('fatal')).toMatchObject({ seq: 0, failure: { message: 'later' } });
  });
});
