/**
 * For any behaviour of an authorizer: nothing starts that it has not clearly allowed, and it is asked once.
 *
 * Invariant: time and threads are fake, so a seed replays its case. Deliberately absent: the words of each denial.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Authorizer } from '../../src/model/option-shapes.ts';
import type { RunResult } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { type FakeClock, settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const AUTHORIZE_MS = 100;

/** What is answered, and when: null at once, else after so many milliseconds; never where there is no answer. */
interface Behaviour {
  readonly answer: unknown;
  readonly how: 'return' | 'throw' | 'never';
  readonly afterMs: number | null;
}
/** One request: what its authorizer does, and what its caller does to it. */
interface Call extends Behaviour {
  readonly id: number;
  readonly cancelMs: number | null;
  readonly operationTimeoutMs: number;
  readonly pauseMs: number;
}

const answer = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ allow: true }) },
  { weight: 2, arbitrary: fc.record({ allow: fc.constant(false), reason: fc.string() }, { requiredKeys: ['allow'] }) },
  fc.record({ allow: fc.constantFrom('true', 1, [], {}, true), reason: fc.string() }),
  fc.constantFrom(
    Object.create({ allow: true }),
    new Proxy(
      { allow: true },
      {
        ownKeys: () => {
          throw new Error('no');
        },
      },
    ),
  ),
  fc.anything(),
);
const moment = fc.option(fc.integer({ min: 0, max: 2 * AUTHORIZE_MS }), { nil: null });
const calls: fc.Arbitrary<Call[]> = fc
  .array(
    fc.record({
      answer,
      how: fc.constantFrom('return', 'return', 'return', 'throw', 'never'),
      afterMs: moment,
      cancelMs: fc.option(fc.integer({ min: 0, max: 2 * AUTHORIZE_MS }), { nil: null, freq: 2 }),
      operationTimeoutMs: fc.constantFrom(0, 0, 0, 30, AUTHORIZE_MS, 150),
      pauseMs: fc.constantFrom(0, 0, 1, 20),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((made) => made.map((call, id) => ({ ...call, id }) as Call));

/** Told apart from the library's reading: the text of the two answers that count. */
function isClearYes(x: unknown): boolean {
  try {
    return Object.keys(x as object).join() === 'allow' && (x as { allow: unknown }).allow === true;
  } catch {
    return false;
  }
}

function behave({ answer: given, how, afterMs }: Behaviour, clock: FakeClock): unknown {
  const act = () => {
    if (how === 'throw') throw given;
    return given;
  };
  if (how === 'never') return new Promise(() => undefined);
  if (afterMs === null) return act();
  return new Promise((resolve, reject) => {
    clock.setTimeout(() => {
      try {
        resolve(act());
      } catch (error) {
        reject(error);
      }
    }, afterMs);
  });
}

describe('an authorizer', () => {
  it('for any behaviour, starts only what it clearly allowed, and is asked once', async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 0, max: 6 }), async (made, capacity) => {
        const asked: number[] = [];
        const started: number[] = [];
        let clock: FakeClock | null = null;
        const authorize: Authorizer = ({ input }) => {
          const { id } = input as Call;
          asked.push(id);
          return behave(made[id] as Call, clock as FakeClock) as ReturnType<Authorizer>;
        };
        const host = await openFakeHost(
          {
            run: (tenure, { input }) => {
              started.push((input as Call).id);
              tenure.value('done');
            },
          },
          { authorize, isolates: 2, queue: { capacity }, defaults: { authorizeMs: AUTHORIZE_MS } },
        );
        clock = host.clock;
        const results = new Map<number, RunResult>();
        for (const { id, cancelMs, operationTimeoutMs, pauseMs } of made) {
          const controller = new AbortController();
          if (cancelMs !== null) clock.setTimeout(() => controller.abort(new Error('left')), cancelMs);
          const options = { signal: controller.signal, operationTimeoutMs };
          void host.supervisor.runTool(fakeTool(), { id }, options).then((result) => results.set(id, result));
          await clock.advance(pauseMs);
        }
        while (results.size < made.length && (await clock.step())) await settle();
        await clock.advance(2 * AUTHORIZE_MS);

        expect(results.size).toBe(made.length);
        expect(new Set(started).size).toBe(started.length);
        for (const call of made) {
          const result = results.get(call.id) as RunResult;
          const context = JSON.stringify({ ...call, answer: String(typeof call.answer), status: result.status });
          const yes = call.how === 'return' && isClearYes(call.answer) && (call.afterMs ?? 0) <= AUTHORIZE_MS;
          const ran = started.includes(call.id);
          if (!yes) expect([ran, result.lease?.isolate ?? null], context).toEqual([false, null]);
          if (result.status === 'succeeded') expect([yes, ran], context).toEqual([true, true]);
          if (result.status === 'denied')
            expect([ran, result.lease, result.intents], context).toEqual([false, null, []]);
          const isFree = call.cancelMs === null && call.operationTimeoutMs === 0 && result.status !== 'rejected';
          if (yes && isFree && call.afterMs !== AUTHORIZE_MS) expect(result.status, context).toBe('succeeded');
          const refusedAtOnce = result.status === 'rejected';
          expect(
            asked.filter((id) => id === call.id),
            context,
          ).toHaveLength(refusedAtOnce ? 0 : 1);
          expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
        }
        expect(host.supervisor.statistics().queue.depth).toBe(0);
        await closeFake(host);
        expect(host.clock.pending).toBe(0);
      }),
      { verbose: fc.VerbosityLevel.Verbose, numRuns: 300 },
    );
  });
});
