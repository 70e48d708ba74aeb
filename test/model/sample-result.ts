/** A whole result, for tests that need one of a certain shape. */
import { publicCode } from '../../src/model/errors.ts';
import type { RunResult } from '../../src/model/result.ts';
import { EMPTY_OUTPUT } from '../../src/output/capture-limits.ts';

const timing = {
  startedAt: '2026-11-29T15:00:00.000Z',
  queuedMs: 1,
  acquiredMs: 0.5,
  runningMs: 20,
  terminatingMs: 0,
  drainingMs: 0.25,
  totalMs: 21.75,
  boundMs: 7_000,
};

const lease = {
  id: 'lease-1',
  isolate: { id: 'isolate-1', kind: 'thread' },
  path: ['queued', 'acquired', 'running', 'draining', 'completed'],
  end: 'completed',
  findings: [{ kind: 'env-changed', condemns: false, detail: 'HOME' }],
} as const;

export function sampleResult(over: Partial<RunResult> = {}): RunResult {
  return {
    status: 'succeeded',
    ok: true,
    value: { pages: 3 },
    error: null,
    cause: null,
    also: [{ kind: 'cancel', atMs: 12, state: 'draining', scope: 'scope-1', reason: 'user left' }],
    late: null,
    request: {
      id: 'req-1',
      tool: 'render',
      tenant: 'acme',
      run: 'r-1',
      branch: 'main',
      labels: { colour: 'blue' },
      attempts: [{ number: 1, status: 'succeeded', cause: null, lease, timing }],
    },
    lease,
    timing,
    exit: null,
    output: EMPTY_OUTPUT,
    intents: [{ name: 'charge', key: 'k-1', state: 'not-applied', atMs: 3 }],
    durability: 'none',
    diagnostics: [{ code: 'PROBE', message: 'env restored', atMs: 21 }],
    logs: [{ level: 'info', message: 'page 3', fields: { page: 3 }, atMs: 9 }],
    dropped: { diagnostics: 0, logLines: 0, lateEvents: 0 },
    ...over,
  } as RunResult;
}

/** A result that failed with this code. */
export function failedResult(code: string, over: Partial<RunResult> = {}): RunResult {
  const { value: _value, ...rest } = sampleResult();
  const error = { code: publicCode(code), name: 'RangeError', message: 'out of range', truncated: false };
  return { ...rest, status: 'failed', ok: false, error, ...over } as RunResult;
}
