/**
 * The body of a response by itself, however the wire cuts it into pieces.
 *
 * Invariant: what is kept is always the beginning of what was sent. Deliberately absent: sockets.
 */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResponseBody } from '../../src/tools/http-body.ts';

const ENCODERS = [
  { encoding: '', encode: (body: Uint8Array) => body },
  { encoding: 'gzip', encode: gzipSync },
  { encoding: 'deflate', encode: deflateSync },
  { encoding: 'deflate', encode: deflateRawSync },
  { encoding: 'br', encode: brotliCompressSync },
];
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }),
  fc.tuple(fc.string({ minLength: 1 }), fc.nat(5_000)).map(([piece, times]) => Buffer.from(piece.repeat(times))),
);

/** Whole pieces of at most `size` bytes each. */
function write(body: ResponseBody, sent: Uint8Array, size: number): void {
  for (let at = 0; at < sent.length; at += size) body.write(sent.subarray(at, at + size));
}

describe('ResponseBody', () => {
  it('for any pieces and limits, keeps the beginning and says when it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        bytes,
        fc.constantFrom(...ENCODERS),
        fc.integer({ min: 1, max: 700 }),
        fc.nat(4_000),
        fc.nat(4_000),
        async (sent, { encoding, encode }, size, wireBytes, bodyBytes) => {
          const encoded = encode(sent);
          const body = new ResponseBody({ wireBytes, bodyBytes }, 'truncate', encoding);
          write(body, encoded, size);
          body.finish();
          await body.ended;
          const kept = body.bytes();
          expect(Buffer.compare(kept, sent.subarray(0, kept.length))).toBe(0);
          expect(kept.length).toBeLessThanOrEqual(bodyBytes);
          const fits = encoded.length <= wireBytes;
          if (fits) expect(kept.length).toBe(Math.min(sent.length, bodyBytes));
          expect(body.truncated).toBe(!fits || sent.length > bodyBytes);
        },
      ),
    );
  });

  it('for any place where an encoded body breaks off, never takes it for whole', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.constantFrom(...ENCODERS.slice(1)), fc.nat(), async (sent, encoder, at) => {
        const encoded = encoder.encode(sent);
        fc.pre(encoded.length > 1);
        const body = new ResponseBody({ wireBytes: 1e6, bodyBytes: 1e6 }, 'truncate', encoder.encoding);
        body.write(encoded.subarray(0, 1 + (at % (encoded.length - 1))));
        body.finish();
        await expect(body.ended).rejects.toMatchObject({ name: 'EncodingError' });
      }),
    );
  });

  it('failed while it decodes, ends at once with that', async () => {
    const body = new ResponseBody({ wireBytes: 1e6, bodyBytes: 1e6 }, 'truncate', 'gzip');
    body.write(gzipSync('abc'));
    body.finish();
    const reason = new Error('stopped');
    body.fail(reason);
    await expect(body.ended).rejects.toBe(reason);
  });

  it('takes a million pieces of one byte as a million bytes', async () => {
    const body = new ResponseBody({ wireBytes: 1e6, bodyBytes: 1e6 }, 'truncate', 'gzip');
    const encoded = gzipSync(Buffer.alloc(1e6, 'x'), { level: 0 }).subarray(0, 1e6);
    write(body, encoded, 1);
    body.write(Buffer.from('.'));
    await body.ended;
    expect([body.truncated, body.wireBytes]).toEqual([true, 1_000_001]);
    expect(body.bodyBytes).toBeGreaterThan(900_000);
  });
});
