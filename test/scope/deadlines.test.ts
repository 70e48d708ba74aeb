/**
 * For any nest of deadlines: the earliest alone ends the request, the outermost of equals, by the name of its scope.
 *
 * Invariant: the expectation is computed from the plan, not from the scopes. Deliberately absent: run and queue timeouts.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/model/result.ts';
import type { RunScope } from '../../src/scope/scope-handle.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

/** Few instants, so that ties are common; null for a scope without a deadline of its own. */
const budgets = fc.array(fc.option(fc.integer({ min: 1, max: 6 }).map((tens) => tens * 10)), {
  minLength: 1,
  maxLength: 7,
});
const gaps = fc.array(fc.constantFrom(0, 0, 10), { minLength: 7, maxLength: 7 });

interface Owner {
  readonly index: number;
  readonly atMs: number;
}

/** The scope whose deadline holds innermost: the earliest, the outermost of equals. */
function ownerOf(plan: readonly (number | null)[], waits: readonly number[]): Owner | null {
  let owner: Owner | null = null;
  let now = 0;
  for (const [index, budget] of plan.entries()) {
    now += waits[index] ?? 0;
    if (budget !== null && (owner === null || now + budget < owner.atMs)) owner = { index, atMs: now + budget };
  }
  return owner;
}

describe('nested deadlines', () => {
  it('for any nest, only the earliest is recorded, the outermost in a tie', async () => {
    await fc.assert(
      fc.asyncProperty(budgets, gaps, fc.constantFrom('obey', 'hang'), async (plan, waits, behaviour) => {
        const host = await openFakeHost(obedientFar, { defaults: { graceMs: 20, killMs: 20 } });
        const from = host.clock.now();
        const scopes: RunScope[] = [];
        for (const [index, deadlineMs] of plan.entries()) {
          host.clock.jump(waits[index] ?? 0);
          const options = deadlineMs === null ? {} : { deadlineMs };
          scopes.push(scopes.at(-1)?.fork(options) ?? host.supervisor.openScope(options));
        }
        const inner = scopes.at(-1) as RunScope;
        const owner = ownerOf(plan, waits);
        expect(inner.ctx.deadline.scope).toBe(owner === null ? null : scopes[owner.index]?.id);

        const requestedAt = host.clock.now();
        const ended: RunResult[] = [];
        void inner.runTool(fakeTool(), behaviour, { runTimeoutMs: 500 }).then((result) => ended.push(result));
        await settle();
        await host.clock.advance(1_000);
        const [result] = ended;
        const stops = [...(result?.cause ? [result.cause] : []), ...(result?.also ?? [])];
        const deadlines = stops.filter(({ kind }) => kind === 'parent-deadline');
        expect(result?.status).toBe('timed-out');
        if (owner === null) {
          expect([deadlines, result?.cause?.kind]).toEqual([[], 'run-timeout']);
        } else {
          const atMs = Math.max(0, from + owner.atMs - requestedAt);
          expect(deadlines).toMatchObject([{ scope: scopes[owner.index]?.id, atMs }]);
          expect(result?.cause).toEqual(deadlines[0]);
          expect(stops).toHaveLength(1);
        }
        await closeFake(host);
        expect(host.clock.pending).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it('for any budget, a tie with the operation goes to the scope', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), async (ms) => {
        const host = await openFakeHost(obedientFar, { defaults: { graceMs: 20, killMs: 20 } });
        const scope = host.supervisor.openScope({ deadlineMs: ms });
        const ended: RunResult[] = [];
        void scope.runTool(fakeTool(), 'hang', { operationTimeoutMs: ms }).then((result) => ended.push(result));
        await settle();
        await host.clock.advance(1_000);
        expect(ended[0]?.cause).toMatchObject({ kind: 'parent-deadline', atMs: ms, scope: scope.id });
        expect(ended[0]?.also).toMatchObject([{ kind: 'operation-timeout', atMs: ms }]);
        await closeFake(host);
      }),
      { numRuns: 20 },
    );
  });

  it('leave a value and an unrelated failure as they are', async () => {
    const host = await openFakeHost(obedientFar);
    const scope = host.supervisor.openScope({ deadlineMs: 50 }).fork({ deadlineMs: 50 });
    const value = await scope.runTool(fakeTool(), 'value');
    const failure = await scope.runTool(fakeTool(), 'throw');
    expect([value.status, value.cause, failure.status, failure.cause]).toEqual(['succeeded', null, 'failed', null]);
    await closeFake(host);
  });

  it('that have passed start no tool, though nobody has noticed', async () => {
    const host = await openFakeHost(obedientFar);
    const scope = host.supervisor.openScope({ deadlineMs: 50 });
    host.clock.jump(100);
    const ended: RunResult[] = [];
    void scope.runTool(fakeTool(), 'value').then((result) => ended.push(result));
    await settle();
    expect(ended).toMatchObject([
      { status: 'timed-out', cause: { kind: 'parent-deadline', scope: scope.id }, also: [] },
    ]);
    expect(host.tenures.all.map(({ runs }) => runs)).toEqual([0, 0]);
    await closeFake(host);
  });
});
