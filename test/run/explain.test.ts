/** Explain: an error names what ended the request and the bound that did. */
import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/decide/classify.ts';
import { DEFAULTS } from '../../src/model/options.ts';
import { STOP_KINDS, type Stop, type StopKind } from '../../src/model/stop.ts';
import { boundText, TEXT_LIMITS } from '../../src/output/bounded.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { Attempt } from '../../src/run/attempt.ts';
import { type Circumstances, explain } from '../../src/run/explain.ts';
import type { Failure } from '../../src/wire/failure.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { attemptParts } from './attempt-parts.ts';

const stop = (kind: StopKind, reason?: string): Stop => ({
  kind,
  atMs: 1,
  state: 'running',
  ...(reason === undefined ? {} : { reason }),
});
const caused = (code: string, kind: StopKind, reason?: string): Verdict => {
  return { status: 'interrupted', cause: stop(kind, reason), also: [], code };
};
const explained = (code: string, also: readonly Stop[] = []): Verdict => ({
  status: 'failed',
  cause: null,
  also,
  code,
});

function explaining(verdict: Verdict, over: Partial<Circumstances> = {}) {
  const redactor = createRedactor({ values: ['hunter2'] });
  return explain({
    verdict,
    attempt: null,
    bounds: DEFAULTS.bounds,
    operationTimeoutMs: 50,
    redactor,
    complaint: null,
    ...over,
  });
}
function failedAttempt(failure: Partial<Failure>): Attempt {
  const attempt = new Attempt(attemptParts().setting);
  attempt.answer = { ok: false, failure: { ...FAILURE, ...failure } };
  return attempt;
}

