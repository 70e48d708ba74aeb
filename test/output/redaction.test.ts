/** What must not be seen, in any text, at any depth, at any cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadTailKeeper } from '../../src/output/keeper.ts';
import { createRedactor, PLACEHOLDER } from '../../src/output/redaction.ts';

/** Values that share no character with the placeholder or the text around. */
const secret = fc.string({
  unit: fc.constantFrom('A', 'B', '7', '.', '*', '$', '\\', '('),
  minLength: 4,
  maxLength: 12,
});
const secrets = fc.array(secret, { minLength: 1, maxLength: 3 });
const filler = fc.string({ unit: fc.constantFrom('x', 'y', ' ', '\n'), maxLength: 8 });

describe('text', () => {
  it('hides each occurrence and counts it', () => {
    const redactor = createRedactor({ values: ['hunter2'] });
    expect(redactor.text('hunter2, hunter2 and hunter')).toBe('[redacted], [redacted] and hunter');
    expect(redactor.count).toBe(2);
  });

  it('returns the very text when nothing is known', () => {
    expect(createRedactor().text('anything')).toBe('anything');
    expect(createRedactor({ values: [''] }).text('anything')).toBe('anything');
  });

  it('prefers the longer of two values that begin alike', () => {
    expect(createRedactor({ values: ['abcd', 'abcdef'] }).text('abcdef')).toBe(PLACEHOLDER);
  });

  it('takes values literally', () => {
    expect(createRedactor({ values: ['a.c', '$&'] }).text('abc a.c $&')).toBe('abc [redacted] [redacted]');
  });

  it('hides a torn value at a cut only', () => {
    const redactor = createRedactor({ values: ['HUNTER2222'] });
    expect(redactor.text('key HUNTER', { end: true })).toBe('key [redacted]');
    expect(redactor.text('2222 done', { start: true })).toBe('[redacted] done');
    expect(redactor.text('2222 key HUNT', { start: true, end: true })).toBe('[redacted] key [redacted]');
    expect(redactor.text('key HUNTER')).toBe('key HUNTER');
    expect(redactor.text('key HUN', { end: true })).toBe('key HUN');
  });

  it('for any text around them no value remains', () => {
    fc.assert(
      fc.property(secrets, fc.array(filler), fc.nat(), (values, parts, pick) => {
        const whole = parts.map((part, i) => part + (values[(pick + i) % values.length] ?? '')).join('');
        const shown = createRedactor({ values }).text(whole);
        for (const value of values) expect(shown).not.toContain(value);
      }),
    );
  });

  it('for any pieces of a stream and any gap no value remains', () => {
    fc.assert(
      fc.property(
        secret,
        filler,
        filler,
        fc.array(fc.nat(30), { maxLength: 4 }),
        fc.nat(40),
        (value, before, after, at, limit) => {
          const bytes = new TextEncoder().encode(`${before}${value}${after}`);
          const keeper = new HeadTailKeeper(limit, limit >> 1);
          const borders = [0, ...at.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          for (const [i, end] of borders.slice(1).entries()) keeper.write(bytes.slice(borders[i], end));
          const { text } = keeper.finish(createRedactor({ values: [value] }));
          for (let from = 0; from + 4 <= value.length; from += 1) {
            const torn = from === 0 ? value.slice(0, 4) : value.slice(-4);
            expect(text.replaceAll(PLACEHOLDER, '')).not.toContain(torn);
          }
        },
      ),
    );
  });
});

describe('plain', () => {
  const redactor = createRedactor({ values: ['hunter2'], keys: ['pin'] });

  it('hides known keys at any depth, whatever their spelling', () => {
    const input = {
      user: 'ada',
      Password: 'x',
      'X-API-Key': 'x',
      api_key: 1,
      nested: [{ 'Set-Cookie': ['a'], accessToken: { value: 'x' }, note: 'plain' }],
      pin: 1234,
      totalTokens: 12,
    };
    expect(redactor.plain(input)).toEqual({
      user: 'ada',
      Password: PLACEHOLDER,
      'X-API-Key': PLACEHOLDER,
      api_key: PLACEHOLDER,
      nested: [{ 'Set-Cookie': PLACEHOLDER, accessToken: PLACEHOLDER, note: 'plain' }],
      pin: PLACEHOLDER,
      totalTokens: 12,
    });
    expect(input.Password).toBe('x');
  });

  it('hides values in strings, keys and numbers', () => {
    const known = createRedactor({ values: ['hunter2', '4711'] });
    expect(known.plain({ hunter2: 'is hunter2', n: 4711, big: 14711n, left: 4712 })).toEqual({
      [PLACEHOLDER]: 'is [redacted]',
      n: PLACEHOLDER,
      big: PLACEHOLDER,
      left: 4712,
    });
  });

  it('hides a torn value at the end of any text that was cut', () => {
    const torn = { note: 'by hunte', list: ['hunter'], 'of hunt': 1 };
    expect(redactor.plain(torn, { end: true })).toEqual({
      note: 'by [redacted]',
      list: [PLACEHOLDER],
      'of [redacted]': 1,
    });
    expect(redactor.plain(torn)).toEqual(torn);
  });

  it('is total over what JSON cannot say', () => {
    const cycle: Record<string, unknown> = {
      f: () => 1,
      s: Symbol('x'),
      u: undefined,
      bytes: Uint8Array.of(1),
      when: new Date(0),
    };
    cycle['self'] = cycle;
    expect(redactor.plain(cycle)).toEqual({
      f: '[function]',
      s: '[symbol]',
      u: null,
      bytes: '[bytes]',
      when: '1970-01-01T00:00:00.000Z',
      self: '[circular]',
    });
    expect(redactor.plain(new TypeError('no hunter2'))).toMatchObject({ name: 'TypeError', message: 'no [redacted]' });
  });

  it('bounds depth and breadth', () => {
    let deep: unknown = 'end';
    for (let i = 0; i < 50; i += 1) deep = [deep, deep];
    expect(JSON.stringify(redactor.plain(deep)).length).toBeLessThan(1_000_000);
  });

  it('hides whole what throws when it is read', () => {
    const hostile = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    expect(redactor.plain({ hostile })).toBe(PLACEHOLDER);
  });

  it('for any JSON value no known value remains in its text', () => {
    fc.assert(
      fc.property(secret, fc.jsonValue(), fc.array(fc.string(), { maxLength: 3 }), (value, x, path) => {
        const holder = path.reduceRight<unknown>(
          (inner, key) => ({ [key]: inner, [`${key}${value}`]: x }),
          [value, x, `x${value}`],
        );
        const strings: string[] = [];
        JSON.stringify(createRedactor({ values: [value] }).plain(holder), (key, part) => {
          // An object may carry a `toString` of its own.
          strings.push(key, typeof part === 'object' ? '' : String(part));
          return part;
        });
        for (const s of strings) expect(s).not.toContain(value);
      }),
    );
  });
});

describe('with', () => {
  it('knows more, counts for itself, and leaves the first as it was', () => {
    const first = createRedactor({ values: ['hunter2'], keys: ['pin'] });
    const second = first.with(['s3same']);
    expect(second.text('hunter2 s3same')).toBe('[redacted] [redacted]');
    expect(second.plain({ pin: 1 })).toEqual({ pin: PLACEHOLDER });
    expect(first.text('s3same')).toBe('s3same');
    expect([first.count, second.count]).toEqual([0, 3]);
  });
});
