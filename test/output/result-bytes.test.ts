/** Results whose output holds bytes, before and after JSON. */
import { describe, expect, it } from 'vitest';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { EMPTY_OUTPUT } from '../../src/output/capture-limits.ts';
import { sampleResult } from '../model/sample-result.ts';

const withBytes = (bytes: unknown): unknown => {
  const stdout = { ...EMPTY_OUTPUT.stdout, bytes };
  return sampleResult({ output: { ...EMPTY_OUTPUT, stdout: stdout as typeof EMPTY_OUTPUT.stdout } });
};
const isAccepted = (result: unknown): boolean => runResultSchema.safeParse(result).success;

describe('runResultSchema', () => {
  it('accepts bytes, and what JSON makes of them', () => {
    for (const bytes of [new Uint8Array(0), Uint8Array.of(0, 7, 255)]) {
      expect(isAccepted(withBytes(bytes))).toBe(true);
      expect(isAccepted(JSON.parse(JSON.stringify(withBytes(bytes))))).toBe(true);
    }
  });

  it.each([
    [null],
    ['bytes'],
    [[1, 2]],
    [{ 0: 256 }],
    [{ 0: -1 }],
    [{ 0: 1.5 }],
    [{ 1: 7 }],
    [{ 0: '7' }],
    [{ length: 0 }],
  ])('refuses %j as bytes', (bytes) => {
    expect(isAccepted(withBytes(bytes))).toBe(false);
  });
});
