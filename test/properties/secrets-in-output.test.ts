/**
 * A secret in output is seen nowhere: not in the windows of a result, not in their bytes, not in the pieces.
 *
 * Invariant: the secrets are made of characters that nothing around them has, so that even a part of one shows. The encoders are
 * the platform's, not the library's. Deliberately absent: real isolates.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Stream } from '../../src/model/result.ts';
import { OutputRecord } from '../../src/output/capture-limits.ts';
import { Pieces } from '../../src/output/pieces.ts';
import { createRedactor, PLACEHOLDER } from '../../src/output/redaction.ts';

/** What an encoder makes of a secret, between bytes that base64 mixes into it. */
type Encode = (secret: string, before: Uint8Array, after: Uint8Array) => string;
const percent = (secret: string): string => encodeURIComponent(secret);
const form = (secret: string): string => new URLSearchParams({ q: secret }).toString().slice(2);
const lowerHex = (text: string): string => text.replace(/%../g, (hex) => hex.toLowerCase());
const ENCODERS: Readonly<Record<string, Encode>> = {
  raw: (secret) => secret,
  json: (secret) => JSON.stringify(secret).slice(1, -1),
  ascii: (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('\u0416', '\\u0416'),
  percent,
  lowerPercent: (secret) => lowerHex(percent(secret)),
  form,
  lowerForm: (secret) => lowerHex(form(secret)),
  xml: (secret) => secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  base64: (secret, before, after) => Buffer.concat([before, Buffer.from(secret), after]).toString('base64'),
  base64url: (secret, before, after) => Buffer.concat([before, Buffer.from(secret), after]).toString('base64url'),
};

/** Capitals and signs only: no gap line, no placeholder and no filler has them. */
const secret = fc.string({
  unit: fc.constantFrom('A', 'B', 'Q', 'Z', '"', '\\', '/', '+', '?', '&', '<', '\u0416'),
  minLength: 6,
  maxLength: 14,
});
const filler = fc
  .array(fc.constantFrom('.', '~', '\n', 'é', '€', '\u{1f600}', '\xff', '\xc3', '\x80', '\xf0\x9f'), {
    minLength: 1,
    maxLength: 14,
  })
  .map((parts) =>
    Buffer.concat(
      parts.map((part) => Buffer.from(part, /^[\x80-\xff]+$/.test(part) && part !== 'é' ? 'latin1' : 'utf8')),
    ),
  );
const few = fc.uint8Array({ maxLength: 2 });
const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 });
const limit = fc.nat(70);

