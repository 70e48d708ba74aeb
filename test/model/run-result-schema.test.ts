/** The schema against whole results, and results with one thing wrong. */
import { describe, expect, it } from 'vitest';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { failedResult, sampleResult } from './sample-result.ts';

const accepts = (x: unknown): boolean => runResultSchema.safeParse(x).success;

describe('runResultSchema', () => {
  it('accepts a succeeded and a failed result, also out of JSON', () => {
    for (const result of [sampleResult(), failedResult('RUN_TIMEOUT'), sampleResult({ lease: null })]) {
      expect(runResultSchema.parse(result)).toEqual(result);
      expect(accepts(JSON.parse(JSON.stringify(result)))).toBe(true);
    }
  });

  it('accepts causes within causes', () => {
    const error = { code: 'ERR_LEASEHOLD_TOOL_ERROR', name: 'Error', message: 'x', truncated: false };
    expect(accepts(failedResult('TOOL_ERROR', { error: { ...error, cause: { ...error, cause: error } } }))).toBe(true);
    expect(accepts(failedResult('TOOL_ERROR', { error: { ...error, cause: { ...error, code: 'OTHER' } } }))).toBe(
      false,
    );
  });

  it('accepts any value, none included', () => {
    for (const value of [undefined, null, 0n, new Uint8Array(2)]) expect(accepts(sampleResult({ value }))).toBe(true);
  });

  it.each(Object.keys(failedResult('CANCELLED')))('refuses a result without %s', (field) => {
    const { [field]: _gone, ...rest } = failedResult('CANCELLED') as unknown as Record<string, unknown>;
    expect(accepts(rest)).toBe(false);
  });

  it('refuses a status, an ok and an error that do not agree', () => {
    expect(accepts({ ...sampleResult(), ok: false })).toBe(false);
    expect(accepts({ ...sampleResult(), status: 'failed' })).toBe(false);
    expect(accepts({ ...failedResult('CANCELLED'), error: null })).toBe(false);
    expect(accepts({ ...failedResult('CANCELLED'), status: 'succeeded' })).toBe(false);
  });

  it('refuses words and fields nobody described', () => {
    const result = sampleResult();
    expect(accepts({ ...result, status: 'done' })).toBe(false);
    expect(accepts({ ...result, extra: 1 })).toBe(false);
    expect(accepts({ ...result, timing: { ...result.timing, queuedMs: '1' } })).toBe(false);
    expect(accepts({ ...result, cause: { kind: 'boredom', atMs: 1, state: 'running' } })).toBe(false);
    expect(accepts({ ...result, output: { ...result.output, combinedBytes: -1 } })).toBe(false);
  });
});
