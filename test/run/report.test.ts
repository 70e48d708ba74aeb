/** Report: frozen, JSON-safe, and of the shape that `runResultSchema` accepts, from any parts. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseEvent } from '../../machines/index.ts';
import { type AttemptRecord, classify } from '../../src/decide/classify.ts';
import { DEFAULTS } from '../../src/model/options.ts';
import { FINDING_KINDS, type IntentRecord } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { LEASE_STATES, STOP_KINDS } from '../../src/model/stop.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { Attempt } from '../../src/run/attempt.ts';
import { explain } from '../../src/run/explain.ts';
import { type ReportParts, report, wordedError } from '../../src/run/report.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { attemptParts } from './attempt-parts.ts';

/** Paths to what is not frozen, leaving out the value. */
function unfrozenIn(x: unknown, path = 'result'): string[] {
  if (typeof x !== 'object' || x === null || path === 'result.value') return [];
  const own = Object.isFrozen(x) ? [] : [path];
  return [...own, ...Object.entries(x).flatMap(([key, value]) => unfrozenIn(value, `${path}.${key}`))];
}

const REQUEST = {
  id: 'req-1',
  tool: 'fake',
  tenant: 'acme',
  run: 'r-1',
  branch: 'main',
  labels: Object.freeze({ colour: 'blue' }),
};
const SUCCEEDED = { status: 'succeeded', cause: null, also: [], code: null } as const;

function parts(over: Partial<ReportParts> = {}): ReportParts {
  return {
    verdict: SUCCEEDED,
    error: null,
    value: undefined,
    request: REQUEST,
    attempt: null,
    intents: [],
    startedWall: 1_700_000_000_000,
    totalMs: 0,
    boundMs: 7_000,
    durability: 'none',
    ...over,
  };
}

