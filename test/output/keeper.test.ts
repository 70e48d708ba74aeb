/** Head and tail to the byte, whatever the pieces a stream comes in. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Blocks } from '../../src/output/blocks.ts';
import { HeadTailKeeper } from '../../src/output/keeper.ts';
import { createRedactor } from '../../src/output/redaction.ts';

const bytesOf = (s: string): Uint8Array => new TextEncoder().encode(s);
function keep(limit: number, head: number, ...pieces: (string | number)[]) {
  const keeper = new HeadTailKeeper(limit, undefined, head);
  for (const piece of pieces) {
    if (typeof piece === 'string') keeper.write(bytesOf(piece));
    else keeper.skip(piece);
  }
  const { parts: _, ...kept } = keeper.finish();
  return kept;
}

/** A stream cut into pieces at any bytes, also within characters. */
const text = fc.string({ unit: fc.constantFrom('a', '\n', 'é', '…', '\u{1f600}'), maxLength: 120 });
const cuts = fc.array(fc.nat(400), { maxLength: 8 });
function piecesOf(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const borders = [0, ...at.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  return borders.slice(1).map((end, i) => bytes.slice(borders[i], end));
}
const MARKER = /… \d+ bytes omitted …\n/;

describe('HeadTailKeeper', () => {
  it('keeps all that fits', () => {
    expect(keep(8, 2, 'abc', 'défg')).toEqual({
      text: 'abcdéfg',
      bytesRead: 8,
      bytesKept: 8,
      bytesOmitted: 0,
      headBytes: 8,
      truncated: false,
      redactions: 0,
    });
  });

  it('keeps beginning and end, and tells what is missing between', () => {
    expect(keep(6, 2, 'abcdefghij')).toEqual({
      text: 'ab\n… 4 bytes omitted …\nghij',
      bytesRead: 10,
      bytesKept: 6,
      bytesOmitted: 4,
      headBytes: 2,
      truncated: true,
      redactions: 0,
    });
  });

  it('gives a quarter to the beginning where nothing else is said', () => {
    const keeper = new HeadTailKeeper(8);
    keeper.write(bytesOf('abcdefghijklmnop'));
    expect(keeper.finish()).toMatchObject({ headBytes: 2, bytesKept: 8 });
  });

  it('cuts no character in two', () => {
    expect(keep(6, 2, 'a€bcdef€x')).toMatchObject({ text: 'a\n… 8 bytes omitted …\n€x', bytesKept: 5 });
  });

  it('bytes that were dropped elsewhere make one gap with its own', () => {
    expect(keep(8, 4, 'ab', 5, 'cd', 3, 'ef')).toMatchObject({
      text: 'ab\n… 10 bytes omitted …\nef',
      bytesRead: 14,
      bytesKept: 4,
      bytesOmitted: 10,
      headBytes: 2,
    });
  });

  it('keeps nothing within a limit of 0, and still counts', () => {
    expect(keep(0, 0, 'abc')).toMatchObject({
      text: '… 3 bytes omitted …\n',
      bytesRead: 3,
      bytesKept: 0,
      bytesOmitted: 3,
    });
  });

  it('shrinks in proportion to a lower limit at the end', () => {
    const keeper = new HeadTailKeeper(8, undefined, 4);
    keeper.write(bytesOf('abcdefgh'));
    expect(keeper.finish(4)).toMatchObject({ text: 'ab\n… 4 bytes omitted …\ngh', bytesKept: 4 });
    expect(keeper.finish(8)).toMatchObject({ text: 'abcdefgh' });
  });

  it('shows bytes that are no text as replacement characters', () => {
    const keeper = new HeadTailKeeper(8, undefined, 2);
    keeper.write(Uint8Array.of(0x61, 0xff, 0xc3));
    expect(keeper.finish()).toMatchObject({ text: 'a\ufffd\ufffd', bytesKept: 3 });
  });

  it('sees a value whole at the edges of its windows, and hides it whole', () => {
    const keeper = new HeadTailKeeper(16, createRedactor({ values: ['HUNTER2222'] }), 8);
    keeper.write(bytesOf('ok. HUNTER2222 and then HUNTER2222!....'));
    const kept = keeper.finish();
    expect(kept.text).toBe('ok. [redacted]\n… 23 bytes omitted …\n[redacted]!....');
    expect(kept).toMatchObject({ redactions: 2, bytesKept: 16, headBytes: 8 });
    expect(Buffer.concat(kept.parts).toString()).toBe('ok. [redacted][redacted]!....');
  });

  it('sees the longest value of all that only begins, or only ends, in a window', () => {
    const keeper = new HeadTailKeeper(4, createRedactor({ values: ['ABCDE'] }), 2);
    keeper.write(bytesOf('xABCDE and then ABCDEx'));
    expect(keeper.finish().text).toBe('x[redacted]\n… 18 bytes omitted …\n[redacted]x');
  });

  it('hides what a gap that was made elsewhere left of a known value', () => {
    const keeper = new HeadTailKeeper(64, createRedactor({ values: ['HUNTER2222'] }), 32);
    keeper.write(bytesOf('ok HUNTE'));
    keeper.skip(20);
    keeper.write(bytesOf('2222 end HUN'));
    expect(keeper.finish()).toMatchObject({
      text: 'ok [redacted]\n… 20 bytes omitted …\n[redacted] end HUN',
      redactions: 2,
    });
  });

  it('leaves an innocent beginning at a cut of its own', () => {
    const keeper = new HeadTailKeeper(16, createRedactor({ values: ['HUNTER2222'] }), 8);
    keeper.write(bytesOf(`ok: HUNTING ${'.'.repeat(60)} 2222 end`));
    expect(keeper.finish().text).toBe('ok: HUNT\n… 65 bytes omitted …\n2222 end');
  });

  it('hides a value that came in two pieces', () => {
    const keeper = new HeadTailKeeper(64, createRedactor({ values: ['HUNTER2222'] }), 4);
    for (const piece of ['ok HUN', 'TER2222', '!']) keeper.write(bytesOf(piece));
    expect(keeper.finish()).toMatchObject({ text: 'ok [redacted]!', redactions: 1 });
  });

  it('holds no large piece for the sake of a small window', () => {
    const large = Buffer.alloc(1_000_000, 'x');
    const keeper = new HeadTailKeeper(2_000, undefined, 0);
    keeper.write(large);
    large.fill('y');
    expect(keeper.finish().text).toMatch(/\nx{2000}$/);
  });

  it('holds little of a gibibyte, and of it the right bytes', () => {
    const [size, count] = [64 * 1024, 16 * 1024];
    const keeper = new HeadTailKeeper(1024 * 1024, createRedactor({ values: ['HUNTER2222'] }));
    // Without it, what is measured is how much garbage the collector leaves for later.
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    collect();
    const before = process.memoryUsage().rss;
    let most = before;
    for (let i = 0; i < count; i += 1) {
      const chunk = Buffer.alloc(size, 'x');
      chunk.writeUInt32BE(i);
      chunk.writeUInt32BE(i, size - 4);
      keeper.write(chunk);
      if (i % 512 === 511) {
        collect();
        most = Math.max(most, process.memoryUsage().rss);
      }
    }
    const { parts, ...kept } = keeper.finish();
    const [head = Buffer.alloc(0), tail = Buffer.alloc(0)] = parts.map((part) => Buffer.from(part));
    expect(kept).toMatchObject({ bytesRead: size * count, headBytes: 4 * size, bytesKept: 16 * size });
    expect([head.readUInt32BE(0), head.readUInt32BE(4 * size - 4)]).toEqual([0, 3]);
    expect([tail.readUInt32BE(0), tail.readUInt32BE(12 * size - 4)]).toEqual([count - 12, count - 1]);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('for any pieces keeps head and tail to the byte, and whole characters', () => {
    fc.assert(
      fc.property(text, cuts, fc.nat(60), fc.nat(60), (whole, at, limit, head) => {
        const bytes = bytesOf(whole);
        const keeper = new HeadTailKeeper(limit, undefined, head);
        for (const piece of piecesOf(bytes, at)) keeper.write(piece);
        const kept = keeper.finish();
        expect(kept.bytesRead).toBe(bytes.length);
        expect(kept.bytesKept + kept.bytesOmitted).toBe(bytes.length);
        expect(kept.bytesKept).toBeLessThanOrEqual(limit);
        expect(kept.text).not.toContain('\ufffd');
        expect(kept.truncated).toBe(bytes.length > limit);
        if (!kept.truncated) {
          expect(kept.text).toBe(whole);
          return;
        }
        const [before = '', tailText = ''] = kept.text.split(MARKER);
        // The marker has a line of its own: a line break is added where the head does not end with one.
        const headText = bytesOf(before).length > kept.headBytes ? before.slice(0, -1) : before;
        expect(whole.startsWith(headText)).toBe(true);
        expect(whole.endsWith(tailText)).toBe(true);
        expect(bytesOf(headText).length).toBe(kept.headBytes);
        expect(bytesOf(headText).length + bytesOf(tailText).length).toBe(kept.bytesKept);
        // At most three bytes are lost to a character at each side of the gap.
        expect(kept.bytesKept).toBeGreaterThan(limit - 7);
      }),
    );
  });

  it('for any pieces and skips counts every byte once', () => {
    const step = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.nat(30));
    const value = fc.string({ minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.nat(50), value, fc.nat(50), (steps, limit, known, lower) => {
        const keeper = new HeadTailKeeper(limit, createRedactor({ values: [known] }));
        let total = 0;
        for (const part of steps) {
          total += typeof part === 'number' ? part : part.length;
          if (typeof part === 'number') keeper.skip(part);
          else keeper.write(part);
        }
        const kept = keeper.finish(lower);
        expect(kept.bytesKept).toBeLessThanOrEqual(Math.min(limit, lower));
        expect(kept.headBytes).toBeLessThanOrEqual(kept.bytesKept);
        expect(kept.bytesRead).toBe(total);
        expect(kept.bytesKept + kept.bytesOmitted).toBe(total);
        expect(kept.truncated).toBe(kept.bytesOmitted > 0);
        expect(keeper.bytesHeld).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe('Blocks', () => {
  it('for any appends and drops equals plain concatenation', () => {
    const step = fc.record({ add: fc.nat(3_000), drop: fc.nat(4_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const blocks = new Blocks();
        let model: number[] = [];
        let next = 0;
        for (const { add, drop } of steps) {
          const bytes = Uint8Array.from({ length: add }, (_, i) => (next + i) % 251);
          next += add;
          model.push(...bytes);
          blocks.append(bytes);
          blocks.dropFront(drop);
          model = model.slice(drop);
          expect(blocks.length).toBe(model.length);
        }
        expect([...blocks.join()]).toEqual(model);
      }),
      { numRuns: 50 },
    );
  });
});
