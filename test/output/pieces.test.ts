/** What is heard piece by piece is what the whole would have been. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutputPiece } from '../../src/model/event.ts';
import { PIECE_LENGTH, Pieces } from '../../src/output/pieces.ts';
import { veiled } from '../../src/output/placeholder.ts';
import { createRedactor, type Redactor } from '../../src/output/redaction.ts';

const hunter = createRedactor({ values: ['HUNTER2222'] });
function heard(redactor: Redactor = hunter) {
  const pieces: OutputPiece[] = [];
  const stream = new Pieces('stdout', redactor, (piece) => pieces.push(piece));
  const write = (text: string | Uint8Array, omittedBytes = 0) => stream.write(Buffer.from(text), omittedBytes);
  return { stream, write, pieces, texts: () => pieces.map(({ text }) => text) };
}

describe('Pieces', () => {
  it('tells at once what cannot become a known value', () => {
    const { write, pieces } = heard();
    write('by hunter2');
    expect(pieces).toEqual([{ stream: 'stdout', text: 'by hunter2', omittedBytes: 0 }]);
    expect(Object.isFrozen(pieces[0])).toBe(true);
  });

  it('holds back what may become one, and hides it when it has', () => {
    const { write, stream, texts } = heard();
    for (const text of ['key HUN', 'TER', '2222 and HUNT', 'ING', ' HUNT']) write(text);
    expect(texts()).toEqual(['key ', '[redacted] and ', 'HUNTING', ' ']);
    stream.end(false);
    expect(texts().at(-1)).toBe('HUNT');
  });

  it('hides the beginning of a value that the end tore', () => {
    const { write, stream, texts } = heard();
    write('key HUNT');
    stream.end(true);
    expect(texts()).toEqual(['key ', '[redacted]']);
  });

  it('holds back the beginning of a character', () => {
    const { stream, texts } = heard(createRedactor());
    for (const byte of Buffer.from('a€b')) stream.write(Uint8Array.of(byte), 0);
    expect(texts()).toEqual(['a', '€', 'b']);
  });

  it('hides what a gap left of a value, and tells the gap with what follows it', () => {
    const { write, stream, pieces } = heard();
    write('key HUNTE');
    write('2222 and', 7);
    write(' more', 3);
    write(' HUN', 5);
    stream.end(false);
    expect(pieces.map(({ text, omittedBytes }) => [text, omittedBytes])).toEqual([
      ['key ', 0],
      ['[redacted]', 0],
      ['[redacted] and', 7],
      [' more', 3],
      [' HUN', 5],
    ]);
  });

  it('joins nothing over a gap', () => {
    const { write, stream, texts } = heard();
    write('key HUNTER222');
    write('2 x', 5);
    stream.end(false);
    expect(texts()).toEqual(['key ', '[redacted]', '2 x']);
  });

  it.each(['key HUN', 'HUN'])('holds a copy of what it holds back of "%s"', (text) => {
    const { write, stream, texts } = heard();
    const bytes = Buffer.from(text);
    stream.write(bytes, 0);
    bytes.fill('x');
    write('TER');
    stream.end(false);
    expect(texts().join('')).toBe(`${text}TER`);
  });

  it('tells a gap that nothing follows', () => {
    const { write, stream, pieces } = heard(createRedactor());
    write('', 9);
    expect(pieces).toEqual([]);
    stream.end(false);
    expect(pieces).toEqual([{ stream: 'stdout', text: '', omittedBytes: 9 }]);
  });

  it('splits long text, and no pair of surrogates', () => {
    const { write, stream, texts } = heard(createRedactor());
    const text = `${'x'.repeat(PIECE_LENGTH - 1)}\u{1f600}${'y'.repeat(PIECE_LENGTH)}`;
    write(text);
    stream.end(false);
    expect(texts().map(({ length }) => length)).toEqual([PIECE_LENGTH - 1, PIECE_LENGTH, 2]);
    expect(texts().join('')).toBe(text);
  });

  it('for any values and borders tells what the whole would have been', () => {
    const values = fc.array(fc.string({ unit: fc.constantFrom('A', 'B', 'é'), minLength: 1, maxLength: 9 }), {
      maxLength: 4,
    });
    const part = fc.constantFrom('A', 'B', 'é', 'x', '\u{1f600}', '\xff', '\xc3');
    fc.assert(
      fc.property(
        values,
        values,
        fc.array(part, { maxLength: 60 }),
        fc.array(fc.nat(9)),
        (some, more, parts, sizes) => {
          const bytes = Buffer.concat(
            parts.map((text) => Buffer.from(text, /[\xff\xc3]/.test(text) ? 'latin1' : 'utf8')),
          );
          const redactor = createRedactor({ values: some }).with(more);
          if (redactor === null) throw new Error('too much');
          const { stream, texts } = heard(redactor);
          let at = 0;
          for (const size of sizes) {
            stream.write(bytes.subarray(at, at + size), 0);
            at += size;
          }
          stream.write(bytes.subarray(at), 0);
          stream.end(false);
          expect(texts().join('')).toBe(Buffer.from(veiled(bytes, redactor.spans(bytes)).bytes).toString());
        },
      ),
      { numRuns: 500 },
    );
  });

  it('for any innocent text and borders tells it unchanged', () => {
    const innocent = fc.string({ unit: fc.constantFrom('a', 'é', '\u{1f600}', 'H', 'U'), maxLength: 60 });
    fc.assert(
      fc.property(innocent, fc.array(fc.nat(9)), (text, sizes) => {
        const bytes = Buffer.from(text);
        const { stream, texts } = heard();
        let at = 0;
        for (const size of sizes) {
          stream.write(bytes.subarray(at, at + size), 0);
          at += size;
        }
        stream.write(bytes.subarray(at), 0);
        stream.end(false);
        expect(texts().join('')).toBe(text);
        expect(hunter.text(text)).toBe(text);
      }),
    );
  });
});