/** What was shown, without the words that the library itself puts in. */
function bare(text: string): string {
  return text.replaceAll(PLACEHOLDER, '\0').replace(/… \d+ bytes omitted …/g, '\0');
}
/** The longest row of characters that only encoded secrets have. */
function longestRest(text: string): number {
  return Math.max(0, ...(bare(text).match(/[A-Za-z0-9+/_="\\%?&<;\u0416-]+/g) ?? []).map(({ length }) => length));
}
function chunksOf(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const length = lengths[i % lengths.length] ?? 1;
    chunks.push(bytes.slice(at, at + length));
    at += length;
  }
  return chunks;
}
function shownBy({ text, bytes = new Uint8Array(0) }: Stream): string[] {
  return [text, Buffer.from(bytes).toString('latin1')];
}

/** Found: base64 on both sides of the gap. */
const JOINED: [
  string,
  Buffer<ArrayBuffer>[],
  Uint8Array<ArrayBuffer>,
  Uint8Array<ArrayBuffer>,
  number[],
  number,
  number,
] = [
  'A'.repeat(10),
  [
    Buffer.from([46, 46, 226, 130, 172, 46, 46, 46]),
    Buffer.from([46, 240, 159, 152, 128, 46, 240, 159, 46, 240, 159, 152, 128, 46]),
    Buffer.from('.'),
  ],
  Uint8Array.from([0, 0]),
  Uint8Array.from([0]),
  [1],
  51,
  50,
];

describe.each(Object.keys(ENCODERS))('a secret as %s', (name) => {
  const encode = ENCODERS[name] ?? percent;
  /** Base64 shows what its neighbours have a part in: up to six characters on a side here. */
  const most = name.startsWith('base64') ? 6 : 0;

  it('for any output, chunks and windows is seen nowhere', () => {
    const parts = fc.array(filler, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(
        secret,
        parts,
        few,
        few,
        sizes,
        limit,
        limit,
        (value, fillers, before, after, lengths, most1, all) => {
          const hidden = Buffer.from(encode(value, before, after));
          const bytes = Buffer.concat(fillers.flatMap((part, i) => (i === 0 ? [part] : [hidden, part])));
          const redactor = createRedactor({ values: [value] });
          const limits = { stdoutBytes: most1, stderrBytes: 9, combinedBytes: all, postKillBytes: 9 };
          const record = new OutputRecord(limits, redactor, { encoding: 'bytes', readStderr: null });
          let live = '';
          const pieces = new Pieces('stdout', redactor, ({ text }) => {
            live += text;
          });
          for (const chunk of chunksOf(bytes, lengths)) {
            record.write('stdout', chunk);
            pieces.write(chunk, 0);
          }
          pieces.end(false);
          const { stdout } = record.finish();
          const [text = '', kept = ''] = shownBy(stdout);
          for (const shown of [text, live]) expect(longestRest(shown)).toBeLessThanOrEqual(most);
          // Head and tail are joined there: what is left of one secret may stand beside what is left of another.
          expect(longestRest(kept)).toBeLessThanOrEqual(stdout.truncated ? 2 * most : most);
          expect(stdout.bytesRead).toBe(bytes.length);
          expect(stdout.bytesKept + stdout.bytesOmitted).toBe(bytes.length);
          expect(stdout.bytesKept).toBeLessThanOrEqual(Math.min(most1, all));
        },
      ),
      { numRuns: 300, examples: [JOINED] },
    );
  });

  it('for any gap and kill shows less than four bytes of a torn one', () => {
    fc.assert(
      fc.property(secret, filler, filler, few, sizes, limit, fc.nat(30), fc.nat(30), fc.nat(2), (...given) => {
        const [value, first, last, around, lengths, most1, gapAt, killAt, gaps] = given;
        const bytes = Buffer.concat([first, Buffer.from(encode(value, around, around)), last]);
        const redactor = createRedactor({ values: [value] });
        const limits = { stdoutBytes: most1, stderrBytes: 9, combinedBytes: most1, postKillBytes: 40 };
        const record = new OutputRecord(limits, redactor, { encoding: 'bytes', readStderr: null });
        const live: string[] = [];
        const pieces = new Pieces('stdout', redactor, ({ text }) => live.push(text));
        let omitted = 0;
        for (const [i, chunk] of chunksOf(bytes, lengths).entries()) {
          if (i >= gapAt && i < gapAt + gaps) {
            omitted += chunk.length;
            continue;
          }
          if (i >= killAt) record.killed();
          record.write('stdout', chunk, omitted);
          record.write('stderr', Buffer.from('.'));
          pieces.write(chunk, omitted);
          omitted = 0;
        }
        pieces.end(true);
        const { stdout, postKill } = record.finish(undefined, { stdout: false, stderr: true });
        // A gap within a secret leaves two rests, which the joined bytes show side by side.
        const rests = [stdout.text, postKill.text, ...live].map(longestRest);
        for (const rest of rests) expect(rest).toBeLessThanOrEqual(3 + most);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a secret of many lines', () => {
  it('for any chunks and windows no longer line of it is seen', () => {
    const line = fc.string({ unit: fc.constantFrom('A', 'B', 'Z', '+', '/', '='), minLength: 6, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(line, { minLength: 2, maxLength: 4 }), sizes, limit, (lines, lengths, most) => {
        const redactor = createRedactor({ values: [lines.join('\n')] });
        const limits = { stdoutBytes: most, stderrBytes: 9, combinedBytes: 90, postKillBytes: 9 };
        const record = new OutputRecord(limits, redactor, { encoding: 'bytes', readStderr: null });
        for (const chunk of chunksOf(Buffer.from(lines.map((text) => `. ${text}\r\n`).join('')), lengths))
          record.write('stdout', chunk);
        for (const text of shownBy(record.finish().stdout)) expect(longestRest(text)).toBe(0);
      }),
    );
  });
});

describe('output without a secret', () => {
  it('for any text and windows large enough is unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), secret, sizes, (text, value, lengths) => {
        fc.pre(!text.includes(value));
        const limits = { stdoutBytes: 900, stderrBytes: 9, combinedBytes: 900, postKillBytes: 9 };
        const record = new OutputRecord(limits, createRedactor({ values: [value] }), {
          encoding: 'bytes',
          readStderr: null,
        });
        for (const chunk of chunksOf(Buffer.from(text), lengths)) record.write('stdout', chunk);
        const { stdout } = record.finish();
        expect([stdout.text, Buffer.from(stdout.bytes ?? []).toString(), stdout.redactions]).toEqual([text, text, 0]);
      }),
    );
  });
});
