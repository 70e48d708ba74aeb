/** Frames: what goes in comes out as a clone, however it is cut; what is no frame harms nobody. */
import v8 from 'node:v8';
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

const through = <T>(record: T): T => readInPieces(frameOf(record), [5]).records[0] as T;
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

describe('a view', () => {
  /** A byte that no frame as small as these has of its own. */
  const OTHERS = '\xee';
  const KINDS = [
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ];

  it('for any part of any buffer, takes along the bytes it shows and no others', () => {
    fc.assert(
      fc.property(fc.nat({ max: 60 }), fc.nat({ max: 60 }), fc.nat({ max: 60 }), (before, size, after) => {
        const whole = Buffer.from(OTHERS.repeat(before) + 'v'.repeat(size) + OTHERS.repeat(after), 'latin1');
        const frame = frameOf({ a: whole.subarray(before, before + size), b: whole.subarray(before, before) });
        expect(textOf(frame)).not.toContain(OTHERS);
        const { a } = readInPieces(frame, [7]).records[0] as { a: Uint8Array };
        expect(textOf(a)).toBe('v'.repeat(size));
        expect(textOf(new Uint8Array(a.buffer))).toMatch(/^\0*v*$/);
      }),
    );
  });

  it('of a pooled buffer takes nothing of its neighbours along', () => {
    const secret = Buffer.from('the secret of another tenant');
    const mine = Buffer.from('x');
    expect(mine.buffer).toBe(secret.buffer);
    expect(textOf(frameOf({ mine }))).not.toContain('secret');
  });

  it('for any kind and any place, is of its kind, and shows the same', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        fc.uint8Array({ minLength: 96, maxLength: 96 }),
        fc.nat(4),
        (Kind, bytes, at) => {
          const view = new Kind(bytes.buffer, at * Kind.BYTES_PER_ELEMENT, 4);
          const read = through({ view }).view;
          expect(read).toStrictEqual(structuredClone(view));
          expect(read.buffer.byteLength).toBeLessThan(view.byteLength + 8);
        },
      ),
    );
  });

  it('is told as what a clone would be: a buffer as bytes, a data view as one', () => {
    const bytes = Buffer.from('abcd');
    const read = through({ bytes, data: new DataView(bytes.buffer, bytes.byteOffset + 1, 2) });
    expect(Object.getPrototypeOf(read.bytes)).toBe(Uint8Array.prototype);
    expect([textOf(read.bytes), read.data.byteLength, read.data.getUint8(0)]).toEqual(['abcd', 2, 98]);
  });

  it('that overlaps another still does, and is one with itself', () => {
    const whole = new Uint8Array(32);
    const record = { a: whole.subarray(3, 20), b: new Float64Array(whole.buffer, 16, 1), c: whole.subarray(25) };
    const read = through({ ...record, again: record.a });
    expect(read.again).toBe(read.a);
    expect(read.b.buffer).toBe(read.a.buffer);
    expect(read.c.buffer).not.toBe(read.a.buffer);
    read.b[0] = 1;
    expect(read.a.subarray(13)).toEqual(new Uint8Array(new Float64Array([1]).buffer).subarray(0, 4));
  });

  it('of shared memory, or of a buffer that was moved away, is refused', () => {
    const moved = new Uint8Array(4);
    structuredClone(moved.buffer, { transfer: [moved.buffer] });
    for (const view of [new Uint8Array(new SharedArrayBuffer(4)), new DataView(new SharedArrayBuffer(4)), moved])
      expect(() => frameOf({ view })).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });

  it('for any bytes in the place of views, is undefined, and the next frame is read', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 60 }), (noise, valueSize) => {
        const body = Buffer.concat([Buffer.from([valueSize, 0, 0, 0]), v8.serialize(1), noise]);
        const marked = prefixed(body.byteLength, body);
        marked[3] = 0x80;
        const { records } = readInPieces(Buffer.concat([marked, frameOf('next')]), [9]);
        expect(records).toHaveLength(2);
        expect(records[1]).toBe('next');
      }),
    );
  });

  it('that claims more bytes than were sent is none', () => {
    const frame = frameOf({ view: new Uint8Array([1, 2, 3]) });
    for (let at = 8; at < frame.byteLength; at += 1) {
      const forged = frame.slice();
      forged[at] = 0x7f;
      const [record] = readInPieces(forged, [9]).records as [{ view?: Uint8Array } | undefined];
      expect(record?.view?.buffer.byteLength ?? 0).toBeLessThan(16);
    }
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