describe('explain', () => {
  it('has nothing to say of success', () => {
    expect(explaining({ status: 'succeeded', cause: null, also: [], code: null })).toBeNull();
  });

  it.each([
    ['CANCELLED', 'cancel', 'AbortError', 'The request was cancelled.'],
    ['RUN_TIMEOUT', 'run-timeout', 'TimeoutError', 'The tool did not end within runTimeoutMs (30000 ms).'],
    ['QUEUE_TIMEOUT', 'queue-timeout', 'TimeoutError', 'No isolate was free within queueTimeoutMs (600000 ms).'],
    [
      'OPERATION_TIMEOUT',
      'operation-timeout',
      'TimeoutError',
      'The request did not end within operationTimeoutMs (50 ms).',
    ],
    ['PARENT_DEADLINE', 'parent-deadline', 'TimeoutError', 'The deadline of the scope passed.'],
    ['SHUTDOWN', 'shutdown', 'InterruptedError', 'The supervisor was closed before the request ended.'],
    [
      'LEASE_UNAVAILABLE',
      'lease-unavailable',
      'InterruptedError',
      'No isolate could be given: each was lost before the tool ran.',
    ],
    ['ISOLATE_EXITED', 'isolate-exit', 'Error', 'The isolate ended while the tool ran, with exit code unknown.'],
  ] as const)('tells %s by its stop and its bound', (code, kind, name, message) => {
    expect(explaining(caused(code, kind))).toEqual({ code: `ERR_LEASEHOLD_${code}`, name, message, truncated: false });
  });

  it('adds the words of whoever cancelled', () => {
    expect(explaining(caused('CANCELLED', 'cancel', 'user left'))?.message).toBe(
      'The request was cancelled: user left.',
    );
  });

  it.each(STOP_KINDS)('has frozen words for a stop of kind %s', (kind) => {
    const error = explaining(caused('SHUTDOWN', kind));
    expect(error?.message).toMatch(/\w+/);
    expect(Object.isFrozen(error)).toBe(true);
  });

  it('tells what the tool threw, redacted', () => {
    const attempt = failedAttempt({ name: 'RangeError', message: 'hunter2 out of range' });
    expect(explaining(explained('TOOL_ERROR'), { attempt })).toMatchObject({
      code: 'ERR_LEASEHOLD_TOOL_ERROR',
      name: 'RangeError',
      message: '[redacted] out of range',
    });
  });

  it('warns that an uncaught error may be an earlier request’s', () => {
    const attempt = failedAttempt({ code: 'UNCAUGHT', message: 'late' });
    expect(explaining(explained('UNCAUGHT'), { attempt })?.message).toMatch(/^late .*may stem from an earlier request/);
  });

  it('tells of the heap limit without the words of Node', () => {
    const attempt = failedAttempt({ code: 'OUT_OF_MEMORY', message: 'Worker terminated' });
    for (const verdict of [explained('OUT_OF_MEMORY'), caused('OUT_OF_MEMORY', 'isolate-exit')]) {
      expect(explaining(verdict, { attempt })?.message).toBe('The isolate ran out of memory and was ended.');
    }
  });

  it('tells what a schema complained of, with its issues', () => {
    const complaint = { message: 'The value was refused: hunter2', fields: { issues: [{ path: 'a' }] } };
    expect(explaining(explained('INVALID_OUTPUT'), { complaint })).toMatchObject({
      code: 'ERR_LEASEHOLD_INVALID_OUTPUT',
      name: 'TypeError',
      message: 'The value was refused: [redacted]',
      fields: { issues: [{ path: 'a' }] },
    });
  });

  it.each([
    ['CANCELLED', caused('CANCELLED', 'cancel', 'left'), 'The request was cancelled: left.'],
    ['ISOLATE_EXITED', caused('ISOLATE_EXITED', 'isolate-exit'), /^The isolate ended/],
    ['RUN_TIMEOUT', caused('RUN_TIMEOUT', 'run-timeout'), /^The tool did not end/],
  ] as const)('tells %s and not what a schema complained of', (_, verdict, message) => {
    const complaint = { message: 'The value was refused' };
    expect(explaining(verdict, { complaint })?.message).toMatch(message);
  });

  it.each(['DENIED', 'AUTHORIZER_FAILED'])('tells %s in the words of the denial, whatever else there is', (code) => {
    const complaint = { message: 'The authorizer said no: hunter2', truncated: false };
    const verdict: Verdict = { status: 'denied', cause: null, also: [stop('run-timeout')], code };
    for (const attempt of [null, failedAttempt({ message: 'the tool went on' })]) {
      expect(explaining(verdict, { complaint, attempt })).toEqual({
        code: `ERR_LEASEHOLD_${code}`,
        name: 'DeniedError',
        message: 'The authorizer said no: [redacted]',
        truncated: false,
      });
    }
  });

  it.each(['INVALID_INPUT', 'INVALID_OUTPUT', 'DENIED'])(
    'hides a torn value at the end of a complaint of %s',
    (code) => {
      const complaint = { message: 'The value was refused: hunt', truncated: true };
      expect(explaining(explained(code), { complaint })).toMatchObject({
        message: 'The value was refused: [redacted]',
        truncated: true,
      });
    },
  );

  it('hides a torn value at the end of an uncaught error', () => {
    const attempt = failedAttempt({ code: 'UNCAUGHT', message: 'it was hunter', truncated: true });
    expect(explaining(explained('UNCAUGHT'), { attempt })).toMatchObject({
      message: expect.stringMatching(/^it was \[redacted\] \(uncaught; /),
      truncated: true,
    });
  });

  it.each(['cancel', 'output-limit'] as const)('says that the reason of a %s was cut', (kind) => {
    const reason = boundText('x'.repeat(5_000), TEXT_LIMITS.reasonBytes);
    expect(explaining(caused('CANCELLED', kind, reason))?.truncated).toBe(true);
    expect(explaining(caused('CANCELLED', kind, 'user left…'))?.truncated).toBe(false);
  });

  it('tells what onPrepared threw', () => {
    const attempt = new Attempt(attemptParts().setting);
    attempt.refusal = { code: 'ON_PREPARED', error: new RangeError('not now') };
    expect(explaining(explained('ON_PREPARED'), { attempt })).toMatchObject({ name: 'RangeError', message: 'not now' });
  });

  it.each([
    ['QUEUE_FULL', /untilCapacity\(\)/],
    ['CLOSED', /closed/],
    ['DEGRADED', /healed/],
  ])('says what to do about %s', (code, words) => {
    expect(explaining(explained(code))).toMatchObject({ name: 'RefusedError', message: expect.stringMatching(words) });
  });
});

describe('explain of an indeterminate end', () => {
  const verdict: Verdict = { status: 'indeterminate', cause: null, also: [], code: 'INDETERMINATE' };

  it('carries the stop as its cause', () => {
    const error = explaining({ ...verdict, cause: stop('run-timeout') });
    expect(error).toMatchObject({ code: 'ERR_LEASEHOLD_INDETERMINATE', cause: { code: 'ERR_LEASEHOLD_RUN_TIMEOUT' } });
  });

  it('carries the failure as its cause when that explains itself', () => {
    const attempt = failedAttempt({ message: 'broke' });
    expect(explaining({ ...verdict, also: [stop('cancel')] }, { attempt })?.cause).toMatchObject({
      code: 'ERR_LEASEHOLD_TOOL_ERROR',
      message: 'broke',
    });
  });

  it('carries no cause when nothing says why', () => {
    expect(explaining(verdict)).not.toHaveProperty('cause');
  });
});
