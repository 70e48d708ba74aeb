/**
 * CommandTenure against time: how long each step may take, and what is told when a process does not end.
 *
 * Invariant: the processes and the clock are the test's own, so a bound passes when the test says so. Deliberately absent:
 * real processes (`command.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import type { CommandSource as Source } from '../../src/isolate/command.ts';
import { CommandSource } from '../../src/isolate/command.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeBackend, survivor } from '../support/process-fakes.ts';
import { Commanded, shell } from '../support/process-rig.ts';

const PLAN = { drain: { quietMs: 250, maxMs: 2_000 } };
const GRACE_MS = 2_000;

/** A poll phase of the real loop passes between a timer and its effect. */
async function polled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resume) => setImmediate(resume));
  await settle();
}

function running(more: Parameters<typeof shell>[1] = {}) {
  const clock = new FakeClock();
  const backend = new FakeBackend();
  const source: Source = new CommandSource({ clock, backend, killMs: 2_000, sweepMs: 500 });
  const it = new Commanded(source.open()).run(shell('', { ...PLAN, ...more }), GRACE_MS);
  const advance = async (ms: number) => {
    await clock.advance(ms);
    await polled();
  };
  const kinds = () => it.all('looked').flatMap(({ findings }) => findings.map(({ kind }) => kind));
  return { clock, backend, source, it, process: backend.process, advance, kinds };
}

describe('a command that ended by itself', () => {
  it('is read until the quiet time passed without a byte, counted from the last one', async () => {
    const { it, process, advance } = running();
    process.end();
    await advance(200);
    process.write('more');
    await advance(249);
    expect(it.all('drained')).toEqual([]);
    process.endPipes();
    await settle();
    expect(it.all('drained')).toMatchObject([{ ended: 'eof', ms: 449 }]);
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
    const { it, backend, process, advance, kinds } = running();
    backend.group = 'alive';
    process.end();
    await advance(250);
    expect(backend.sent).toEqual(['SIGKILL']);
    backend.found = async () => [survivor({ holdsPipe: true })];
    for (let at = 0; at < 500; at += 50) {
      expect(it.all('drained')).toEqual([]);
      process.write('more');
      await advance(50);
    }
    await advance(500);
    expect(it.all('drained')).toMatchObject([{ ended: 'quiet', stdoutEof: false }]);
    expect(it.all('output').every(({ postKill }) => postKill === true)).toBe(true);
    expect(kinds()).toContain('contaminated');
  });

  it('is not searched when its group is gone and its pipes are at their end', async () => {
    const { it, backend, process, kinds } = running();
    process.endPipes();
    process.end();
    await settle();
    expect(it.all('drained')).toMatchObject([{ ended: 'eof', ms: 0 }]);
    expect([backend.looks, backend.sent, kinds()]).toEqual([0, [], []]);
  });

  it('is unverified where nobody can look, and no failure for it', async () => {
    const { it, backend, process, kinds } = running({ onOrphans: 'fail' });
    backend.group = 'unknown';
    backend.found = async () => null;
    process.endPipes();
    process.end();
    await settle();
    expect(kinds()).toEqual(['unverified']);
    expect(it.all('settled')).toMatchObject([{ ok: true }]);
  });

  it('before a stop that the host sent too late, keeps its value', async () => {
    const { it, backend, process } = running();
    backend.ended = true;
    it.stop();
    process.endPipes();
    process.end(0);
    await settle();
    expect(it.all('settled')).toMatchObject([{ ok: true, value: { exitCode: 0 } }]);
  });
});

describe('a command that was told to stop', () => {
  it('has its input closed, and its group told TERM, then CONT', () => {
    const { it, backend, process } = running();
    it.stop();
    it.stop();
    expect([backend.sent, process.isStdinClosed]).toEqual([['SIGTERM', 'SIGCONT'], true]);
  });

  it('is never signalled again once the group was gone', () => {
    const { it, backend } = running();
    backend.reach = () => 'gone';
    it.stop();
    it.tenure.terminate();
    expect(backend.sent).toEqual(['SIGTERM']);
  });

  it('leaves its group the grace counted from the stop, not a moment more', async () => {
    const { it, backend, process, advance } = running();
    backend.group = 'alive';
    it.stop();
    await advance(1_500);
    process.end(null, 'SIGTERM');
    await advance(499);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
    await advance(1);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT', 'SIGKILL']);
  });

  it('is over as soon as its group is gone', async () => {
    const { it, backend, process, advance } = running();
    backend.group = 'alive';
    it.stop();
    process.end(null, 'SIGTERM');
    process.endPipes();
    backend.group = 'gone';
    await advance(100);
    expect(backend.sent).toEqual(['SIGTERM', 'SIGCONT']);
    expect(it.all('looked')).toMatchObject([{ findings: [] }]);
  });
});

