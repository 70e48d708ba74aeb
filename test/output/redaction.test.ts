/** What must not be seen, in any text, at any depth, at any cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadTailKeeper } from '../../src/output/keeper.ts';
import { createRedactor, FORMS_BYTES, PLACEHOLDER } from '../../src/output/redaction.ts';

/** Values that share no character with the placeholder or the text around. */
const secret = fc.string({
  unit: fc.constantFrom('A', 'B', '7', '.', '*', '$', '\\', '('),
  minLength: 4,
  maxLength: 12,
});
const secrets = fc.array(secret, { minLength: 1, maxLength: 3 });
/** So much of one text that two of them are too much. */
const large = (part: string): string => part.repeat(70_000 / part.length);
const filler = fc.string({ unit: fc.constantFrom('x', 'y', ' ', '\n'), maxLength: 8 });

describe('text', () => {
  it('hides each occurrence', () => {
    const redactor = createRedactor({ values: ['hunter2'] });
    expect(redactor.text('hunter2, hunter2 and hunter')).toBe('[redacted], [redacted] and hunter');
  });

  it('hides two values that overlap as one', () => {
    expect(createRedactor({ values: ['ab', 'bSECRET'] }).text('abSECRET')).toBe(PLACEHOLDER);
    expect(createRedactor({ values: ['aaaa'] }).text('aaaaaaa')).toBe(PLACEHOLDER);
  });

  it('hides a value whose surrogates are torn, as output would show it', () => {
    const redactor = createRedactor({ values: ['key\ud83d777'] });
    expect(redactor.text('a key\ud83d777')).toBe('a [redacted]');
    expect(redactor.text('a key\ufffd777')).toBe('a [redacted]');
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
          const keeper = new HeadTailKeeper(limit, createRedactor({ values: [value] }), limit >> 1);
          const borders = [0, ...at.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          for (const [i, end] of borders.slice(1).entries()) keeper.write(bytes.slice(borders[i], end));
          const { text } = keeper.finish();
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

  it('hides whole what throws when it is read, and nothing beside it', () => {
    const broken = () => {
      throw new Error('no');
    };
    const hostile = Object.defineProperty({ y: 1 }, 'x', { enumerable: true, get: broken });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const x = { hostile, proxy, told: { toJSON: broken }, list: [proxy, 2] };
    expect(redactor.plain(x)).toEqual({
      hostile: { y: 1, x: PLACEHOLDER },
      proxy: PLACEHOLDER,
      told: PLACEHOLDER,
      list: [PLACEHOLDER, 2],
    });
  });

  it('reads errors before anything they have to say of themselves', () => {
    const error = new AggregateError([new Error('in hunter2')], 'all of hunter2', { cause: { token: 'x' } });
    Object.assign(error, { code: 'E_ALL', Cookie: 'x', toJSON: () => ({ words: 'mine' }) });
    expect(redactor.plain({ error })).toEqual({
      error: {
        name: 'AggregateError',
        message: 'all of [redacted]',
        cause: { token: PLACEHOLDER },
        errors: [{ name: 'Error', message: 'in [redacted]' }],
        code: 'E_ALL',
        Cookie: PLACEHOLDER,
        toJSON: '[function]',
      },
    });
  });

  it('looks into maps, sets and what classes made, and at no bytes', () => {
    class Login {
      readonly user = 'hunter2';
      readonly Authorization = 'x';
      readonly #password = 'x';
      get password(): string {
        return this.#password;
      }
    }
    const map = new Map<unknown, unknown>([
      ['api-key', 'x'],
      [new Map([['hunter2', 1]]), 'by hunter2'],
    ]);
    const bytes = [new DataView(new ArrayBuffer(1)), new ArrayBuffer(1), Buffer.from('hunter2'), new Float32Array(1)];
    expect(redactor.plain({ login: new Login(), map, set: new Set(['hunter2', { pin: 1 }]), bytes })).toEqual({
      login: { user: PLACEHOLDER, Authorization: PLACEHOLDER },
      map: [
        ['api-key', PLACEHOLDER],
        [[[PLACEHOLDER, 1]], 'by [redacted]'],
      ],
      set: [PLACEHOLDER, { pin: PLACEHOLDER }],
      bytes: ['[bytes]', '[bytes]', '[bytes]', '[bytes]'],
    });
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
  it('knows more, and leaves the first as it was', () => {
    const first = createRedactor({ values: ['hunter2'], keys: ['pin'] });
    const second = first.with(['s3same']);
    expect(second?.text('hunter2 s3same')).toBe('[redacted] [redacted]');
    expect(second?.plain({ pin: 1 })).toEqual({ pin: PLACEHOLDER });
    expect(first.text('s3same')).toBe('s3same');
  });

  it('hides as one what values of both overlap in', () => {
    expect(
      createRedactor({ values: ['hunter2'] })
        .with(['er2222'])
        ?.text('a hunter2222 b'),
    ).toBe('a [redacted] b');
  });

  it('is the first where nothing is to be known', () => {
    const first = createRedactor();
    expect([first.with([]), first.with([''])]).toEqual([first, first]);
  });

  it('refuses what is too much together', () => {
    const first = createRedactor({ values: [large('a')] });
    expect(first.with([large('b')])).toBeNull();
    expect(first.with([large('a').slice(0, 100)])).not.toBeNull();
    expect(createRedactor().with(['x'.repeat(FORMS_BYTES + 1)])).toBeNull();
  });
});

describe('createRedactor', () => {
  it('refuses values that are too much, and shows none of them', () => {
    expect(() => createRedactor({ values: [large('hunter2'), large('b')] })).toThrow(
      /^Option "redact.values" must be values whose encoded forms have at most 524288 bytes together, about 40 KiB of values; got an array.$/,
    );
  });
});
