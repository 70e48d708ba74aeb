/** Children: who is alive in a scope, and how each ended. */
import { describe, expect, it } from 'vitest';
import type { ScopeChild, ScopeStop } from '../../src/scope/child.ts';
import { Children } from '../../src/scope/children.ts';
import { namesIn, parkedChild } from './scope-rig.ts';

const STOP: ScopeStop = { kind: 'cancel', atMs: 1, scope: 'scope-1' };

describe('Children', () => {
  it('tells the first that comes and the last that goes', () => {
    const children = new Children(true);
    const [a, b] = [parkedChild('a').child, parkedChild('b').child];
    expect([children.add(a), children.add(b)]).toEqual([true, false]);
    expect([children.remove(a, 'completed'), children.remove(b, 'aborted')]).toEqual(['removed', 'emptied']);
  });

  it('lets each go once, with its first end', () => {
    const children = new Children(true);
    const { child } = parkedChild('a');
    children.add(child);
    children.remove(child, 'abandoned');
    expect(children.remove(child, 'completed')).toBe('unknown');
    expect(namesIn(children.report())).toEqual({ completed: [], aborted: [], killed: [], abandoned: ['a'] });
  });

  it('reports what is still alive as abandoned, frozen', () => {
    const children = new Children(true);
    const [a, b] = [parkedChild('a').child, parkedChild('b').child];
    children.add(a);
    children.add(b);
    children.remove(b, 'killed', new Error('broke'));
    const report = children.report();
    expect(report.killed).toEqual([{ name: 'b', error: new Error('broke') }]);
    expect(report.abandoned).toEqual([{ name: 'a' }]);
    expect([report, ...Object.values(report)].every(Object.isFrozen)).toBe(true);
  });

  it('keeps the latest thousand of each end', () => {
    const children = new Children(true);
    for (let made = 0; made < 1_005; made += 1) {
      const { child } = parkedChild(`c${made}`);
      children.add(child);
      children.remove(child, 'completed');
    }
    const { completed } = children.report();
    expect([completed.length, completed[0]?.name, completed.at(-1)?.name]).toEqual([1_000, 'c5', 'c1004']);
  });

  it('remembers no end where it is told not to, and none of an inner scope', () => {
    for (const [remembers, fate] of [
      [false, 'completed'],
      [true, null],
    ] as const) {
      const children = new Children(remembers);
      const { child } = parkedChild();
      children.add(child);
      children.remove(child, fate);
      expect(children.report().completed).toEqual([]);
    }
  });

  it('tells everybody who waits for it to be empty', async () => {
    const children = new Children(true);
    await children.untilEmpty();
    const { child } = parkedChild();
    children.add(child);
    const both = Promise.all([children.untilEmpty(), children.untilEmpty()]);
    children.remove(child, 'completed');
    await expect(both).resolves.toHaveLength(2);
  });

  it('tells a stop once to each, whether it lives here, listens, or both', () => {
    const children = new Children(true);
    const [alive, listening, both, gone] = [parkedChild(), parkedChild(), parkedChild(), parkedChild()];
    children.add(alive.child);
    children.add(both.child);
    for (const { child } of [listening, both, gone]) children.listen(child);
    children.unlisten(gone.child);
    children.stop(STOP);
    expect([alive, listening, both, gone].map(({ stops }) => stops.length)).toEqual([1, 1, 1, 0]);
  });

  it('bears a child that ends within its stop', () => {
    const children = new Children(true);
    const other = parkedChild('other');
    const leave = () => void children.remove(child, 'aborted');
    const child: ScopeChild = {
      name: 'quick',
      boundMs: 0,
      stop: leave,
      stopIfWaiting: leave,
      giveUp: () => undefined,
      leftovers: () => ['quick'],
    };
    children.add(child);
    children.add(other.child);
    children.stop(STOP);
    expect([children.size, other.stops.length]).toEqual([1, 1]);
  });
});
