/** The order of the statuses, over every record that can be built. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AttemptRecord, classify, type Outcome } from '../../src/decide/classify.ts';
import { ERROR_CODES } from '../../src/model/errors.ts';
import type { IntentRecord, IntentState } from '../../src/model/result.ts';
import { LEASE_STATES, STATUSES, STOP_KINDS, type Stop, type StopKind } from '../../src/model/stop.ts';

const stop = (kind: StopKind, state: Stop['state'] = 'running'): Stop => ({ kind, atMs: 1, state });
const intent = (state: IntentState): IntentRecord => ({ name: 'charge', key: 'k', state, atMs: 1 });
const NOTHING: AttemptRecord = {
  rejected: null,
  denied: null,
  outcome: null,
  stops: [],
  intents: [],
  discardLate: false,
};
const verdict = (over: Partial<AttemptRecord>) => classify({ ...NOTHING, ...over });
const value: Outcome = { kind: 'value', accepted: true };
const threw = (code = 'TOOL_ERROR', ofStop = false): Outcome => ({ kind: 'exception', code, ofStop });

const stops = fc.array(
  fc.record({ kind: fc.constantFrom(...STOP_KINDS), atMs: fc.nat(), state: fc.constantFrom(...LEASE_STATES) }),
  { maxLength: 4 },
);
const intents = fc.array(fc.constantFrom<IntentState>('dispatched', 'applied', 'not-applied', 'failed').map(intent), {
  maxLength: 3,
});
const outcome = fc.oneof(
  fc.constant(null),
  fc.record({ kind: fc.constant('value' as const), accepted: fc.boolean() }),
  fc.record({
    kind: fc.constant('exception' as const),
    code: fc.constantFrom('TOOL_ERROR', 'TOOL_LOAD', 'UNCAUGHT', 'OUT_OF_MEMORY', 'ISOLATE_EXITED', 'ON_PREPARED'),
    ofStop: fc.boolean(),
  }),
);
const admitted = fc.record({
  rejected: fc.constant(null),
  denied: fc.constant(null),
  outcome,
  stops,
  intents,
  discardLate: fc.boolean(),
});
const anyRecord = fc.oneof(
  admitted,
  fc.record({
    rejected: fc.option(fc.constantFrom('QUEUE_FULL', 'CLOSED'), { nil: null }),
    denied: fc.option(fc.constantFrom('DENIED', 'AUTHORIZER_FAILED'), { nil: null }),
    outcome,
    stops,
    intents,
    discardLate: fc.boolean(),
  }),
);
const isOpen = ({ state }: IntentRecord): boolean => state === 'dispatched';

describe('classify', () => {
  it.each<[Partial<AttemptRecord>, string, string | null]>([
    [{ rejected: 'QUEUE_FULL' }, 'rejected', 'QUEUE_FULL'],
    [{ denied: 'AUTHORIZER_FAILED' }, 'denied', 'AUTHORIZER_FAILED'],
    [{ outcome: value }, 'succeeded', null],
    [{ outcome: value, stops: [stop('run-timeout')] }, 'succeeded', null],
    [{ outcome: value, stops: [stop('run-timeout')], discardLate: true }, 'timed-out', 'RUN_TIMEOUT'],
    [{ outcome: value, stops: [stop('cancel', 'draining')], discardLate: true }, 'succeeded', null],
    [{ outcome: { kind: 'value', accepted: false } }, 'failed', 'INVALID_OUTPUT'],
    [
      { outcome: { kind: 'value', accepted: false }, intents: [intent('dispatched')] },
      'indeterminate',
      'INDETERMINATE',
    ],
    [{ outcome: threw() }, 'failed', 'TOOL_ERROR'],
    [{ outcome: threw(), stops: [stop('cancel')] }, 'failed', 'TOOL_ERROR'],
    [{ outcome: threw('TOOL_ERROR', true), stops: [stop('cancel')] }, 'cancelled', 'CANCELLED'],
    [{ outcome: threw('TOOL_ERROR', true) }, 'failed', 'TOOL_ERROR'],
    [{ outcome: threw('ISOLATE_EXITED') }, 'failed', 'ISOLATE_EXITED'],
    [{ outcome: threw('OUT_OF_MEMORY'), stops: [stop('isolate-exit')] }, 'failed', 'OUT_OF_MEMORY'],
    [{ outcome: threw('OUT_OF_MEMORY'), stops: [stop('cancel'), stop('isolate-exit')] }, 'cancelled', 'CANCELLED'],
    [{ stops: [stop('cancel')] }, 'cancelled', 'CANCELLED'],
    [{ stops: [stop('cancel')], intents: [intent('dispatched')] }, 'indeterminate', 'INDETERMINATE'],
    [{ stops: [stop('cancel')], intents: [intent('applied')] }, 'cancelled', 'CANCELLED'],
    [{ stops: [stop('run-timeout')] }, 'timed-out', 'RUN_TIMEOUT'],
    [{ stops: [stop('queue-timeout', 'queued')] }, 'timed-out', 'QUEUE_TIMEOUT'],
    [{ stops: [stop('parent-deadline')] }, 'timed-out', 'PARENT_DEADLINE'],
    [{ stops: [stop('operation-timeout')] }, 'timed-out', 'OPERATION_TIMEOUT'],
    [{ stops: [stop('shutdown')] }, 'interrupted', 'SHUTDOWN'],
    [{ stops: [stop('health-failure')] }, 'interrupted', 'HEALTH'],
    [{ stops: [stop('lease-unavailable', 'acquired')] }, 'interrupted', 'LEASE_UNAVAILABLE'],
    [{ stops: [stop('host-lost')] }, 'interrupted', 'HOST_LOST'],
    [{ stops: [stop('isolate-exit')] }, 'failed', 'ISOLATE_EXITED'],
    [{ stops: [stop('output-limit')] }, 'failed', 'OUTPUT_LIMIT'],
    [{}, 'interrupted', 'HOST_LOST'],
  ])('%j is %s with the code %s', (over, status, code) => {
    expect(verdict(over)).toMatchObject({ status, code });
  });

  it('an outcome explains itself: all stops are told beside it', () => {
    const recorded = [stop('cancel'), stop('run-timeout')];
    expect(verdict({ outcome: value, stops: recorded })).toMatchObject({ cause: null, also: recorded });
    expect(verdict({ outcome: threw(), stops: recorded })).toMatchObject({ cause: null, also: recorded });
  });

  it('the first stop is the cause, the others follow in order', () => {
    const [first, ...rest] = [stop('run-timeout'), stop('cancel'), stop('shutdown')];
    expect(verdict({ stops: [first, ...rest] as Stop[] })).toMatchObject({ cause: first, also: rest });
  });

  it('for any record answers with known words and loses no stop', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { status, cause, also, code } = classify(record);
        expect(STATUSES).toContain(status);
        expect(code === null).toBe(status === 'succeeded');
        if (code !== null) expect(ERROR_CODES).toHaveProperty(code);
        expect(cause === null ? also : [cause, ...also]).toEqual(record.stops);
      }),
    );
  });

  it('for any record the first of the ordered statuses that fits wins', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { status } = classify(record);
        const late = record.discardLate && record.stops[0] !== undefined && record.stops[0].state !== 'draining';
        const got = late ? null : record.outcome;
        if (record.rejected !== null) expect(status).toBe('rejected');
        else if (record.denied !== null && record.intents.length === 0) expect(status).toBe('denied');
        else if (record.denied !== null) expect(status).toBe(record.intents.some(isOpen) ? 'indeterminate' : 'failed');
        else if (got?.kind === 'value' && got.accepted) expect(status).toBe('succeeded');
        else if (record.intents.some(isOpen)) expect(status).toBe('indeterminate');
        else expect(['failed', 'cancelled', 'timed-out', 'interrupted']).toContain(status);
      }),
    );
  });

  it('for any admitted record indeterminate means dispatched and not settled', () => {
    fc.assert(
      fc.property(admitted, (record) => {
        const { status } = classify(record);
        const open = record.intents.some(isOpen);
        if (status === 'indeterminate') expect(open).toBe(true);
        if (open) expect(['indeterminate', 'succeeded']).toContain(status);
      }),
    );
  });
});
