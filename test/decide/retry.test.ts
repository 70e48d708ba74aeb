/** What may follow an attempt: a decision over its record, and nothing else. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AttemptRecord, classify } from '../../src/decide/classify.ts';
import { backoffMs, type EndView, joinedIntents, nextStep } from '../../src/decide/retry.ts';
import type { IntentRecord, IntentState } from '../../src/model/result.ts';
import { LEASE_STATES, STOP_KINDS, type StopKind } from '../../src/model/stop.ts';

const intent = (state: IntentState, key = 'k'): IntentRecord => ({ name: 'charge', key, state, atMs: 0 });
const stopped = (kind: StopKind) => [{ kind, atMs: 1, state: 'running' as const }];
const failed = (code: string, ofStop = false) => ({ kind: 'exception', code, ofStop }) as const;

function view(record: Partial<AttemptRecord>, over: Partial<EndView> = {}): EndView {
  const whole = { rejected: null, denied: null, outcome: null, stops: [], intents: [], discardLate: false, ...record };
  const rest = { mayRerun: () => false, isSpent: false, retriesLeft: 1, repairsLeft: 0 };
  return { record: whole, verdict: classify(whole), ...rest, ...over };
}
const SAFE = { step: 'retry', isSafe: true };
const UNSAFE = { step: 'retry', isSafe: false };
const END = { step: 'end' };

describe('nextStep', () => {
  it.each([
    ['a crash', { stops: stopped('isolate-exit') }, SAFE],
    ['an uncaught error', { outcome: failed('UNCAUGHT') }, SAFE],
    ['an exhausted heap', { outcome: failed('OUT_OF_MEMORY') }, SAFE],
    ['a process that did not start', { outcome: failed('SPAWN_FAILED') }, SAFE],
    ['a run timeout', { stops: stopped('run-timeout') }, SAFE],
    ['an unavailable lease', { stops: stopped('lease-unavailable') }, SAFE],
    ['an unfit isolate', { stops: stopped('health-failure') }, SAFE],
    ['an error of the tool', { outcome: failed('TOOL_ERROR') }, UNSAFE],
    ['an exit code', { outcome: failed('EXIT_CODE') }, UNSAFE],
    ['a module that does not load', { outcome: failed('TOOL_LOAD') }, UNSAFE],
    ['too much output', { stops: stopped('output-limit') }, UNSAFE],
    ['a queue timeout', { stops: stopped('queue-timeout') }, UNSAFE],
    ['a refused output', { outcome: { kind: 'value', accepted: false } as const }, UNSAFE],
    ['an onPrepared that threw', { outcome: failed('ON_PREPARED') }, END],
    ['a denial', { denied: 'DENIED' }, END],
    ['a rejection', { rejected: 'QUEUE_FULL' }, END],
    ['a value', { outcome: { kind: 'value', accepted: true } as const }, END],
  ])('after %s follows as the code says', (_, record, expected) => {
    expect(nextStep(view(record))).toEqual(expected);
  });

  it.each(['cancel', 'operation-timeout', 'parent-deadline', 'shutdown', 'host-lost'] as const)(
    'of %s nothing follows, not even beside an unrelated failure',
    (kind) => {
      expect(nextStep(view({ stops: stopped(kind) }, { repairsLeft: 1 }))).toEqual(END);
      const beside = { stops: stopped(kind), outcome: failed('UNCAUGHT') };
      expect(nextStep(view(beside, { repairsLeft: 1 }))).toEqual(END);
    },
  );

  it('stays with an open intent, unless each open one may run again', () => {
    const crash = { stops: stopped('isolate-exit') };
    const mayRerun = ({ key }: IntentRecord) => key === 'free';
    const following = (...intents: IntentRecord[]) => nextStep(view({ ...crash, intents }, { mayRerun }));
    expect(following(intent('dispatched', 'held'))).toEqual(END);
    expect(following(intent('dispatched', 'free'))).toEqual(SAFE);
    expect(following(intent('dispatched', 'free'), intent('dispatched', 'held'))).toEqual(END);
    expect(following(intent('applied', 'held'), intent('failed', 'held'))).toEqual(SAFE);
  });

  it('ends when no try is left, or the input is gone', () => {
    const crash = { stops: stopped('isolate-exit') };
    expect(nextStep(view(crash, { retriesLeft: 0 }))).toEqual(END);
    expect(nextStep(view(crash, { isSpent: true }))).toEqual(END);
  });

  it('is a repair for a refused output only, and before a retry', () => {
    const refused = { outcome: { kind: 'value', accepted: false } as const };
    expect(nextStep(view(refused, { repairsLeft: 1 }))).toEqual({ step: 'repair' });
    expect(nextStep(view({ ...refused, intents: [intent('dispatched')] }, { repairsLeft: 1 }))).toEqual(END);
    expect(nextStep(view({ outcome: failed('TOOL_ERROR') }, { repairsLeft: 1, retriesLeft: 0 }))).toEqual(END);
  });

  it('for any record, follows no stop of the request, no success, and no held intent', () => {
    const record = fc.record({
      rejected: fc.constantFrom(null, 'CLOSED'),
      denied: fc.constantFrom(null, 'DENIED'),
      outcome: fc.constantFrom(
        null,
        failed('UNCAUGHT'),
        failed('TOOL_ERROR', true),
        { kind: 'value', accepted: true } as const,
        { kind: 'value', accepted: false } as const,
      ),
      stops: fc.array(
        fc.record({
          kind: fc.constantFrom(...STOP_KINDS),
          atMs: fc.nat(),
          state: fc.constantFrom(...LEASE_STATES),
        }),
        { maxLength: 3 },
      ),
      intents: fc.array(
        fc.constantFrom<IntentState>('dispatched', 'applied', 'failed').map((state) => intent(state)),
        { maxLength: 2 },
      ),
      discardLate: fc.boolean(),
    });
    fc.assert(
      fc.property(
        record,
        fc.boolean(),
        fc.nat({ max: 2 }),
        fc.nat({ max: 2 }),
        (made, may, retriesLeft, repairsLeft) => {
          const asked = view(made, { mayRerun: () => may, retriesLeft, repairsLeft });
          if (nextStep(asked).step === 'end') return;
          expect(made.stops.map(({ kind }) => kind)).not.toContain('cancel');
          expect(made.stops.map(({ kind }) => kind)).not.toContain('shutdown');
          expect(['succeeded', 'rejected', 'denied', 'cancelled']).not.toContain(asked.verdict.status);
          expect(retriesLeft + repairsLeft).toBeGreaterThan(0);
          if (!may) expect(made.intents.map(({ state }) => state)).not.toContain('dispatched');
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('backoffMs', () => {
  const plan = { initialMs: 100, factor: 2, maxMs: 1_000, jitter: 0 };
  it('grows by its factor up to its most', () => {
    expect([0, 1, 2, 3, 4, 99].map((made) => backoffMs(plan, made, 0.5))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('for any plan and chance, is finite and between the unjittered share and the most', () => {
    const any = fc.record({
      initialMs: fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }),
      factor: fc.double({ min: 1, max: Number.MAX_VALUE, noNaN: true }),
      maxMs: fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const chance = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(any, fc.nat({ max: 99 }), chance, (given, made, drawn) => {
        const ms = backoffMs(given, made, drawn);
        const full = backoffMs({ ...given, jitter: 0 }, made, drawn);
        expect(full).toBeLessThanOrEqual(given.maxMs);
        expect(ms).toBeLessThanOrEqual(full);
        expect(ms).toBeGreaterThanOrEqual(full * (1 - given.jitter));
      }),
    );
  });
});

describe('joinedIntents', () => {
  it('settles an open one by the same effect under the same key, and by nothing else', () => {
    const open = [intent('dispatched')];
    const states = (...later: IntentRecord[]) => joinedIntents(open, later).map(({ state }) => state);
    expect(states(intent('applied'))).toEqual(['applied', 'applied']);
    expect(states(intent('applied', 'other'))).toEqual(['dispatched', 'applied']);
    expect(states({ ...intent('applied'), name: 'refund' })).toEqual(['dispatched', 'applied']);
    expect(states(intent('not-applied'))).toEqual(['dispatched', 'not-applied']);
    expect(states(intent('failed'))).toEqual(['dispatched', 'failed']);
  });
});