describe('a command that was killed', () => {
  it('is gone only after its exit, its pipes and a search', async () => {
    const { it, backend, process, advance } = running();
    it.tenure.terminate();
    expect(backend.sent).toEqual(['SIGKILL']);
    await advance(100);
    expect(it.exit).toBe(null);
    process.end(null, 'SIGKILL');
    await advance(99);
    expect([it.exit, backend.looks]).toEqual([null, 0]);
    process.endPipes();
    await polled();
    expect(it.exit).toEqual({ code: null, signal: 'SIGKILL', error: null });
    expect(backend.looks).toBe(1);
  });

  it('and whose exit is never seen is contaminated when killMs is over, and never gone', async () => {
    const { it, process, advance, kinds } = running();
    it.tenure.terminate();
    await advance(1_999);
    expect(it.all('looked')).toEqual([]);
    await advance(1);
    expect(kinds()).toEqual(['contaminated']);
    expect(it.all('drained')).toMatchObject([{ ended: 'cap', stdoutEof: false }]);
    await advance(600_000);
    expect([it.exit, it.all('settled')]).toEqual([null, []]);
    process.end(null, 'SIGKILL');
    await polled();
    expect(it.exit).toEqual({ code: null, signal: 'SIGKILL', error: null });
  });

  it('and whose survivors may not be signalled is contaminated until they are gone', async () => {
    const { it, backend, process, advance, kinds } = running();
    backend.reach = (target) => (typeof target === 'number' ? 'refused' : 'sent');
    backend.found = async () => [survivor()];
    it.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await advance(499);
    expect(kinds()).toEqual([]);
    await advance(1);
    expect(it.all('looked')[0]?.findings).toEqual([
      { kind: 'contaminated', detail: 'not permitted to end sleep (4300)' },
    ]);
    expect(it.exit).toBe(null);
    backend.found = async () => [];
    await advance(1_000);
    expect(it.exit).toMatchObject({ signal: 'SIGKILL' });
  });

  it('and whose search fails is contaminated', async () => {
    const { it, backend, process, kinds } = running();
    backend.found = () => Promise.reject(new Error('unreadable'));
    it.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await polled();
    expect(kinds()).toEqual(['contaminated']);
    expect(it.exit).toBe(null);
  });

  it('and whose search never ends is contaminated after sweepMs', async () => {
    const { it, backend, process, advance, kinds } = running();
    backend.found = () => new Promise(() => undefined);
    it.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await advance(499);
    expect(kinds()).toEqual([]);
    await advance(1);
    expect(kinds()).toEqual(['contaminated']);
  });

  it('is over within killMs, 500 and sweepMs whatever the processes do', async () => {
    const { it, backend, process, advance } = running();
    backend.group = 'alive';
    backend.found = async () => [survivor({ holdsPipe: true })];
    it.tenure.terminate();
    await advance(1_999);
    process.end(null, 'SIGKILL');
    for (let at = 0; at < 500; at += 50) {
      process.write('more');
      await advance(50);
    }
    await advance(500);
    expect(it.all('looked')).toHaveLength(1);
  });

  it('while it is drained by itself is not waited for any longer', async () => {
    const { it, backend, process, advance } = running({ onOrphans: 'allow' });
    process.end();
    await advance(10);
    backend.group = 'alive';
    it.tenure.terminate();
    expect(backend.sent).toEqual(['SIGKILL']);
    process.endPipes();
    await polled();
    expect(it.exit).toMatchObject({ code: 0 });
  });

  it('after its end is gone at once', async () => {
    const { it, backend, process } = running();
    process.endPipes();
    process.end();
    await settle();
    expect(it.exit).toBe(null);
    it.tenure.terminate();
    expect(it.exit).toBe(null);
    await settle();
    expect([it.exit, backend.sent]).toEqual([{ code: 0, signal: null, error: null }, []]);
  });
});

describe('the tenure', () => {
  it('tells nothing from within a call', () => {
    const { it, process } = running();
    expect(it.records).toEqual([]);
    process.write('early');
    expect(it.records).toEqual([]);
    expect(it.tenure.receive()?.message).toMatchObject({ t: 'started', seq: 1 });
    expect(it.tenure.receive()?.message).toMatchObject({ t: 'output', credit: 0, omittedBytes: 0 });
    expect(it.tenure.receive()).toBe(undefined);
  });

  it('marks the start in its words before it is asked for', () => {
    expect(running().it.tenure.words[0]).toBe(1);
  });

  it('holds the host open only as long as it is asked to', () => {
    const { it, process } = running();
    expect(process.isHeld).toBe(true);
    it.tenure.unref();
    expect(process.isHeld).toBe(false);
    it.tenure.ref();
    expect(process.isHeld).toBe(true);
  });
});

describe('the source', () => {
  it('closes when all are gone', async () => {
    const { it, source, process } = running();
    const closed = source.close(5_000);
    process.end(null, 'SIGKILL');
    process.endPipes();
    await closed;
    expect(it.exit).toMatchObject({ signal: 'SIGKILL' });
  });

  it('closes within its bound when one is left, and forsakes it', async () => {
    const { it, clock, source, process } = running();
    const closed = source.close(1_000);
    await clock.advance(1_000);
    await closed;
    expect([process.isClosed, clock.pending]).toEqual([true, 0]);
    process.end(null, 'SIGKILL');
    await settle();
    expect(it.exit).toBe(null);
  });
});
