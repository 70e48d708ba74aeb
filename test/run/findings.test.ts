/** Findings as a result tells them. */
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/output/redaction.ts';
import { judged } from '../../src/run/findings.ts';

const redactor = createRedactor({ values: ['hunter2'] });

describe('judged', () => {
  it('judges by the policy, over the defaults', () => {
    const findings = judged(
      [{ kind: 'env-changed' }, { kind: 'residual-handle' }],
      { 'env-changed': true, 'residual-handle': false },
      redactor,
    );
    expect(findings).toEqual([
      { kind: 'env-changed', condemns: true },
      { kind: 'residual-handle', condemns: false },
    ]);
  });

  it('condemns what was killed whatever the policy says', () => {
    expect(judged([{ kind: 'killed' }], { killed: false }, redactor)).toEqual([{ kind: 'killed', condemns: true }]);
  });

  it('hides known values, then bounds what is left', () => {
    const [finding] = judged([{ kind: 'global-added', detail: `hunter2 ${'x'.repeat(10_000)}` }], {}, redactor);
    expect(finding?.detail).toMatch(/^\[redacted\] x/);
    expect(Buffer.byteLength(finding?.detail ?? '')).toBeLessThanOrEqual(2_048);
  });

  it('freezes the list and each finding', () => {
    const findings = judged([{ kind: 'exited', detail: 'exit code 3' }], {}, redactor);
    expect([findings, ...findings].every(Object.isFrozen)).toBe(true);
    expect(judged([], {}, redactor)).toEqual([]);
  });
});
