/**
 * CommandTenure, killed: how long it may take to be gone, and what is told of a process that does not end.
 *
 * Invariant: the processes and the clock are the test's own, so a bound passes when the test says so. Deliberately absent:
 * real processes (`command.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { survivor } from '../support/process-fakes.ts';
import { polled, running } from './command-rig.ts';

describe('a command that was killed', () => {
  it('is gone only after its exit, its pipes and a search', async () => {
    const { ran, backend, process, advance } = running();
    ran.tenure.terminate();
    expect(backend.sent).toEqual(['SIGKILL']);
    await advance(100);
    expect(ran.exit).toBe(null);
    process.end(null, 'SIGKILL');
    await advance(99);
    expect([ran.exit, backend.looks]).toEqual([null, 0]);
    process.endPipes();
    await polled();
    expect(ran.exit).toEqual({ code: null, signal: 'SIGKILL', error: null });
    expect(backend.looks).toBe(1);
  });

  it('and whose exit is never seen is contaminated when killMs is over, and never gone', async () => {
    const { ran, process, advance, kinds } = running();
    ran.tenure.terminate();
    await advance(1_999);
    expect(ran.all('looked')).toEqual([]);
    await advance(1);
    expect(kinds()).toEqual(['contaminated']);
    expect(ran.all('drained')).toMatchObject([{ ended: 'cap', stdoutEof: false }]);
    await advance(600_000);
    expect([ran.exit, ran.all('settled')]).toEqual([null, []]);
    process.end(null, 'SIGKILL');
    await polled();
    expect(ran.exit).toEqual({ code: null, signal: 'SIGKILL', error: null });
  });

  it('and whose survivors may not be signalled is contaminated until they are gone', async () => {
    const { ran, backend, process, advance, kinds } = running();
    backend.reach = (target) => (typeof target === 'number' ? 'refused' : 'sent');
    backend.found = async () => [survivor()];
    ran.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await advance(499);
    expect(kinds()).toEqual([]);
    await advance(1);
    expect(ran.all('looked')[0]?.findings).toEqual([
      { kind: 'contaminated', detail: 'not permitted to end sleep (4300)' },
    ]);
    expect(ran.exit).toBe(null);
    backend.found = async () => [];
    await advance(1_000);
    expect(ran.exit).toMatchObject({ signal: 'SIGKILL' });
  });

  it('and whose search fails is contaminated', async () => {
    const { ran, backend, process, kinds } = running();
    backend.found = () => Promise.reject(new Error('unreadable'));
    ran.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await polled();
    expect(kinds()).toEqual(['contaminated']);
    expect(ran.exit).toBe(null);
  });

  it('and whose search never ends is contaminated after sweepMs', async () => {
    const { ran, backend, process, advance, kinds } = running();
    backend.found = () => new Promise(() => undefined);
    ran.tenure.terminate();
    process.end(null, 'SIGKILL');
    process.endPipes();
    await advance(499);
    expect(kinds()).toEqual([]);
    await advance(1);
    expect(kinds()).toEqual(['contaminated']);
  });

  it('is over within killMs, 500 and sweepMs whatever the processes do', async () => {
    const { ran, backend, process, advance } = running();
    backend.group = 'alive';
    backend.found = async () => [survivor({ holdsPipe: true })];
    ran.tenure.terminate();
    await advance(1_999);
    process.end(null, 'SIGKILL');
    for (let at = 0; at < 500; at += 50) {
      process.write('more');
      await advance(50);
    }
    await advance(500);
    expect(ran.all('looked')).toHaveLength(1);
  });

  it('while it is drained by itself is not waited for any longer', async () => {
    const { ran, backend, process, advance } = running({ onOrphans: 'allow' });
    process.end();
    await advance(10);
    backend.group = 'alive';
    ran.tenure.terminate();
    expect(backend.sent).toEqual(['SIGKILL']);
    process.endPipes();
    await polled();
    expect(ran.exit).toMatchObject({ code: 0 });
  });

  it('after its end is gone at once', async () => {
    const { ran, backend, process } = running();
    process.endPipes();
    process.end();
    await settle();
    expect(ran.exit).toBe(null);
    ran.tenure.terminate();
    expect(ran.exit).toBe(null);
    await settle();
    expect([ran.exit, backend.sent]).toEqual([{ code: 0, signal: null, error: null }, []]);
  });
});
