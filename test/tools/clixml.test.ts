/**
 * CLIXML as text: golden files of what PowerShell writes, and everything that is left as it came.
 *
 * The files in `fixtures/powershell` are written by hand after the format: marker, document, its escapes, its records.
 * Deliberately absent: text recorded from a real PowerShell, which `powershell.test.ts` asks where there is one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readClixml } from '../../src/tools/clixml.ts';

const folder = new URL('../fixtures/powershell/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const goldens = readdirSync(folder)
  .filter((name) => name.endsWith('.clixml'))
  .map((name) => name.replace('.clixml', ''));

const OPEN = '#< CLIXML\r\n<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">';
const document = (content: string): string => `${OPEN}${content}</Objs>`;
const error = (words: string): string => document(`<S S="Error">${words}</S>`);

/** As PowerShell escapes a text: its own escapes for what XML lacks and for what looks like one, then XML's. */
function escaped(text: string): string {
  return text
    .replace(/_(?=x[0-9A-Fa-f]{4}_)/gi, '_x005F_')
    .replace(
      /[^\t -\ud7ff\ue000-\ufffd]/g,
      (unit) => `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

describe('readClixml', () => {
  it.each(goldens)('reads the golden file %s', (name) => {
    expect(readClixml(read(`${name}.clixml`))).toBe(read(`${name}.txt`));
  });

  it('has golden files to read', () => {
    expect(goldens.length).toBeGreaterThanOrEqual(5);
  });

  it('gives nothing for a document in which nothing is shown', () => {
    expect(readClixml(document(''))).toBe('');
  });

  it('puts back units beyond the first plane, and marks half a pair', () => {
    expect(readClixml(error('_xD83D__xDE00_ _xD83D_'))).toBe('\u{1f600} \ufffd');
  });

  it('unescapes once: what reads like an escape afterwards is text', () => {
    expect(readClixml(error('_x005F_x000A_ &amp;lt;'))).toBe('_x000A_ &lt;');
  });

  it.each([
    ['a text without the marker', 'plain words\n'],
    ['a marker that is not at the beginning', `note\n${error('x')}`],
    ['plain words after the document', `${error('x')}\nsegmentation fault\n`],
    ['plain words within the document', document('words')],
    ['a document that is cut', error('x').slice(0, -3)],
    ['an end without a beginning', `${OPEN}</S></Objs>`],
    ['elements that overlap', document('<Obj S="progress"><A><B></A></B></Obj>')],
    ['a stream nobody knows', document('<S S="Output">x</S>')],
    ['an object that would be shown', document('<Obj S="Error"><S>x</S></Obj>')],
    ['an element within a string', error('<B>x</B>')],
    ['a reference nobody knows', error('&nbsp;')],
    ['a bare ampersand', error('a & b')],
    ['a character beyond the last', error('&#x110000;')],
    ['a comment', document('<!-- x -->')],
    ['a document type', `#< CLIXML\n<!DOCTYPE Objs [<!ENTITY a "b">]>${document('')}`],
    ['an attribute without quotes', document('<S S=Error>x</S>')],
    ['a nest that is too deep', document(`<Obj S="progress">${'<A>'.repeat(70)}${'</A>'.repeat(70)}</Obj>`)],
    ['a text that is too long', error('x'.repeat(4 * 1024 * 1024))],
  ])('leaves %s as it came', (_, text) => {
    expect(readClixml(text)).toBe(text);
  });

  it('for any text gives back what PowerShell escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(readClixml(error(escaped(text)))).toBe(text);
      }),
    );
  });

  it('for any cut of a document leaves the rest as it came', () => {
    const whole = read('streams.clixml').trimEnd();
    fc.assert(
      fc.property(fc.integer({ min: '#< CLIXML'.length + 2, max: whole.length - 1 }), (length) => {
        const cut = whole.slice(0, length);
        expect([cut, '']).toContain(readClixml(cut));
      }),
    );
  });

  it('for any pieces of markup ends with a text', () => {
    const piece = fc.constantFrom(
      OPEN,
      '</Objs>',
      '<S S="Error">',
      '</S>',
      '<',
      '>',
      '&lt;',
      '&',
      '_x000A_',
      ' ',
      'x',
      '#< CLIXML',
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = `#< CLIXML${pieces.join('')}`;
        expect(readClixml(text).length).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});
