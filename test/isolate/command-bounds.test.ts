/**
 * CommandTenure against time: how long each step may take, and what is told when a process does not end.
 *
 * Invariant: the processes and the clock are the test's own, so a bound passes when the test says so. Deliberately absent:
 * real processes (`command.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { survivor } from '../support/process-fakes.ts';
import { running } from './command-rig.ts';

describe('a command that ended by itself', () => {
  it('is read until the quiet time passed without a byte, counted from the last one', async () => {
    const { ran, process, advance } = running();
    process.end();
    await advance(200);
    process.write('more');
    await advance(249);
    expect(ran.all('drained')).toEqual([]);
    process.endPipes();
    await settle();
    expect(ran.all('drained')).toMatchObject([{ ended: 'eof', ms: 449 }]);
  });

  it('is read until the cap, however often it writes', async () => {
    const { backend, process, advance } = running();
    process.end();
    for (let at = 0; at < 2_000; at += 200) {
      expect(backend.looks).toBe(0);
      process.write('more');
      await advance(200);
    }
    expect(backend.looks).toBeGreaterThan(0);
  });

  it('with a group that lives: the group is killed, and its pipes are read 500 ms more', async () => {
    const { ran, backend, process, advance, kinds } = running();
    backend.group = 'alive';
    process.end();
    await advance(250);
    expect(backend.sent).toEqual(['SIGKILL']);
    backend.found = async () => [survivor({ holdsPipe: true })];
    for (let at = 0; at < 500; at += 50) {
      expect(ran.all('drained')).toEqual([]);
      process.write('more');
      await advance(50);
    }
    await advance(500);
    expect(ran.all('drained')).toMatchObject([{ ended: 'quiet', stdoutEof: false }]);
    expect(ran.all('output').every(({ postKill }) => postKill === true)).toBe(true);
    expect(kinds()).toContain('contaminated');
  });

  it('is not searched when its group is gone and its pipes are at their end', async () => {
    const { ran, backend, process, kinds } = running();
    process.endPipes();
    process.end();
    await settle();
    expect(ran.all('drained')).toMatchObject([{ ended: 'eof', ms: 0 }]);
    expect([backend.looks, backend.sent, kinds()]).toEqual([0, [], []]);
  });

  it('is unverified where nobody can look, and no failure for it', async () => {
    const { ran, backend, process, kinds } = running({ onOrphans: 'fail' });
    backend.group = 'unknown';
    backend.found = async () => null;
    process.endPipes();
    process.end();
    await settle();
    expect(kinds()).toEqual(['unverified']);
    expect(ran.all('settled')).toMatchObject([{ ok: true }]);
  });

  it('before a stop that the host sent too late, keeps its value', async () => {
    const { ran, backend, process } = running();
    backend.ended = true;
    ran.stop();
    process.endPipes();
    process.end(0);
    await settle();
    expect(ran.all('settled')).toMatchObject([{ ok: true, value: { exitCode: 0 } }]);
  });
});

describe('a command that was told to stop', () => {
  it('has its input closed, and its group told TERM, then CONT', () => {
    const { ran, backend, process } = running();
    ran.stop();
    ran.stop();
    expect([backend.sent, process.isStdinClosed]).toEqual([['SIGTERM', 'SIGCONT'], true]);
  });

  it('is never signalled again once the group was gone', () => {
    const { ran, backend } = running();
    backend.reach = () => 'gone';
    ran.stop();
    ran.tenure.terminate();
    expect(backend.sent).toEqual(['SIGTERM']);
  });

  it('leaves its group the grace counted from the stop, not a moment more', async () => {
    const { ran, backend, process, advance } = running();
    backend.group = 'alive';
    ran.stop();
    await advance(1_500);
    process.end(null, 'SIGTERM');
    await advance(499);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
    await advance(1);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT', 'SIGKILL']);
  });

  it('is over as soon as its group is gone', async () => {
    const { ran, backend, process, advance } = running();
    backend.group = 'alive';
    ran.stop();
    process.end(null, 'SIGTERM');
    process.endPipes();
    backend.group = 'gone';
    await advance(100);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
    expect(ran.all('looked')).toMatchObject([{ findings: [] }]);
  });
});

describe('a command whose standard input broke', () => {
  it('is told TERM with its input left open, and KILL after its grace', async () => {
    const { ran, backend, process, advance } = running();
    process.breakStdin(new RangeError('broke'));
    expect([backend.sent, process.isStdinClosed]).toEqual([['SIGTERM', 'SIGCONT'], false]);
    await advance(1_999);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
    await advance(1);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT', 'SIGKILL']);
    process.end(null, 'SIGKILL');
    await settle();
    expect(ran.all('settled')).toMatchObject([{ ok: false, failure: { name: 'RangeError', ofStop: false } }]);
  });

  it('after it had ended by itself, keeps its value', async () => {
    const { ran, backend, process } = running();
    backend.ended = true;
    process.breakStdin(new RangeError('broke'));
    process.endPipes();
    process.end(0);
    await settle();
    expect([ran.all('settled')[0]?.ok, backend.sent]).toEqual([true, []]);
  });

  it('after it was told to stop, ends by the stop', async () => {
    const { ran, backend, process } = running();
    ran.stop();
    process.breakStdin(new RangeError('broke'));
    process.end(null, 'SIGTERM');
    await settle();
    expect(ran.all('settled')).toMatchObject([{ failure: { name: 'AbortError', ofStop: true } }]);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
  });

  it('and is told to stop afterwards, is not told TERM twice and fails by its input', async () => {
    const { ran, backend, process } = running();
    process.breakStdin(new RangeError('broke'));
    ran.stop();
    expect(process.isStdinClosed).toBe(true);
    process.end(null, 'SIGTERM');
    await settle();
    expect(ran.all('settled')).toMatchObject([{ failure: { name: 'RangeError', ofStop: false } }]);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
  });
});

describe('the tenure', () => {
  it('tells nothing from within a call', () => {
    const { ran, process } = running();
    expect(ran.records).toEqual([]);
    process.write('early');
    expect(ran.records).toEqual([]);
    expect(ran.tenure.receive()?.message).toMatchObject({ t: 'started', seq: 1 });
    expect(ran.tenure.receive()?.message).toMatchObject({ t: 'output', credit: 0, omittedBytes: 0 });
    expect(ran.tenure.receive()).toBe(undefined);
  });

  it('marks the start in its words before it is asked for', () => {
    expect(running().ran.tenure.words[0]).toBe(1);
  });

  it('holds the host open only as long as it is asked to', () => {
    const { ran, process } = running();
    expect(process.isHeld).toBe(true);
    ran.tenure.unref();
    expect(process.isHeld).toBe(false);
    ran.tenure.ref();
    expect(process.isHeld).toBe(true);
  });
});

describe('the source', () => {
  it('closes when all are gone', async () => {
    const { ran, source, process } = running();
    const closed = source.close(5_000);
    process.end(null, 'SIGKILL');
    process.endPipes();
    await closed;
    expect(ran.exit).toMatchObject({ signal: 'SIGKILL' });
  });

  it('closes within its bound when one is left, and forsakes it', async () => {
    const { ran, clock, source, process } = running();
    const closed = source.close(1_000);
    await clock.advance(1_000);
    await closed;
    expect([process.isClosed, clock.pending]).toEqual([true, 0]);
    process.end(null, 'SIGKILL');
    await settle();
    expect(ran.exit).toBe(null);
  });
});
