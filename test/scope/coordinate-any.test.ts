/** `coordinate` over random plans, waits and cancels: it ends once, asks once per turn and never after its end. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Done, Turn } from '../../src/scope/coordinate.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const plans = fc.record({
  turns: fc.array(fc.constantFrom('value', 'throw', 'hang', 'obey', 'value-dirty', 'exit'), {
    minLength: 1,
    maxLength: 6,
  }),
  waitMs: fc.option(fc.integer({ min: 1, max: 400 }), { nil: null }),
  cancelMs: fc.option(fc.integer({ min: 0, max: 1_500 }), { nil: null }),
  maxTurns: fc.integer({ min: 1, max: 7 }),
  throwsAt: fc.option(fc.integer({ min: 1, max: 6 }), { nil: null }),
});

describe('coordinate', () => {
  it('for any plan and cancel, ends once, and asks once a turn, never after its end', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async ({ turns, waitMs, cancelMs, maxTurns, throwsAt }) => {
        const host = await openFakeHost(obedientFar, { defaults: { graceMs: 20, killMs: 20 } });
        const scope = host.supervisor.openScope();
        const ends: { readonly turns: readonly unknown[]; readonly code?: string }[] = [];
        let asked = 0;
        let askedAfterCancel = 0;
        let isCancelled = false;
        const turn = (input: string): Turn => ({ tool: fakeTool(), input, options: { runTimeoutMs: 100 } });
        const next = (): Turn | Done<number> | Promise<Turn | Done<number>> => {
          asked += 1;
          if (isCancelled) askedAfterCancel += 1;
          if (asked === throwsAt) throw new Error('enough');
          const behaviour = turns[asked];
          const answer = behaviour === undefined ? { done: asked } : turn(behaviour);
          return waitMs === null
            ? answer
            : new Promise((resolve) => host.clock.setTimeout(() => resolve(answer), waitMs));
        };
        void scope.coordinate(turn(turns[0] as string), next, { maxTurns }).then(
          (coordination) => ends.push(coordination),
          (error) => ends.push(error),
        );
        if (cancelMs !== null) {
          host.clock.setTimeout(() => {
            isCancelled = true;
            scope.cancel();
          }, cancelMs);
        }
        await settle();
        await host.clock.advance(60_000);
        expect(ends).toHaveLength(1);
        const [end] = ends;
        expect(askedAfterCancel).toBe(0);
        expect(end?.turns.length).toBeLessThanOrEqual(Math.min(maxTurns, turns.length));
        expect([0, 1]).toContain((end?.turns.length ?? 0) - asked);
        if (cancelMs === null) {
          const length = Math.min(turns.length, maxTurns, throwsAt ?? turns.length);
          expect(end?.turns).toHaveLength(length);
          const code =
            throwsAt === length
              ? 'ERR_LEASEHOLD_NEXT_FAILED'
              : turns.length > maxTurns
                ? 'ERR_LEASEHOLD_MAX_TURNS'
                : undefined;
          expect(end?.code).toBe(code);
        }
        expect(host.supervisor.statistics().isolates.leased).toBe(0);
        await closeFake(host);
      }),
      { numRuns: 300 },
    );
  });
});
