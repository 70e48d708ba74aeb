/** Size limits of text, and failures as errors of a result. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundText, isBounded, runErrorFrom, TEXT_LIMITS } from '../../src/output/bounded.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import type { Failure } from '../../src/wire/failure.ts';

const size = (s: string): number => new TextEncoder().encode(s).length;
const failure = (over: Partial<Failure> = {}): Failure => ({
  code: 'TOOL_ERROR',
  name: 'Error',
  message: 'no',
  ofStop: false,
  truncated: false,
  ...over,
});
const none = createRedactor();

describe('boundText', () => {
  it('leaves alone what fits', () => {
    expect(boundText('12345', 5)).toBe('12345');
    expect(boundText('€', 3)).toBe('€');
  });

  it('cuts at a character border and says so', () => {
    expect(boundText('123456789', 8)).toBe('12345…');
    expect(boundText('€€€€', 8)).toBe('€…');
  });

  it('for any text and limit that cut it, the cut shows', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 3, max: 80 }), (s, maxBytes) => {
        if (size(s) > maxBytes) expect(isBounded(boundText(s, maxBytes), maxBytes)).toBe(true);
        else if (!s.endsWith('…')) expect(isBounded(boundText(s, maxBytes), maxBytes)).toBe(false);
      }),
    );
  });

  it('for any text and limit stays within it, and is whole or marked', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat(80), (s, maxBytes) => {
        const bounded = boundText(s, maxBytes);
        expect(size(bounded)).toBeLessThanOrEqual(maxBytes);
        if (size(s) <= maxBytes) expect(bounded).toBe(s);
        else if (maxBytes >= 3) expect(s.startsWith(bounded.slice(0, -1)) && bounded.endsWith('…')).toBe(true);
      }),
    );
  });
});

describe('runErrorFrom', () => {
  it('keeps name, message, stack, fields and causes, frozen', () => {
    const cause = failure({ code: 'TOOL_LOAD', message: 'why' });
    const error = runErrorFrom(failure({ stack: 'at x', fields: { page: { n: 7 } }, cause }), 'TOOL_ERROR', none);
    expect(error).toEqual({
      code: 'ERR_LEASEHOLD_TOOL_ERROR',
      name: 'Error',
      message: 'no',
      stack: 'at x',
      fields: { page: { n: 7 } },
      cause: { code: 'ERR_LEASEHOLD_TOOL_LOAD', name: 'Error', message: 'why', truncated: false },
      truncated: false,
    });
    expect([error, error.fields, error.fields?.['page'], error.cause].every(Object.isFrozen)).toBe(true);
  });

  it('bounds every text, and says that it did', () => {
    const long = 'x'.repeat(100_000);
    const error = runErrorFrom(
      failure({ name: long, message: long, stack: long, fields: { long } }),
      'TOOL_ERROR',
      none,
    );
    expect([error.name, error.message, error.stack ?? ''].map(size)).toEqual([
      TEXT_LIMITS.nameBytes,
      TEXT_LIMITS.messageBytes,
      TEXT_LIMITS.stackBytes,
    ]);
    expect(error.fields).toBeUndefined();
    expect(error.truncated).toBe(true);
  });

  it('ends a chain of causes that is too long', () => {
    let chain = failure();
    for (let i = 0; i < 50; i += 1) chain = failure({ cause: chain });
    const causes: unknown[] = [];
    for (let at = runErrorFrom(chain, 'TOOL_ERROR', none).cause; at !== undefined; at = at.cause)
      causes.push(at.truncated);
    expect(causes).toHaveLength(TEXT_LIMITS.causes);
    expect(causes.at(-1)).toBe(true);
  });

  it('redacts before it cuts, also what was cut before it came', () => {
    const value = 'HUNTER2222';
    const redactor = createRedactor({ values: [value] });
    const border = 'x'.repeat(TEXT_LIMITS.messageBytes - 8) + value;
    expect(runErrorFrom(failure({ message: border }), 'TOOL_ERROR', redactor).message).not.toContain('HUN');
    const torn = runErrorFrom(failure({ message: 'key HUNTER2', truncated: true }), 'TOOL_ERROR', redactor);
    expect(torn).toMatchObject({ message: 'key [redacted]', truncated: true });
    const field = { note: `${'x'.repeat(1_012)}HUNTER` };
    expect(runErrorFrom(failure({ fields: field, truncated: true }), 'TOOL_ERROR', redactor).fields).toEqual({
      note: `${'x'.repeat(1_012)}[redacted]`,
    });
    const fields = { token: 'x', note: value };
    expect(runErrorFrom(failure({ fields }), 'TOOL_ERROR', redactor).fields).toEqual({
      token: '[redacted]',
      note: '[redacted]',
    });
  });
});
