/** Findings as a result tells them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge } from '../../src/decide/condemn.ts';
import { FINDING_KINDS } from '../../src/model/result.ts';
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

  it('tells many once per kind, with their number and the first of them', () => {
    const many = Array.from({ length: 50_000 }, (_, n) => ({ kind: 'global-added' as const, detail: `g${n}` }));
    const findings = judged([...many, { kind: 'nonce-violation' }], { 'global-added': false }, redactor);
    expect(findings).toEqual([
      { kind: 'global-added', condemns: false, detail: '50000 in all: g0, g1, g2, g3, g4, g5, g6, g7' },
      { kind: 'nonce-violation', condemns: true, detail: '' },
    ]);
  });

  it('for any findings keeps every kind, within bounds, and condemns alike', () => {
    const kind = fc.constantFrom(...FINDING_KINDS);
    const finding = fc.record({ kind, detail: fc.string({ maxLength: 3_000 }) });
    fc.assert(
      fc.property(fc.array(finding, { maxLength: 60 }), (list) => {
        const findings = judged(list, {}, redactor);
        expect(findings.length).toBeLessThanOrEqual(Math.max(16, FINDING_KINDS.length));
        expect(new Set(findings.map((told) => told.kind))).toEqual(new Set(list.map((seen) => seen.kind)));
        expect(findings.some(({ condemns }) => condemns)).toBe(judge(list).some(({ condemns }) => condemns));
        for (const { detail = '' } of findings) expect(Buffer.byteLength(detail)).toBeLessThanOrEqual(2_048);
      }),
    );
  });

  it('hides a torn value where the isolate cut the detail', () => {
    const detail = `${'x'.repeat(1_000)}hunter`;
    expect(judged([{ kind: 'late-error', detail }], {}, redactor)[0]?.detail).toMatch(/x\[redacted\]$/);
  });

  it('freezes the list and each finding', () => {
    const findings = judged([{ kind: 'exited', detail: 'exit code 3' }], {}, redactor);
    expect([findings, ...findings].every(Object.isFrozen)).toBe(true);
    expect(judged([], {}, redactor)).toEqual([]);
  });
});
