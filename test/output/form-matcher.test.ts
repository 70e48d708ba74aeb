/** FormMatcher against a search that looks at every place for every form. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cut, FormMatcher, type Span, united } from '../../src/output/form-matcher.ts';
import { formsOf } from '../../src/output/known-forms.ts';

/** Few letters, so that values overlap themselves and one another. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 9 });
const values = fc.array(word, { minLength: 1, maxLength: 5 });
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', 'c'), maxLength: 60 });
const bytesOf = (s: string): Uint8Array => new TextEncoder().encode(s);

function matcherOf(known: readonly string[]): FormMatcher {
  const matcher = FormMatcher.of(known, 1_000_000);
  if (matcher === null) throw new Error('too much');
  return matcher;
}
function formsOfAll(known: readonly string[]): Buffer[] {
  return known.flatMap((value) => [...formsOf(value)].map((form) => Buffer.from(form)));
}
function everywhere(bytes: Uint8Array, known: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  for (const form of formsOfAll(known)) {
    const all = Buffer.from(bytes);
    for (let at = all.indexOf(form); at >= 0; at = all.indexOf(form, at + 1))
      spans.push({ start: at, end: at + form.length });
  }
  return united(spans);
}

describe('FormMatcher', () => {
  it('for any values finds what a search at every place finds', () => {
    fc.assert(
      fc.property(values, text, (known, s) => {
        const spans: Span[] = [];
        matcherOf(known).scan(bytesOf(s), 0, 0, spans);
        expect(united(spans)).toEqual(everywhere(bytesOf(s), known));
      }),
    );
  });

  it('for any border of two pieces finds the same', () => {
    fc.assert(
      fc.property(values, text, fc.nat(60), (known, s, cut) => {
        const bytes = bytesOf(s);
        const matcher = matcherOf(known);
        const spans: Span[] = [];
        const state = matcher.scan(bytes.subarray(0, cut), 0, 0, spans);
        matcher.scan(bytes.subarray(cut), state, Math.min(cut, bytes.length), spans);
        expect(united(spans)).toEqual(everywhere(bytes, known));
      }),
    );
  });

  it('for any text knows how much of its ends is a part of a form', () => {
    fc.assert(
      fc.property(values, text, (known, s) => {
        const bytes = Buffer.from(s);
        const matcher = matcherOf(known);
        const forms = formsOfAll(known);
        let [open, ending] = [0, 0];
        for (const form of forms) {
          for (let length = 1; length < form.length && length <= bytes.length; length += 1) {
            if (bytes.subarray(-length).equals(form.subarray(0, length))) open = Math.max(open, length);
            if (bytes.subarray(0, length).equals(form.subarray(-length))) ending = Math.max(ending, length);
          }
        }
        expect(matcher.openIn(matcher.scan(bytes, 0, 0, []))).toBe(open);
        expect(matcher.endsWithin(bytes)).toBe(ending);
        expect(matcher.longest).toBe(Math.max(...forms.map(({ length }) => length)));
      }),
    );
  });

  it('knows the encodings of a value that is an encoding of another', () => {
    const [value, encoded] = ['hunter222', Buffer.from('hunter222').toString('base64')];
    const spans: Span[] = [];
    matcherOf([value, encoded]).scan(Buffer.from(Buffer.from(encoded).toString('base64')), 0, 0, spans);
    expect(united(spans)).toEqual([{ start: 0, end: 16 }]);
  });

  it('is none where the forms are too much together', () => {
    expect(FormMatcher.of(['abc', 'abd'], 6)?.size).toBe(6);
    expect(FormMatcher.of(['abc', 'abd'], 5)).toBeNull();
    expect(FormMatcher.of(['€'], 2)).toBeNull();
  });

  it('finds one span in a value that overlaps itself at each byte', () => {
    const spans: Span[] = [];
    matcherOf(['aa']).scan(bytesOf('a'.repeat(1_000)), 0, 0, spans);
    expect(spans).toEqual([{ start: 0, end: 1_000 }]);
  });
});

describe('addTorn', () => {
  it.each<[string, Cut, [number, number][]]>([
    ['345678 x', { start: true }, [[0, 6]]],
    ['678 x', { start: true }, []],
    ['x 123456', { end: true }, [[2, 8]]],
    ['x 123', { end: true }, []],
    [
      '5678 1234',
      { start: true, end: true },
      [
        [0, 4],
        [5, 9],
      ],
    ],
    ['3456', { start: true, end: true }, [[0, 4]]],
    ['3456', { start: true }, []],
    ['3456', { end: true }, []],
    ['345', { start: true, end: true }, []],
  ])('of what is left in "%s", cut at %j, hides %j', (text, cut, hidden) => {
    const matcher = matcherOf(['12345678']);
    const spans: Span[] = [];
    const state = matcher.scan(bytesOf(text), 0, 0, []);
    matcher.addTorn(bytesOf(text), state, cut, spans);
    expect(spans.map(({ start, end }) => [start, end])).toEqual(hidden);
  });
});

describe('united', () => {
  it('joins what overlaps, not what only touches', () => {
    const spans = [
      { start: 6, end: 9 },
      { start: 0, end: 3 },
      { start: 2, end: 5 },
      { start: 5, end: 6 },
      { start: 7, end: 8 },
    ];
    expect(united(spans)).toEqual([
      { start: 0, end: 5 },
      { start: 5, end: 6 },
      { start: 6, end: 9 },
    ]);
  });
});
