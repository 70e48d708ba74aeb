/** Codes, brands, and how a result becomes a throw. */
import { describe, expect, it } from 'vitest';
import * as errors from '../../src/model/errors.ts';
import {
  CancelledError,
  ERROR_CODES,
  type ErrorCode,
  invalidOption,
  isLeaseholdError,
  isRunResult,
  type LeaseholdError,
  OperationTimeoutError,
  stableResult,
  ToolError,
  unwrap,
} from '../../src/model/errors.ts';
import type { RunResult } from '../../src/model/result.ts';
import { failedResult, sampleResult } from './sample-result.ts';

const classes = new Map<string, unknown>(Object.entries(errors));
const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

function thrownBy(result: RunResult): LeaseholdError | OperationTimeoutError {
  try {
    unwrap(result);
  } catch (error) {
    if (isLeaseholdError(error)) return error;
  }
  throw new Error('nothing of ours was thrown');
}

describe('ERROR_CODES', () => {
  it('is frozen in every row', () => {
    expect(Object.isFrozen(ERROR_CODES)).toBe(true);
    expect(CODES.filter((code) => !Object.isFrozen(ERROR_CODES[code]))).toEqual([]);
  });

  it('names only classes that exist', () => {
    expect(CODES.filter((code) => !classes.has(ERROR_CODES[code].thrownBy))).toEqual([]);
  });

  it('never calls an indeterminate end safe to retry', () => {
    expect(ERROR_CODES.INDETERMINATE.retrySafe).toBe(false);
  });
});

describe('unwrap', () => {
  it('returns the value of a succeeded result', () => {
    expect(unwrap(sampleResult())).toEqual({ pages: 3 });
  });

  it.each(CODES)('throws for %s the class that the table names', (code) => {
    const result = failedResult(code);
    const error = thrownBy(result);
    expect(error.constructor).toBe(classes.get(ERROR_CODES[code].thrownBy));
    expect(error.leaseholdCode).toBe(`ERR_LEASEHOLD_${code}`);
    expect(error.result).toBe(result);
    expect(error.message).toBe('out of range');
  });

  it('throws a RefusedError for whatever was rejected', () => {
    expect(thrownBy(failedResult('NOT_CLONEABLE', { status: 'rejected' })).name).toBe('RefusedError');
  });

  it('keeps name, fields, causes and frames of what the tool threw', () => {
    const cause = { code: 'ERR_LEASEHOLD_TOOL_ERROR', name: 'Error', message: 'disk full', truncated: false };
    const error = thrownBy(
      failedResult('TOOL_ERROR', {
        error: {
          code: 'ERR_LEASEHOLD_TOOL_ERROR',
          name: 'TypeError',
          message: 'no page',
          stack: 'TypeError: no page\n    at render (render.js:1:1)',
          cause: { ...cause, cause: { ...cause, message: 'no space' } },
          fields: { page: 7 },
          truncated: false,
        },
      }),
    );
    expect(error).toMatchObject({ name: 'TypeError', fields: { page: 7 }, cause: { message: 'disk full' } });
    expect((error.cause as Error).cause).toMatchObject({ message: 'no space' });
    expect(error.stack).toMatch(/^TypeError: no page\n {4}at render[\s\S]*errors\.test/);
  });

  it('calls a retry safe only when no effect may have happened', () => {
    const intent = { name: 'charge', key: 'k', atMs: 1 };
    const withState = (state: 'applied' | 'not-applied' | 'failed' | 'dispatched') =>
      thrownBy(failedResult('CANCELLED', { intents: [{ ...intent, state }] })).retrySafe;
    expect(thrownBy(failedResult('CANCELLED', { intents: [] })).retrySafe).toBe(true);
    expect(withState('not-applied')).toBe(true);
    expect(withState('applied')).toBe(false);
    expect(withState('failed')).toBe(false);
    expect(withState('dispatched')).toBe(false);
  });
});

