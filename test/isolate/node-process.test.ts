/**
 * NodeProcessPool on real processes: boots, runs, and every way in which a process can end.
 *
 * Invariant: every wait is for a record, an exit or a file, none for a time. Deliberately absent: what an isolate makes
 * of it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failureOfExit } from '../../src/run/exit-failure.ts';
import { CREDIT_BYTES, WORD } from '../../src/wire/protocol.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { makeFifo } from '../support/fault-fifo.ts';
import { HeardTenure, openPool, openTenure } from './node-process-rig.ts';

/** Live processes with this marker; the environment of a zombie is empty. */
function marked(marker: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => environOf(pid).includes(`LEASEHOLD_RUN=${marker}`)).map(Number);
}
function environOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

describe('open', () => {
  it('boots a process that runs a module and tells its start by the word', async () => {
    const heard = await openTenure();
    expect(Atomics.load(heard.tenure.words, WORD.STARTED)).toBe(0);
    expect((await heard.run('default', { a: 1 }, 'plain')).value).toMatchObject({ a: 1 });
    expect(Atomics.load(heard.tenure.words, WORD.STARTED)).toBe(1);
    expect(heard.tenure).toMatchObject({ sharesWords: false, exit: null });
  });

  it('of a program that is not there rejects, and tells the exit', async () => {
    const heard = new HeardTenure(openPool({ execPath: '/nonexistent/node' }));
    await expect(heard.tenure.installed).rejects.toMatchObject({ code: 'ERR_LEASEHOLD_SPAWN_FAILED' });
    expect(await heard.untilExit()).toMatchObject({ code: null, error: { code: 'ERR_LEASEHOLD_SPAWN_FAILED' } });
  });

  it('of a program that ends rejects, and tells its code', async () => {
    const heard = new HeardTenure(openPool({ execPath: '/bin/false' }));
    await expect(heard.tenure.installed).rejects.toThrow('ended with code 1');
    expect(await heard.untilExit()).toEqual({ code: 1, signal: null, error: null });
  });

  it('that takes longer than its bound rejects, and the process is ended', async () => {
    const clock = new FakeClock();
    const heard = new HeardTenure(openPool({ clock }), 100);
    clock.jump(100);
    clock.fireDue();
    await expect(heard.tenure.installed).rejects.toThrow('within 100 ms');
    expect(await heard.untilExit()).toMatchObject({ signal: 'SIGKILL' });
  });
});

describe('post', () => {
  it('of what cannot be cloned throws, and the process serves the next', async () => {
    const heard = await openTenure();
    const post = () => heard.start('echoTypes', () => undefined);
    expect(post).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
    expect((await heard.run('default', { a: 2 }, 'plain')).value).toMatchObject({ a: 2 });
    expect(heard.of('started')).toHaveLength(1);
  });

  it('copies a buffer and leaves it where it is', async () => {
    const heard = await openTenure();
    const other = new Uint8Array([1, 2]);
    await heard.run('echoTypes', { other, view: other });
    expect(other.byteLength).toBe(2);
  });

  it('after the end throws nothing', async () => {
    const heard = await openTenure();
    heard.start('exit', 4);
    expect(await heard.untilExit()).toMatchObject({ code: 4 });
    expect(() => heard.start('exit', 5)).not.toThrow();
  });
});

describe('output', () => {
  it("past the streams of Node is the lease's too, and comes before the answer", async () => {
    const heard = await openTenure();
    await heard.run('writeRaw');
    expect(heard.text('stdout')).toContain('raw on one\nof a child\n');
    expect(heard.text('stdout')).toContain('captured\n');
    expect(heard.text('stderr')).toBe('raw on two\n');
    expect(heard.records.findIndex(({ t }) => t === 'settled')).toBeGreaterThan(
      heard.records.findLastIndex(({ t }) => t === 'output'),
    );
  });

  it('is let through again by what the host has read', async () => {
    const heard = await openTenure();
    for (let run = 0; run < 8; run += 1) await heard.run('say', 100_000);
    expect(heard.text('stdout')).toBe('x'.repeat(800_000));
  });

  it('is let through again in a loop that never yields', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-seen-'));
    const heard = await openTenure();
    heard.start('writeUntil', join(folder, 'enough'));
    while (heard.text('stdout').length < 2 * CREDIT_BYTES) await heard.changed();
    writeFileSync(join(folder, 'enough'), '');
    const { value } = await heard.until('settled');
    const omitted = heard.of('output').reduce((sum, { omittedBytes }) => sum + omittedBytes, 0);
    expect(heard.text('stdout').length + omitted).toBe((value as number) * 100);
    rmSync(folder, { recursive: true });
  });

  it('written before an exit is heard to its end', async () => {
    const heard = await openTenure({ tailBytes: 1_048_576 });
    heard.start('sayLinesAndExit', 20_000);
    await heard.untilExit();
    expect(heard.text('stdout')).toMatch(/^line 0\n/);
    expect(heard.text('stdout').split('\n')).toHaveLength(20_001);
  });
});

