/**
 * Schedules for property tests: what callers, tools and time may do to a supervisor, and a far side that plays it.
 *
 * Invariant: a behaviour is a word that travels as the input, so that a found case can be read and replayed.
 * Deliberately absent: expectations.
 */
import fc from 'fast-check';
import type { FakeTenure, Far } from './fake-tenure.ts';

/** What a tool does, by name. */
export const BEHAVIOURS = [
  'value',
  'throw',
  'hang',
  'obey',
  'late-value',
  'late-throw',
  'exit',
  'exit-on-stop',
  'uncaught',
  'value-dirty',
  'value-looks-clean',
  'value-then-exit',
  'settle-twice',
  'forge',
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export type Step =
  | {
      readonly do: 'submit';
      readonly behaviour: Behaviour;
      readonly runTimeoutMs: number;
      readonly operationTimeoutMs: number;
      /** In all; above 1 with a retry after whatever may be tried again. */
      readonly attempts: number;
      /** Whether another input is given for a refused output, at once or later; null: there is no schema. */
      readonly repair: 'at once' | 'later' | 'never' | null;
      readonly observer: 'none' | 'throws' | 'cancels';
    }
  | { readonly do: 'cancel'; readonly index: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'kill-idle'; readonly index: number }
  | { readonly do: 'close'; readonly withinMs: number };

const submit = fc.record({
  do: fc.constant('submit' as const),
  behaviour: fc.constantFrom(...BEHAVIOURS),
  runTimeoutMs: fc.integer({ min: 1, max: 400 }),
  operationTimeoutMs: fc.integer({ min: 0, max: 400 }),
  attempts: fc.constantFrom(1, 1, 2, 3),
  repair: fc.constantFrom(null, null, 'at once' as const, 'later' as const, 'never' as const),
  observer: fc.constantFrom('none' as const, 'none' as const, 'throws' as const, 'cancels' as const),
});
const cancel = fc.record({ do: fc.constant('cancel' as const), index: fc.nat({ max: 15 }) });
const advance = fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 300 }) });
const killIdle = fc.record({ do: fc.constant('kill-idle' as const), index: fc.nat({ max: 3 }) });
const close = fc.record({ do: fc.constant('close' as const), withinMs: fc.integer({ min: 1, max: 5_000 }) });

export const schedule = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: submit },
    { weight: 3, arbitrary: cancel },
    { weight: 4, arbitrary: advance },
    { weight: 1, arbitrary: killIdle },
    { weight: 1, arbitrary: close },
  ) as fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 24 },
);

const behaviourOf = (tenure: FakeTenure): unknown => tenure.current?.input;

/** A far side that does what the input says. */
export const obedientFar: Far = {
  run(tenure, message) {
    switch (message.input as Behaviour) {
      case 'value':
        return tenure.value('done');
      case 'throw':
        return tenure.failure();
      case 'exit':
        return tenure.die({ code: 3, error: null });
      case 'uncaught':
        return tenure.fatal();
      case 'value-dirty':
        tenure.value('done', false);
        return tenure.looked(message.seq, ['residual-handle']);
      case 'value-looks-clean':
        tenure.value('done', false);
        return tenure.looked(message.seq);
      case 'value-then-exit':
        tenure.value('done');
        return tenure.die({ code: 0, error: null });
      case 'settle-twice':
        tenure.value('done');
        return tenure.emit({
          t: 'settled',
          seq: message.seq,
          ok: true,
          value: 'again',
          clean: true,
          reset: false,
          healthCheck: false,
          ranMs: 0,
        });
      case 'forge':
        tenure.emitForged({
          t: 'settled',
          n: 'guessed',
          seq: message.seq,
          ok: true,
          value: 'forged',
          clean: true,
          reset: false,
          healthCheck: false,
          ranMs: 0,
        });
        return tenure.value('done');
      default:
        return undefined;
    }
  },
  stop(tenure) {
    switch (behaviourOf(tenure) as Behaviour | undefined) {
      case 'obey':
        return tenure.failure({ ofStop: true, name: 'AbortError' });
      case 'late-value':
        return tenure.value('done');
      case 'late-throw':
        return tenure.failure();
      case 'exit-on-stop':
        return tenure.die({ code: 9, error: null });
      default:
        return undefined;
    }
  },
};

/** What each behaviour may truthfully end as, whatever stops it. */
export const TRUTHS: Readonly<Record<Behaviour, readonly string[]>> = {
  value: ['succeeded'],
  throw: ['failed'],
  hang: [],
  obey: [],
  'late-value': ['succeeded'],
  'late-throw': ['failed'],
  exit: ['failed'],
  'exit-on-stop': [],
  uncaught: ['failed'],
  'value-dirty': ['succeeded'],
  'value-looks-clean': ['succeeded'],
  'value-then-exit': ['succeeded'],
  'settle-twice': ['succeeded'],
  forge: ['succeeded', 'failed'],
};
/** Ways a stop, or a refusal, may end any of them. */
export const STOPPED = ['rejected', 'cancelled', 'timed-out', 'interrupted'] as const;