describe('report', () => {
  it('hands the value over as it came, unfrozen', () => {
    const value = { bytes: new Uint8Array(8) };
    const result = report(parts({ value }));
    expect(result.value).toBe(value);
    expect(Object.isFrozen(value)).toBe(false);
  });

  it('has no value unless it succeeded', () => {
    const verdict = { status: 'cancelled', cause: null, also: [], code: 'CANCELLED' } as const;
    expect('value' in report(parts({ verdict, value: 'secret' }))).toBe(false);
  });

  it('has no lease and no attempt when none was made', () => {
    const { lease, request, output, exit } = report(parts());
    expect({ lease, attempts: request.attempts, exit }).toEqual({ lease: null, attempts: [], exit: null });
    expect(output.stdout.text).toBe('');
  });

  it('tells of lateness only where the answer counts', () => {
    const attempt = new Attempt(attemptParts().setting);
    attempt.late = 'within-grace';
    const verdict = { status: 'cancelled', cause: null, also: [], code: 'CANCELLED' } as const;
    expect(report(parts({ attempt, verdict })).late).toBeNull();
    expect(report(parts({ attempt })).late).toBe('within-grace');
  });

  it('copies intents and stops, so that the record may go on', () => {
    const intents: IntentRecord[] = [{ name: 'charge', key: 'k', state: 'applied', atMs: 1 }];
    const result = report(parts({ intents }));
    intents.pop();
    expect(result.intents).toHaveLength(1);
  });

  it('for any parts, is frozen, JSON-safe and as the schema says', () => {
    const text = fc.string({ maxLength: 20 });
    const ms = fc.nat({ max: 5_000 });
    const stop = fc.record(
      { kind: fc.constantFrom(...STOP_KINDS), atMs: ms, state: fc.constantFrom(...LEASE_STATES), reason: text },
      { requiredKeys: ['kind', 'atMs', 'state'] },
    );
    const intent = fc.record({
      name: text,
      key: text,
      state: fc.constantFrom('dispatched', 'applied', 'not-applied', 'failed'),
      atMs: ms,
    }) as fc.Arbitrary<IntentRecord>;
    const code = fc.constantFrom('TOOL_ERROR', 'UNCAUGHT', 'OUT_OF_MEMORY', 'NOT_CLONEABLE', 'TOOL_LOAD');
    const outcome = fc.oneof(
      fc.record({ kind: fc.constant('value' as const), accepted: fc.boolean() }),
      fc.record({ kind: fc.constant('exception' as const), code, ofStop: fc.boolean() }),
    );
    const record: fc.Arbitrary<AttemptRecord> = fc.record({
      rejected: fc.option(fc.constantFrom('QUEUE_FULL', 'CLOSED', 'DEGRADED', 'INVALID_INPUT')),
      denied: fc.constant(null),
      outcome: fc.option(outcome),
      stops: fc.array(stop, { maxLength: 3 }),
      intents: fc.array(intent, { maxLength: 3 }),
      discardLate: fc.boolean(),
    });
    const events = ['GRANTED', 'STARTED', 'STOP', 'SETTLED', 'EXITED', 'ABANDONED', 'CLEAN', 'DIRTY', 'LOST', 'FAILED'];
    const past = fc.record({
      events: fc.array(fc.tuple(fc.constantFrom(...events), ms), { maxLength: 8 }),
      findings: fc.array(fc.record({ kind: fc.constantFrom(...FINDING_KINDS), condemns: fc.boolean() }), {
        maxLength: 2,
      }),
      exit: fc.option(fc.record({ code: fc.option(fc.nat({ max: 255 })), error: fc.constant(null) })),
      late: fc.constantFrom(null, 'within-grace' as const, 'after-kill' as const),
      lines: fc.array(text, { maxLength: 3 }),
      output: fc.array(fc.tuple(fc.constantFrom('stdout' as const, 'stderr' as const), fc.boolean(), text), {
        maxLength: 3,
      }),
    });
    fc.assert(
      fc.property(record, fc.option(past), fc.jsonValue(), text, ms, (told, lived, value, message, totalMs) => {
        const { clock, setting } = attemptParts();
        const attempt = lived === null ? null : new Attempt(setting);
        if (attempt !== null && lived !== null) {
          for (const [type, waited] of lived.events) {
            clock.jump(waited);
            if (!attempt.lease.ended)
              attempt.lease.send({ type, isolate: 'isolate-1', kind: 'thread' } as unknown as LeaseEvent);
          }
          const meta = { n: '', seq: 1, credit: 0 } as const;
          for (const line of lived.lines) {
            attempt.capture.take(
              { ...meta, t: 'log', level: 'info', message: line, fields: '{"a":1}', dropped: 0 },
              false,
            );
            attempt.capture.note('PROBE', line);
          }
          for (const [stream, killed, written] of lived.output) {
            attempt.capture.take(
              { ...meta, t: 'output', stream, bytes: Buffer.from(written), omittedBytes: 0 },
              killed,
            );
          }
          attempt.findings = Object.freeze(lived.findings.map((finding) => Object.freeze(finding)));
          attempt.late = lived.late;
          attempt.exit = lived.exit;
          if (told.outcome?.kind === 'exception') {
            attempt.answer = {
              ok: false,
              failure: { ...FAILURE, ...told.outcome, message, code: told.outcome.code as 'TOOL_ERROR' },
            };
          }
        }
        // What the ledger enters is frozen.
        const verdict = classify({ ...told, stops: told.stops.map((one) => Object.freeze(one)) });
        const complaint =
          told.outcome?.kind === 'value' && !told.outcome.accepted ? { message, fields: { issues: [] } } : null;
        const redactor = createRedactor();
        const circumstances = { verdict, attempt, bounds: DEFAULTS.bounds, operationTimeoutMs: 5, redactor, complaint };
        const result = report(
          parts({ verdict, attempt, value, totalMs, intents: told.intents, error: explain(circumstances) }),
        );
        expect(unfrozenIn(result)).toEqual([]);
        expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
        const again: unknown = JSON.parse(JSON.stringify(result));
        expect(runResultSchema.safeParse(again).error?.issues ?? []).toEqual([]);
        expect(result.ok).toBe(result.error === null);
      }),
      { numRuns: 200 },
    );
  });
});

describe('wordedError', () => {
  it('bounds its message to 4 KiB, and says that it did', () => {
    const error = wordedError('CANCELLED', 'AbortError', `The request was cancelled: ${'x'.repeat(10_000)}.`);
    expect(Buffer.byteLength(error.message)).toBe(4_096);
    expect(error).toMatchObject({ code: 'ERR_LEASEHOLD_CANCELLED', truncated: true });
    expect(wordedError('CANCELLED', 'AbortError', 'left').truncated).toBe(false);
  });
});

describe('report without an attempt', () => {
  it('keeps 64 notes as diagnostics, and counts the rest', () => {
    const { diagnostics, dropped } = report(parts({ notes: Array.from({ length: 70 }, (_, n) => `note ${n}`) }));
    expect(diagnostics).toHaveLength(64);
    expect(dropped).toEqual({ diagnostics: 6, logLines: 0, lateEvents: 0 });
  });
});
