/**
 * Feeding standard input: what reaches the pipe, and what is told of a source that breaks.
 *
 * Invariant: the pipe is a stream of the test's own. Deliberately absent: processes (`isolate/command-start.test.ts`).
 */
import { Readable, Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feed } from '../../src/process/feed.ts';

/** A pipe with room for a few bytes only. */
function pipeOf(write: (bytes: Buffer, pipe: Writable) => void = () => undefined) {
  let text = '';
  const pipe: Writable = new Writable({
    highWaterMark: 4,
    write: (bytes: Buffer, _encoding, done) => {
      text += bytes.toString('latin1');
      write(bytes, pipe);
      setImmediate(done);
    },
  });
  return { pipe, text: () => text };
}
function* sourceOf(pieces: readonly unknown[], error: Error | null): Generator<unknown> {
  yield* pieces;
  if (error !== null) throw error;
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 });
const piece = fc.oneof(
  text,
  text.map((chars) => Buffer.from(chars)),
);
const noPiece = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.record({ a: fc.integer() }),
  fc.constant(new DataView(new ArrayBuffer(2))),
);

describe('feed', () => {
  it('for any stream of pieces hands over all of them, and ends the pipe', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        const { pipe, text } = pipeOf();
        expect(await feed(Readable.from(pieces), pipe)).toBe(null);
        expect([pipe.writableEnded, pipe.destroyed && !pipe.writableEnded]).toEqual([true, false]);
        await new Promise<void>((resolve) => (pipe.writableFinished ? resolve() : pipe.once('finish', resolve)));
        expect(text()).toBe(pieces.map(String).join(''));
      }),
    );
  });

  it('for any source that breaks tells by what, and leaves the pipe open', async () => {
    const broken = new RangeError('broke');
    await fc.assert(
      fc.asyncProperty(fc.array(piece), fc.option(noPiece), async (pieces, odd) => {
        const { pipe } = pipeOf();
        const source = odd === null ? sourceOf(pieces, broken) : sourceOf([...pieces, odd], null);
        const told = await feed(Readable.from(source), pipe);
        expect(told?.error).toBeInstanceOf(odd === null ? RangeError : TypeError);
        expect([pipe.writableEnded, pipe.destroyed]).toEqual([false, false]);
      }),
    );
  });

  it('is over without a failure when the pipe closes, and destroys the source', async () => {
    const source = new Readable({ read: () => undefined });
    const { pipe } = pipeOf();
    const fed = feed(source, pipe);
    source.push('one');
    pipe.destroy();
    expect([await fed, source.destroyed]).toEqual([null, true]);
  });

  it('is over without a failure when the pipe breaks while it is full', async () => {
    const source = Readable.from(['one', 'two and more', 'three']);
    const { pipe } = pipeOf((_bytes, full) => full.destroy(new Error('EPIPE')));
    expect([await feed(source, pipe), source.destroyed]).toEqual([null, true]);
  });
});
