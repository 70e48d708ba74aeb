/** Frames: what goes in comes out as a clone, however it is cut; what is no frame harms nobody. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader, frameOf, MAX_FRAME_BYTES } from '../../src/wire/frames.ts';

/** Reads bytes in pieces of the given lengths, over and over. */
function readInPieces(bytes: Uint8Array, lengths: readonly number[]) {
  const reader = new FrameReader();
  const records: unknown[] = [];
  for (let at = 0, turn = 0; at < bytes.byteLength; turn += 1) {
    const length = lengths[turn % lengths.length] as number;
    reader.push(bytes.subarray(at, at + length), (record) => records.push(record));
    at += length;
  }
  return { reader, records };
}
const prefixed = (size: number, body: Uint8Array) => {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(size);
  return Buffer.concat([prefix, body]);
};
const cuts = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 8 });
const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true });

describe('frames', () => {
  it('for any records and any cuts, come out as structured clones, in order', () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 5 }), cuts, (values, lengths) => {
        const { reader, records } = readInPieces(Buffer.concat(values.map(frameOf)), lengths);
        expect(records).toStrictEqual(structuredClone(values));
        expect(reader.isMidway).toBe(false);
      }),
    );
  });

  it('for any size over what is set aside at first, come out whole', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60_000, max: 400_000 }), cuts, (size, lengths) => {
        const { records } = readInPieces(frameOf(new Uint8Array(size).fill(size)), lengths);
        expect(records).toEqual([new Uint8Array(size).fill(size)]);
      }),
      { numRuns: 20 },
    );
  });

  it('for any bytes that are no frame, throw nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), cuts, (bytes, lengths) => {
        expect(() => readInPieces(bytes, lengths)).not.toThrow();
      }),
    );
  });

  it('for any body that V8 cannot read, tell undefined and read the next', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 50 }), (noise) => {
        // No version of the format begins like this.
        const body = Uint8Array.of(1, ...noise);
        const bytes = Buffer.concat([prefixed(body.byteLength, body), frameOf('next')]);
        expect(readInPieces(bytes, [7]).records).toEqual([undefined, 'next']);
      }),
    );
  });
});

describe('FrameReader', () => {
  it.each([0, MAX_FRAME_BYTES + 1])('told of %i bytes, tells undefined once and reads no more', (size) => {
    const { reader, records } = readInPieces(Buffer.concat([prefixed(size, Buffer.alloc(9)), frameOf(1)]), [3]);
    expect(records).toEqual([undefined]);
    expect(reader.isBroken).toBe(true);
  });

  it('is midway as long as a frame is not complete', () => {
    const bytes = frameOf({ a: 1 });
    const reader = new FrameReader();
    reader.push(bytes.subarray(0, 5), () => undefined);
    expect(reader.isMidway).toBe(true);
    reader.push(bytes.subarray(5), () => undefined);
    expect(reader.isMidway).toBe(false);
  });
});

describe('frameOf', () => {
  it.each([
    ['a function', () => undefined],
    ['a symbol', Symbol('s')],
    ['shared memory', new SharedArrayBuffer(8)],
    ['a weak map', new WeakMap()],
    ['a promise', Promise.resolve()],
  ])('refuses %s with a DataCloneError', (_, value) => {
    expect(() => frameOf({ value })).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });

  it('passes on what a getter of the record throws', () => {
    const poisoned = {
      get poison() {
        throw new RangeError('no');
      },
    };
    expect(() => frameOf(poisoned)).toThrow(new RangeError('no'));
  });
});
