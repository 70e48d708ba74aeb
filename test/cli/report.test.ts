/**
 * What a person sees: the progress line with and without a terminal, and values as text.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Report } from '../../src/cli/report.ts';
import { resultText, valueText } from '../../src/cli/value-text.ts';

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 40, written, write: (text: string) => written.push(text) };
}

describe('Report without a terminal', () => {
  it('writes a line for each tenth and keeps quiet in between', () => {
    const paper = screen(false);
    const report = new Report(paper);
    for (const value of [0, 0.01, 0.09, 0.1, 0.15, 1]) report.progress(value, '');
    expect(paper.written).toEqual(['0 %\n', '10 %\n', '100 %\n']);
  });

  it('writes a line for each new note', () => {
    const paper = screen(false);
    const report = new Report(paper);
    for (const note of ['reading', 'reading', 'hashing']) report.progress(null, note);
    expect(paper.written).toEqual(['reading\n', 'hashing\n']);
  });

  it('for any note and value emits whole lines without control characters', () => {
    fc.assert(
      fc.property(fc.option(fc.double(), { nil: null }), fc.string({ unit: 'binary' }), (value, note) => {
        const paper = screen(false);
        new Report(paper).progress(value, note);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the claim
        for (const line of paper.written) expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f]*\n$/u);
      }),
    );
  });
});

describe('Report on a terminal', () => {
  it('erases a standing progress line before other text', () => {
    const paper = screen(true);
    const report = new Report(paper);
    report.progress(0.5, 'half way');
    report.line('done');
    expect(paper.written).toEqual(['\r\u001b[2K[############............]  50 % half w', '\r\u001b[2K', 'done\n']);
  });

  it('never fills the last column, where a terminal would wrap', () => {
    const paper = screen(true);
    new Report(paper).progress(null, 'x'.repeat(200));
    expect(paper.written).toEqual([`\r\u001b[2K${'x'.repeat(39)}`]);
  });
});

describe('Report that hides', () => {
  it('hides in notes, lines and output, and before it cuts a line', () => {
    const paper = screen(true);
    const report = new Report(paper, (text) => text.replaceAll('hush', '***'));
    report.progress(null, `${'x'.repeat(36)}hush`);
    report.line('a hush');
    report.output('b hush');
    expect(paper.written.join('')).toBe(`\r\u001b[2K${'x'.repeat(36)}***\r\u001b[2Ka ***\nb ***`);
  });
});

describe('valueText', () => {
  it('hides in texts, keys, numbers and what has no JSON, and stays JSON', () => {
    const hide = (text: string) => text.replaceAll('4711', '***');
    expect(JSON.parse(valueText({ a: 'x4711', k4711: 47110, big: 4711n, fine: 7 }, hide))).toEqual({
      a: 'x***',
      'k***': '***0',
      big: '***',
      fine: 7,
    });
    expect(valueText(Symbol('4711'), hide)).toBe('Symbol(***)');
    expect(JSON.parse(resultText({ value: '4711' }, hide))).toEqual({ value: '***' });
  });

  it('is nothing for undefined', () => {
    expect(valueText(undefined)).toBe('');
  });

  it('for any JSON value is its JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(valueText(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('for any value at all is a text', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
        expect(typeof valueText(value)).toBe('string');
      }),
    );
  });
});

describe('resultText', () => {
  it('is JSON even when the value is a ring', () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    expect(JSON.parse(resultText({ value: ring }))).toEqual({ value: expect.stringContaining('[Circular') });
  });
});
