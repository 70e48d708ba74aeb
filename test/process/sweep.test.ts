/**
 * Sweep, Reaper and ProcessGroup: what is signalled, how often, and what is concluded.
 *
 * Invariant: the system and the clock are the test's own. Deliberately absent: `/proc` (`linux.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Survivor } from '../../src/process/backend.ts';
import { ProcessGroup } from '../../src/process/group.ts';
import { Reaper } from '../../src/process/reaper.ts';
import { lookWithin, type SweepReport, sweep } from '../../src/process/sweep.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeBackend, LEADER, survivor } from '../support/process-fakes.ts';

function sweeping(backend: FakeBackend, isRead: (() => boolean) | null = () => true) {
  const clock = new FakeClock();
  const group = new ProcessGroup(backend, LEADER);
  const target = { backend, group, clock, withinMs: 500, isRead, afterPoll: (then: () => void) => then() };
  let report: SweepReport | null = null;
  const run = () => {
    void sweep(target).then((told) => {
      report = told;
    });
    return settle();
  };
  return { clock, group, target, run, report: () => report };
}

/** Looks that find these, one after another; the last one from then on. */
function finding(...looks: readonly (readonly Survivor[])[]): FakeBackend {
  const backend = new FakeBackend();
  backend.found = async () => looks[Math.min(backend.looks, looks.length) - 1] ?? [];
  return backend;
}