describe('a process', () => {
  it.each([
    ['exits', 'exit', 3, { code: 3, signal: null, error: null }],
    ['aborts', 'abort', null, { code: null, signal: 'SIGABRT', error: null }],
    ['crashes', 'signal', 'SIGSEGV', { code: null, signal: 'SIGSEGV', error: null }],
    ['destroys its link', 'destroyLink', null, { code: null, signal: 'SIGKILL', error: null }],
    ['closes its link', 'closeLink', null, { code: null, signal: 'SIGKILL', error: null }],
  ])('that %s is told by how it ended, and left no answer', async (_, name, input, exit) => {
    const heard = await openTenure();
    heard.start(name, input);
    expect(await heard.untilExit()).toEqual(exit);
    expect(heard.of('settled')).toEqual([]);
    expect(heard.tenure.exit).toEqual(exit);
  });

  it('that exhausts its heap fails as out of memory', async () => {
    const heard = await openTenure({ resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 6 } });
    heard.start('exhaust');
    expect(failureOfExit(await heard.untilExit())).toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect(heard.text('stderr')).toContain('heap out of memory');
  });

  it('that fails where nothing catches it tells so by itself', async () => {
    const heard = await openTenure();
    heard.start('removeListeners', null, 'hostile');
    expect((await heard.until('fatal')).failure).toMatchObject({ code: 'UNCAUGHT', message: 'nobody listens' });
  });

  it('that writes noise into its link is ended, and the noise is no record', async () => {
    const heard = await openTenure();
    heard.start('garbage');
    expect(await heard.untilExit()).toMatchObject({ signal: 'SIGKILL' });
    expect(heard.foreign).toEqual([undefined]);
  });

  it('that forges an answer is heard with its own', async () => {
    const heard = await openTenure();
    expect((await heard.run('forge')).value).toBe('true');
    expect(heard.foreign).toHaveLength(1);
  });
});

describe('terminate', () => {
  it('ends a loop that never yields', async () => {
    const heard = await openTenure();
    heard.start('spin');
    await heard.until('started');
    heard.tenure.terminate();
    expect(await heard.untilExit()).toEqual({ code: null, signal: 'SIGKILL', error: null });
  });

  it('ends a read that blocks in the system', async () => {
    const fifo = makeFifo();
    const heard = await openTenure();
    heard.start('readFifo', fifo.path);
    await fifo.untilRead();
    heard.tenure.terminate();
    expect(await heard.untilExit()).toMatchObject({ signal: 'SIGKILL' });
    await fifo.release();
  });

  it.each(['leaveChild', 'leaveEscapee'])('ends what its tool started (%s)', async (name) => {
    const heard = await openTenure();
    const { pid, marker } = (await heard.run(name)).value as { pid: number; marker: string };
    expect(marker).toMatch(new RegExp(`^${process.pid}\\.\\d+\\.`));
    const children = marked(marker).filter((found) => found !== pid);
    expect(children).toHaveLength(1);
    heard.tenure.terminate();
    await heard.untilExit();
    expect(marked(marker)).toEqual([]);
  });

  it('while it boots is told by the exit', async () => {
    const heard = new HeardTenure(openPool());
    heard.tenure.terminate();
    heard.tenure.terminate();
    expect(await heard.untilExit()).toMatchObject({ signal: 'SIGKILL' });
    await expect(heard.tenure.installed).rejects.toMatchObject({ code: 'ERR_LEASEHOLD_LEASE_UNAVAILABLE' });
  });
});
