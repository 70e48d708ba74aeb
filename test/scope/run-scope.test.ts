/** RunScope: deadlines that only tighten, stops that reach everything, an end after every end. */
import { describe, expect, it } from 'vitest';
import type { ShutdownReport } from '../../src/scope/child.ts';
import { settle } from '../support/fake-clock.ts';
import { BOUND_MS, countedSignal, namesIn, parkedChild, scopeRig, shutDown, untilStopped } from './scope-rig.ts';

const closed = expect.objectContaining({ leaseholdCode: 'ERR_LEASEHOLD_SCOPE_CLOSED' });

describe('fork', () => {
  it('tightens the deadline and never loosens it', () => {
    const { clock, open } = scopeRig();
    const outer = open({ deadlineMs: 100 });
    const loose = outer.fork({ deadlineMs: 500 });
    const tight = outer.fork({ deadlineMs: 20 });
    expect(loose.deadline).toBe(outer.deadline);
    expect(tight.deadline).toMatchObject({ atMs: clock.now() + 20, scope: tight.id });
    expect(tight.fork().deadline).toBe(tight.deadline);
  });

  it('leaves a tie to the outer scope', () => {
    const { open } = scopeRig();
    const outer = open({ deadlineMs: 100 });
    expect(outer.fork({ deadlineMs: 100 }).deadline?.scope).toBe(outer.id);
  });

  it('keeps tenant and run, and takes another branch', () => {
    const { ctx } = scopeRig().open({ tenant: 'acme', run: 'r-1' }).fork({ branch: 'b' });
    expect([ctx.tenant, ctx.run, ctx.branch]).toEqual(['acme', 'r-1', 'b']);
  });

  it.each(['tenant', 'run'])('refuses another %s than the scope has', (name) => {
    expect(() =>
      scopeRig()
        .open()
        .fork({ [name]: 'other' }),
    ).toThrow(new RegExp(`Unknown option "${name}" of fork`));
  });

  it('keeps the branch and the trace where they are given as undefined', () => {
    const scope = scopeRig().open({ branch: 'b' });
    const { ctx } = scope.fork({ branch: undefined, trace: undefined } as object);
    expect([ctx.branch, ctx.trace]).toEqual(['b', scope.ctx.trace]);
  });

  it('hears the observers of the scopes around it first', () => {
    const [a, b] = [{ onEvent: () => undefined }, { onEvent: () => undefined }];
    expect(
      scopeRig()
        .open({ observers: [a] })
        .fork({ observers: [b] }).observers,
    ).toEqual([a, b]);
  });

  it('is refused once the scope, or one around it, is shut down', async () => {
    const { open } = scopeRig();
    const outer = open();
    const inner = outer.fork();
    await outer.shutdown();
    expect(() => outer.fork()).toThrow(closed);
    expect(() => inner.fork()).toThrow(closed);
    expect(() => inner.spawn('late', async () => undefined)).toThrow(closed);
  });
});

describe('cancel', () => {
  it('reaches everything inside, to any depth, and nothing outside', () => {
    const { open, root } = scopeRig();
    const scope = open();
    const [deep, sibling, outside] = [parkedChild('deep'), parkedChild('sibling'), parkedChild('outside')];
    scope.fork().fork().adopt(deep.child);
    scope.adopt(sibling.child);
    root.open(undefined).adopt(outside.child);
    scope.cancel('user left');
    expect(deep.stops).toMatchObject([{ kind: 'cancel', scope: scope.id, reason: 'user left', force: false }]);
    expect([sibling.stops.length, outside.stops.length]).toEqual([1, 0]);
  });

  it('is accepted once, and forced all the same', () => {
    const { open } = scopeRig();
    const scope = open();
    const { child, stops } = parkedChild();
    scope.adopt(child);
    expect([scope.cancel(), scope.cancel('again', { force: true })]).toEqual([{ accepted: true }, { accepted: false }]);
    expect(stops.map(({ force }) => force)).toEqual([false, true]);
  });

  it('is not accepted within a scope that was stopped', () => {
    const { open } = scopeRig();
    const outer = open();
    const inner = outer.fork();
    outer.cancel();
    expect(inner.cancel()).toEqual({ accepted: false });
  });

  it('aborts the signals of the scope and of those inside, for its own reason', () => {
    const { open } = scopeRig();
    const outer = open();
    const inner = outer.fork();
    const signals = [outer.ctx.signal, inner.ctx.signal];
    outer.cancel('user left');
    for (const { aborted, reason } of signals) {
      expect([aborted, reason]).toMatchObject([true, { name: 'AbortError', message: 'user left' }]);
    }
    expect(inner.fork().ctx.signal.aborted).toBe(true);
  });

  it('leaves the signal of the scope around it alone', () => {
    const { open } = scopeRig();
    const outer = open();
    const { signal } = outer.ctx;
    outer.fork().cancel();
    expect([signal.aborted, outer.stopped]).toEqual([false, null]);
  });

  it('comes with the reason of a signal that was given', () => {
    const { open } = scopeRig();
    const { controller, signal } = countedSignal();
    const scope = open({ signal });
    controller.abort(new Error('tab closed'));
    expect(scope.stopped).toMatchObject({ kind: 'cancel', reason: 'tab closed' });
    expect(open({ signal }).stopped).toMatchObject({ kind: 'cancel', reason: 'tab closed' });
  });

  it.each([
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    ['what has no words', Object.create(null), 'aborted'],
  ])('takes %s for a reason', (_, reason, words) => {
    const { controller, signal } = countedSignal();
    const scope = scopeRig().open({ signal });
    controller.abort(reason);
    expect(scope.stopped?.reason).toBe(words);
  });
});

