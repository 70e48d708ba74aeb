/**
 * For any tree of children and any instant of a shutdown: every child is told of once, and nothing acts after its end.
 *
 * Invariant: time is fake, and every child has a name of its own. Deliberately absent: requests
 * (`promises/a-scope-ends-after-everything-in-it.test.ts`).
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShutdownReport } from '../../src/scope/child.ts';
import type { RunScope } from '../../src/scope/run-scope.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { BOUND_MS, countedSignal, scopeRig, shutDown, untilStopped } from './scope-rig.ts';

const WAYS = [
  'settles',
  'fails',
  'obeys',
  'saves',
  'cleans',
  'throws in clean-up',
  'spawns in clean-up',
  'ignores',
] as const;
type Way = (typeof WAYS)[number];
interface Plan {
  readonly way: Way;
  readonly ms: number;
  readonly failsScope: boolean;
  readonly children: readonly Plan[];
}

const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.record({
    way: fc.constantFrom(...WAYS),
    ms: fc.integer({ min: 1, max: 200 }),
    failsScope: fc.boolean(),
    children: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('plan') as fc.Arbitrary<Plan>, { maxLength: 3 }),
    ),
  }),
}));

const later = (clock: FakeClock, ms: number) => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));

class Play {
  readonly clock: FakeClock;
  readonly direct: string[] = [];
  /** What the children wrote, in order. */
  readonly record: string[] = [];
  readonly results: Promise<unknown>[] = [];
  #made = 0;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  spawn(scope: RunScope, { way, ms, failsScope, children }: Plan, depth = 0): void {
    this.#made += 1;
    const name = `${this.#made} ${way}`;
    if (depth === 0) this.direct.push(name);
    const body = async (inner: RunScope): Promise<string> => {
      for (const child of children) this.spawn(inner, child, depth + 1);
      try {
        if (way === 'settles') await later(this.clock, ms);
        else if (way === 'ignores') await new Promise(() => {});
        else if (way === 'fails') throw new Error('broke');
        else await untilStopped(inner);
      } catch (error) {
        if (way === 'cleans' || way === 'saves') await later(this.clock, ms);
        if (way === 'throws in clean-up') throw new Error('no disk');
        if (way === 'spawns in clean-up') this.#spawnLate(inner);
        if (way !== 'saves') throw error;
      } finally {
        this.record.push(name);
      }
      return name;
    };
    this.results.push(scope.spawn(name, body, { onFailure: failsScope ? 'fail-scope' : 'isolate' }).result);
  }

  /** After a shutdown nothing may start; after a mere cancel what is started ends at once. */
  #spawnLate(inner: RunScope): void {
    try {
      inner.spawn('late', async () => void this.record.push('late'));
    } catch {
      // The scope is closed.
    }
  }
}

const namesOf = (report: ShutdownReport) =>
  Object.values(report)
    .flat()
    .map(({ name }) => name);
const anyDeaf = (plans: readonly Plan[]): boolean =>
  plans.some(({ way, children }) => way === 'ignores' || anyDeaf(children));

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', onUnhandled));
afterAll(() => void process.off('unhandledRejection', onUnhandled));

describe('shutdown', () => {
  it('for any tree of children, at any instant, tells of each child once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { maxLength: 4 }), fc.integer({ min: 0, max: 250 }), async (plans, at) => {
        const { clock, open } = scopeRig();
        const { signal, listening } = countedSignal();
        const scope = open({ signal });
        const play = new Play(clock);
        for (const one of plans) play.spawn(scope, one);
        await clock.advance(at);
        const from = clock.now();
        const report = await shutDown(scope, clock);
        const written = play.record.length;
        expect(clock.now() - from).toBeLessThanOrEqual(BOUND_MS);

        const names = namesOf(report);
        for (const name of play.direct) expect(names.filter((told) => told === name)).toEqual([name]);
        if (!anyDeaf(plans)) {
          expect(names).toHaveLength(play.direct.length);
          expect(report.abandoned).toEqual([]);
          // Everybody wrote before the shutdown returned.
          expect(new Set(play.record).size).toBe(play.results.length);
        }
        expect(play.record).not.toContain('late');
        expect(listening.size).toBe(0);

        await clock.advance(10 * BOUND_MS);
        expect(play.record).toHaveLength(written);
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 200 },
    );
    await new Promise<void>((resume) => setImmediate(resume));
    expect(unhandled).toEqual([]);
  });
});