describe('sweep', () => {
  it('is clean when the first look finds nothing', async () => {
    const { run, report, clock } = sweeping(finding([]));
    await run();
    expect(report()).toEqual({ verdict: 'clean', killed: [], holders: [], reason: null });
    expect(clock.pending).toBe(0);
  });

  it('has swept when those it killed are gone at a later look', async () => {
    const backend = finding([survivor({ pid: 7, holdsPipe: true }), survivor({ pid: 8 })], [survivor({ pid: 8 })], []);
    const { run, report, clock } = sweeping(backend);
    await run();
    await clock.advance(100);
    expect(report()).toEqual({ verdict: 'swept', killed: [7, 8], holders: ['sleep (7)'], reason: null });
    expect(backend.sent).toEqual([7, 8, 8]);
  });

  it('does not count members that the kill of their group is ending', async () => {
    const backend = finding([survivor({ isMember: true })], []);
    const { group, run, report, clock } = sweeping(backend);
    group.signal('SIGKILL');
    await run();
    await clock.advance(100);
    expect(report()).toMatchObject({ verdict: 'clean', killed: [] });
  });

  it('looks again while a pipe is open although nothing is seen', async () => {
    let isRead = false;
    const backend = finding([]);
    const { run, report, clock } = sweeping(backend, () => isRead);
    await run();
    await clock.advance(9);
    expect([backend.looks, report()]).toEqual([1, null]);
    isRead = true;
    await clock.advance(1);
    expect([backend.looks, report()?.verdict]).toEqual([2, 'clean']);
  });

  it.each([
    ['a holder that cannot be seen', [], false, 'sent', 'a pipe of the run is held by a process that cannot be seen'],
    ['one that does not die', [survivor()], true, 'sent', 'still alive: sleep (4300)'],
    ['one that may not be signalled', [survivor()], true, 'refused', 'not permitted to end sleep (4300)'],
    ['a foreign holder', [survivor({ isForeign: true })], false, 'sent', 'a pipe of the run is held by sleep (4300)'],
  ] as const)('is contaminated by %s when its time is over', async (_name, found, isRead, reach, reason) => {
    const backend = finding(found);
    backend.reach = () => reach;
    const { run, report, clock } = sweeping(backend, () => isRead);
    await run();
    await clock.advance(499);
    expect(report()).toBe(null);
    await clock.advance(1);
    expect(report()).toMatchObject({ verdict: 'contaminated', reason });
    expect(clock.pending).toBe(0);
    const { looks, sent } = backend;
    const signalled = sent.length;
    await clock.advance(5_000);
    expect([backend.looks, backend.sent.length]).toEqual([looks, signalled]);
  });

  it('never signals what is older than the run', async () => {
    const backend = finding([survivor({ isForeign: true })]);
    const { run, clock } = sweeping(backend);
    await run();
    await clock.advance(500);
    expect(backend.sent).toEqual([]);
  });

  it('is unverified without a way to look, and contaminated if the group answers', async () => {
    const backend = new FakeBackend();
    backend.found = async () => null;
    const first = sweeping(backend);
    await first.run();
    expect(first.report()?.verdict).toBe('unverified');
    backend.group = 'alive';
    const second = sweeping(backend);
    await second.run();
    expect(second.report()?.verdict).toBe('contaminated');
  });

  it('names no reason but its own when a look fails', async () => {
    const backend = new FakeBackend();
    backend.found = () => Promise.reject(new Error('a path'));
    const { run, report } = sweeping(backend);
    await run();
    expect(report()).toMatchObject({
      verdict: 'contaminated',
      reason: 'the look for processes of the run failed',
    });
  });

  it('for any system ends once in its time, and is clean only if nothing is left', async () => {
    const pids = fc.uniqueArray(fc.integer({ min: 2, max: 9 }), { maxLength: 4 });
    const system = fc.record({ looks: fc.array(pids, { minLength: 1, maxLength: 8 }), isRead: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(system, async ({ looks, isRead }) => {
        const backend = finding(...looks.map((found) => found.map((pid) => survivor({ pid }))));
        const { run, report, clock } = sweeping(backend, () => isRead);
        await run();
        await clock.advance(500);
        const last = looks[Math.min(backend.looks, looks.length) - 1];
        const isOver = last?.length === 0 && isRead;
        expect(report()?.verdict === 'contaminated').toBe(!isOver);
        expect(new Set(report()?.killed)).toEqual(new Set(backend.sent));
        expect(clock.pending).toBe(0);
      }),
    );
  });
});

describe('lookWithin', () => {
  it('signals nobody', async () => {
    const backend = finding([survivor()]);
    expect(await lookWithin(sweeping(backend).target)).toEqual([survivor()]);
    expect(backend.sent).toEqual([]);
  });

  it('is null when the look fails, or does not end in time', async () => {
    const backend = new FakeBackend();
    backend.found = () => Promise.reject(new Error('unreadable'));
    expect(await lookWithin(sweeping(backend).target)).toBe(null);
    backend.found = () => new Promise(() => undefined);
    const { target, clock } = sweeping(backend);
    const looked = lookWithin(target);
    await clock.advance(500);
    expect(await looked).toBe(null);
  });
});

describe('ProcessGroup', () => {
  it('is not signalled or asked for once it was gone', () => {
    const backend = new FakeBackend();
    backend.group = 'alive';
    const group = new ProcessGroup(backend, LEADER);
    expect(group.state).toBe('alive');
    backend.group = 'gone';
    expect(group.state).toBe('gone');
    backend.group = 'alive';
    group.signal('SIGKILL');
    expect([group.state, backend.sent, group.wasKilled]).toEqual(['gone', [], false]);
  });
});

describe('Reaper', () => {
  function reaping(answers: readonly boolean[]) {
    const clock = new FakeClock();
    const tries: number[] = [];
    let verified = 0;
    const verify = async () => {
      tries.push(clock.now() - 1_000);
      return answers[tries.length - 1] ?? false;
    };
    const reaper = new Reaper(clock, verify, () => {
      verified += 1;
    });
    return { clock, reaper, tries, verified: () => verified };
  }

  it('comes back after 1, 2, 4 .. 60 s, and every 60 s from then on', async () => {
    const { clock, reaper, tries } = reaping([]);
    await clock.advance(250_000);
    const waits = tries.map((at, index) => (at - (tries[index - 1] ?? 0)) / 1_000);
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    reaper.stop();
    expect(clock.pending).toBe(0);
  });

  it('tells once, and then rests', async () => {
    const { clock, tries, verified } = reaping([false, true]);
    await clock.advance(100_000);
    expect([tries.length, verified(), clock.pending]).toEqual([2, 1, 0]);
  });

  it('stopped during a try, tells nothing', async () => {
    const { clock, reaper, verified } = reaping([true]);
    clock.jump(1_000);
    clock.fireDue();
    reaper.stop();
    await clock.advance(100_000);
    expect([verified(), clock.pending]).toEqual([0, 0]);
  });
});