describe('platform identities', () => {
  it('an operation timeout is a DOMException named TimeoutError', () => {
    const cause = new Error('reason');
    const error = new OperationTimeoutError('OPERATION_TIMEOUT', 'too long', { cause });
    expect(error).toBeInstanceOf(DOMException);
    expect(error).toMatchObject({ name: 'TimeoutError', code: DOMException.TIMEOUT_ERR, cause });
    expect(error.leaseholdCode).toBe('ERR_LEASEHOLD_OPERATION_TIMEOUT');
  });

  it('a cancellation is named AbortError', () => {
    expect(new CancelledError('CANCELLED', 'user left')).toMatchObject({
      name: 'AbortError',
      code: 'ERR_LEASEHOLD_CANCELLED',
    });
  });
});

describe('isLeaseholdError', () => {
  it('knows an error by its brand, not by its class', () => {
    const foreign = Object.assign(new Error('from another copy'), { [Symbol.for('leasehold.error')]: true });
    expect(isLeaseholdError(foreign)).toBe(true);
    expect(isLeaseholdError(new ToolError('TOOL_ERROR', 'x'))).toBe(true);
    expect(isLeaseholdError(new OperationTimeoutError('OPERATION_TIMEOUT', 'x'))).toBe(true);
  });

  it('is false for anything else, hostile objects included', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    for (const x of [new Error('x'), null, undefined, 'x', {}, hostile]) expect(isLeaseholdError(x)).toBe(false);
  });
});

describe('invalidOption', () => {
  it('names the option, the range and what came', () => {
    const error = invalidOption('graceMs', Number.NaN, 'a number above 0');
    expect(error.message).toBe('Option "graceMs" must be a number above 0; got NaN.');
    expect(error.code).toBe('ERR_LEASEHOLD_INVALID_OPTION');
  });

  it('describes long and nested values instead of showing them', () => {
    const shown = [{ secret: 'hunter2' }, ['hunter2'], `hunter2${'.'.repeat(99)}`].map(
      (got) => invalidOption('x', got, 'y').message,
    );
    expect(shown.join()).not.toContain('hunter2');
  });
});

describe('isRunResult', () => {
  it('accepts results, also out of JSON', () => {
    expect(isRunResult(sampleResult())).toBe(true);
    expect(isRunResult(JSON.parse(JSON.stringify(failedResult('CANCELLED'))))).toBe(true);
  });

  it('refuses what only resembles one', () => {
    for (const x of [
      null,
      7,
      {},
      { status: 'succeeded' },
      { ...sampleResult(), ok: false },
      { ...sampleResult(), status: 'done' },
    ]) {
      expect(isRunResult(x)).toBe(false);
    }
  });
});

describe('stableResult', () => {
  it('is equal for two equal runs at other times under other ids', () => {
    const first = sampleResult();
    const timing = { ...first.timing, startedAt: '2027-01-01T00:00:00.000Z', runningMs: 99 };
    const lease = { ...first.lease, id: 'lease-9', isolate: { id: 'isolate-9', kind: 'thread' } } as RunResult['lease'];
    const second = sampleResult({
      also: [{ kind: 'cancel', atMs: 500, state: 'draining', scope: 'scope-9', reason: 'user left' }],
      timing,
      lease,
      request: {
        ...first.request,
        id: 'req-9',
        run: 'r-9',
        attempts: [{ number: 1, status: 'succeeded', cause: null, lease, timing }],
      },
      intents: [{ name: 'charge', key: 'k-9', state: 'not-applied', atMs: 77 }],
      diagnostics: [{ code: 'PROBE', message: 'env restored', atMs: 5 }],
      logs: [{ level: 'info', message: 'page 3', fields: { page: 3 }, atMs: 1 }],
      output: { ...first.output, drain: { ...first.output.drain, ms: 44 } },
    });
    expect(stableResult(second)).toEqual(stableResult(first));
  });

  it('differs when what happened differs', () => {
    expect(stableResult(failedResult('CANCELLED'))).not.toEqual(stableResult(failedResult('TOOL_ERROR')));
    expect(stableResult(sampleResult({ also: [] }))).not.toEqual(stableResult(sampleResult()));
  });
});