describe('a deadline', () => {
  it('aborts the signal at its instant, with a reason of its own', async () => {
    const { clock, open } = scopeRig();
    const { signal } = open({ deadlineMs: 50 }).ctx;
    await clock.advance(49);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ name: 'TimeoutError', leaseholdCode: 'ERR_LEASEHOLD_PARENT_DEADLINE' });
    expect(clock.pending).toBe(0);
  });

  it('holds from its instant, also when nobody has asked for the signal', () => {
    const { clock, open } = scopeRig();
    const scope = open({ deadlineMs: 50 });
    clock.jump(50);
    expect(scope.stopped).toMatchObject({ kind: 'parent-deadline', scope: scope.id });
    expect(scope.ctx.signal.aborted).toBe(true);
  });

  it('that passed unseen aborts the signal for its own reason at a later cancel', () => {
    const { clock, open } = scopeRig();
    const scope = open({ deadlineMs: 50 });
    const { signal } = scope.ctx;
    clock.jump(100);
    expect(scope.cancel('too late')).toEqual({ accepted: false });
    expect(signal.reason).toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_PARENT_DEADLINE' });
  });

  it('of an outer scope aborts an inner signal by the name of the outer', async () => {
    const { clock, open } = scopeRig();
    const outer = open({ deadlineMs: 50 });
    const inner = outer.fork({ deadlineMs: 90 });
    const { signal } = inner.ctx;
    await clock.advance(50);
    expect([signal.aborted, inner.stopped?.scope]).toEqual([true, outer.id]);
  });
});

describe('shutdown', () => {
  it('returns after the last child, with every end', async () => {
    const { open } = scopeRig();
    const scope = open();
    const [a, b] = [parkedChild('a'), parkedChild('b')];
    scope.adopt(a.child);
    scope.adopt(b.child);
    let done = false;
    const ending = scope.shutdown().then((report) => {
      done = true;
      return report;
    });
    expect(a.stops).toHaveLength(1);
    scope.release(a.child, 'aborted');
    await settle();
    expect(done).toBe(false);
    scope.release(b.child, 'killed');
    expect(namesIn(await ending)).toEqual({ completed: [], aborted: ['a'], killed: ['b'], abandoned: [] });
  });

  it('reports as abandoned what has not ended within the bound', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.adopt(parkedChild('stuck').child);
    let report: unknown = null;
    void scope.shutdown().then((settled) => (report = settled));
    await clock.advance(BOUND_MS - 1);
    expect(report).toBeNull();
    await clock.advance(1);
    expect(report).toMatchObject({ abandoned: [{ name: 'stuck' }] });
    expect(clock.pending).toBe(0);
  });

  it('waits for a child as long as that may take, and tells of those in a fork', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const fork = scope.fork({ branch: 'b' });
    const slow = { ...parkedChild('slow').child, boundMs: 3 * BOUND_MS };
    fork.adopt(slow);
    const reports: ShutdownReport[] = [];
    void scope.shutdown().then((report) => reports.push(report));
    await clock.advance(3 * BOUND_MS - 1);
    expect(reports).toEqual([]);
    fork.release(slow, 'killed');
    await settle();
    expect(reports.map(namesIn)).toEqual([{ completed: [], aborted: [], killed: ['slow'], abandoned: [] }]);
    expect(clock.pending).toBe(0);
  });

  it('is one promise for all callers, and leaves no timer', async () => {
    const { clock, open } = scopeRig();
    const scope = open({ deadlineMs: 5_000 });
    expect(scope.ctx.signal.aborted).toBe(false);
    expect(scope.shutdown()).toBe(scope.shutdown());
    await scope.shutdown();
    expect([clock.pending, scope.ctx.signal.aborted, scope.closed]).toEqual([0, true, true]);
  });

  it('comes with leaving the block', async () => {
    const { open } = scopeRig();
    const scope = open();
    const { child, stops } = parkedChild();
    child.stop = (stop) => {
      stops.push(stop);
      scope.release(child, 'aborted');
    };
    {
      await using owned = scope;
      owned.adopt(child);
    }
    expect([scope.closed, stops.length]).toEqual([true, 1]);
  });

  it("lets go of the caller's signal", async () => {
    const { clock, open } = scopeRig();
    const { controller, signal, listening } = countedSignal();
    const scope = open({ signal });
    scope.fork({ signal }).spawn('child', untilStopped);
    expect(listening.size).toBe(1);
    await shutDown(scope, clock);
    expect(listening.size).toBe(0);
    controller.abort(new Error('too late'));
    expect(scope.stopped?.reason).toBe('the scope was shut down');
  });
});

describe('untilEnded', () => {
  it('waits for everything inside without telling it to stop', async () => {
    const { open } = scopeRig();
    const scope = open();
    const inner = scope.fork();
    const { child, stops } = parkedChild();
    inner.adopt(child);
    let ended = false;
    void scope.untilEnded().then(() => (ended = true));
    await settle();
    expect(ended).toBe(false);
    inner.release(child, 'completed');
    await settle();
    expect([ended, stops, scope.closed]).toEqual([true, [], false]);
  });

  it('resolves at once when nothing runs', async () => {
    await expect(scopeRig().open().untilEnded()).resolves.toBeUndefined();
  });
});

describe('a sealed scope', () => {
  it('starts nothing new, here or inside, and lets go on what runs', () => {
    const { root, open } = scopeRig();
    const inner = open();
    const { child, stops } = parkedChild();
    inner.adopt(child);
    root.seal();
    expect(() => inner.spawn('late', async () => undefined)).toThrow(closed);
    expect(stops).toEqual([]);
  });
});
