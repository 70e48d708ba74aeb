/** The forms of a value: what common encoders make of it, whatever stands around it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formsOf } from '../../src/output/known-forms.ts';

const value = fc.string({
  unit: fc.constantFrom('A', 'z', '7', ' ', '"', '\\', '/', '+', '?', 'é', '€', '\u{1f600}'),
  minLength: 6,
  maxLength: 20,
});
const around = fc.uint8Array({ maxLength: 5 });

/** Some form of the value stands in the text. */
function isKnownIn(text: string, of: string): boolean {
  return [...formsOf(of)].some((form) => form !== '' && text.includes(form));
}

describe('formsOf', () => {
  it('is a short value alone', () => {
    expect([...formsOf('a"b c')]).toEqual(['a"b c']);
  });

  it('is what JSON, addresses, forms and base64 make of a longer one', () => {
    const forms = formsOf('pé"ss 1/');
    const made = ['pé"ss 1/', 'pé\\"ss 1/', 'p\\u00e9\\"ss 1/', 'p\\u00E9\\"ss 1/'];
    const encoded = ['p%C3%A9%22ss%201%2F', 'p%c3%a9%22ss%201%2f', 'p%C3%A9%22ss+1%2F', 'p%c3%a9%22ss+1%2f'];
    for (const form of [...made, ...encoded, 'cMOpInNzIDEv']) expect(forms).toContain(form);
  });

  it('knows each longer line of several, without the space around it', () => {
    const forms = formsOf('-----BEGIN\r\n  abcdef \nshort\n');
    for (const form of ['-----BEGIN', 'abcdef', 'YWJjZGVm']) expect(forms).toContain(form);
    expect(forms).not.toContain('short');
  });

  it('is what XML and the CLIXML of PowerShell make of a longer one', () => {
    const forms = formsOf('p&ss<word>"\n4\u{1f600}\'_x2_');
    const text = 'p&amp;ss&lt;word&gt;';
    for (const form of [
      `${text}"\n4\u{1f600}'_x2_`,
      `${text}&quot;\n4\u{1f600}&apos;_x2_`,
      `${text}&quot;\n4\u{1f600}&#39;_x2_`,
      `${text}"_x000A_4_xD83D__xDE00_'_x005F_x2_`,
    ])
      expect(forms).toContain(form);
  });

  it('adds nothing for XML where XML changes nothing', () => {
    expect([...formsOf('hunter22')].filter((form) => form.startsWith('hunter'))).toEqual(['hunter22']);
  });

  it('takes a lone surrogate for what output would show', () => {
    expect(formsOf('key\ud83d777')).toContain('key%EF%BF%BD777');
  });

  it('for any value its encodings are known', () => {
    fc.assert(
      fc.property(value, (of) => {
        const percent = encodeURIComponent(of);
        const form = new URLSearchParams({ q: of }).toString();
        for (const text of [JSON.stringify({ of }), percent, percent.replace(/%../g, (hex) => hex.toLowerCase()), form])
          expect(isKnownIn(text, of)).toBe(true);
      }),
    );
  });

  it('for any bytes around it its base64 is known', () => {
    fc.assert(
      fc.property(value, around, around, (of, before, after) => {
        const all = Buffer.concat([before, Buffer.from(of), after]);
        expect(isKnownIn(all.toString('base64'), of)).toBe(true);
        expect(isKnownIn(all.toString('base64url'), of)).toBe(true);
      }),
    );
  });
});
