/** Budget: the deadlines of one request, and waits within them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget } from '../../src/scope/budget.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

const outer = (atMs: number) => ({ kind: 'parent-deadline' as const, atMs, scope: 'scope-1' });
const kinds = ({ deadlines }: Budget) => deadlines.map(({ kind }) => kind);

describe('Budget', () => {
  it('has the earlier deadline first, the outer one in a tie', () => {
    const clock = new FakeClock();
    expect(kinds(new Budget(clock, 1_000, null, null))).toEqual([]);
    expect(kinds(new Budget(clock, 1_000, 50, null))).toEqual(['operation-timeout']);
    expect(kinds(new Budget(clock, 1_000, 50, outer(1_060)))).toEqual(['operation-timeout', 'parent-deadline']);
    expect(kinds(new Budget(clock, 1_000, 50, outer(1_040)))).toEqual(['parent-deadline', 'operation-timeout']);
    expect(kinds(new Budget(clock, 1_000, 50, outer(1_050)))).toEqual(['parent-deadline', 'operation-timeout']);
  });

  it('is due from the instant of its first deadline', () => {
    const clock = new FakeClock();
    const budget = new Budget(clock, 1_000, 50, null);
    clock.jump(49);
    expect(budget.due).toBeNull();
    clock.jump(1);
    expect(budget.due).toMatchObject({ kind: 'operation-timeout', atMs: 1_050 });
  });

  it('for any bound and deadline, ends a wait at whichever comes first', async () => {
    const ms = fc.integer({ min: 1, max: 100 });
    await fc.assert(
      fc.asyncProperty(ms, fc.option(ms), fc.option(ms), async (bound, operation, scope) => {
        const clock = new FakeClock();
        const budget = new Budget(clock, 1_000, operation, scope === null ? null : outer(1_000 + scope));
        let endedAt: number | null = null;
        void budget.within(bound, new Promise(() => {})).then(() => (endedAt = clock.now()));
        await clock.advance(200);
        expect(endedAt).toBe(1_000 + Math.min(bound, operation ?? 200, scope ?? 200));
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('ends a wait with its work, or when it is woken, and clears its timer', async () => {
    const clock = new FakeClock();
    const budget = new Budget(clock, 1_000, null, null);
    expect(await budget.within(50, Promise.resolve('done'))).toBe('done');
    const woken = budget.within(50, new Promise(() => {}));
    budget.wake();
    expect(await woken).toBeNull();
    budget.wake();
    await settle();
    expect(clock.pending).toBe(0);
  });

  it('pauses until its time is over, the first deadline, or a wake', async () => {
    const clock = new FakeClock();
    const ended: string[] = [];
    const own = new Budget(clock, 1_000, 50, null);
    void own.pause(80).then(() => ended.push('deadline'));
    const free = new Budget(clock, 1_000, null, null);
    void free.pause(20).then(() => ended.push('time'));
    await clock.advance(19);
    expect(ended).toEqual([]);
    await clock.advance(31);
    expect(ended).toEqual(['time', 'deadline']);
    void free.pause(1_000).then(() => ended.push('wake'));
    free.wake();
    await settle();
    expect([ended.at(-1), clock.pending]).toEqual(['wake', 0]);
  });
});
