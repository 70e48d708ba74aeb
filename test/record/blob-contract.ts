/**
 * What every blob store gives back, whatever it is made of.
 *
 * Invariant: told through the public contract alone. Deliberately absent: how much it holds and for how long
 * (`blob-limits-contract.ts`), and what only files can suffer.
 */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BlobStore } from '../../src/model/stores.ts';
import type { FakeClock } from '../support/fake-clock.ts';

export interface ContractOptions {
  readonly maxBytes?: number;
  readonly maxTenantBytes?: number;
  readonly clock?: FakeClock;
}
export type Open = (options?: ContractOptions) => Required<BlobStore>;

export const withCode = (code: string) => expect.objectContaining({ code: `ERR_LEASEHOLD_${code}` });
export const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const MEBIBYTE = 1024 * 1024;

export async function* piecesOf(...pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield piece;
}

export async function gathered(steps: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const list: Uint8Array[] = [];
  for await (const step of steps) list.push(step);
  return Buffer.concat(list);
}

/** Counts the turns of the loop until `work` is done. */
async function turning(turns: { count: number }, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = work.then(() => {
    isDone = true;
  });
  do {
    turns.count += 1;
    await new Promise((resolve) => setImmediate(resolve));
  } while (!isDone);
  await done;
}

export function blobStoreContract(open: Open): void {
  describe('a blob', () => {
    it('is named by its SHA-256 and given back as it was put', async () => {
      const store = open();
      const digest = await store.put('acme', Uint8Array.of(1, 2, 3));
      expect(digest).toBe('sha256:039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81');
      expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1, 2, 3));
    });

    it('may be empty', async () => {
      const store = open({ maxBytes: 0 });
      const digest = await store.put('acme', new Uint8Array());
      expect(await store.get('acme', digest)).toEqual(new Uint8Array());
      expect(await gathered(store.getStream('acme', digest))).toHaveLength(0);
      expect(await store.putStream('acme', [])).toBe(digest);
    });

    it('of several steps is the same by bytes and by stream', async () => {
      const store = open();
      const bytes = randomBytes(MEBIBYTE + 1);
      const digest = await store.put('acme', bytes);
      expect(digest).toBe(digestOf(bytes));
      expect(await store.putStream('other', piecesOf(bytes.subarray(0, 700_000), bytes.subarray(700_000)))).toBe(
        digest,
      );
      for (const tenant of ['acme', 'other']) {
        expect(bytes.equals(await store.get(tenant, digest))).toBe(true);
        expect(bytes.equals(await gathered(store.getStream(tenant, digest)))).toBe(true);
      }
    });

    it('is taken in pieces of at most 1 MiB, each in a turn of the loop of its own', async () => {
      const store = open({ maxBytes: 32 * MEBIBYTE });
      const turns = { count: 0 };
      const taken: { turn: number; bytes: number }[] = [];
      class Watched extends Uint8Array {
        override subarray(begin = 0, end = this.length): Uint8Array<ArrayBuffer> {
          const piece = new Uint8Array(this.buffer as ArrayBuffer, begin, Math.min(end, this.length) - begin);
          taken.push({ turn: turns.count, bytes: piece.length });
          return piece;
        }
      }
      const bytes = new Watched(8 * MEBIBYTE);
      await turning(turns, store.put('acme', bytes));
      await turning(turns, store.putStream('other', [bytes]));
      expect(taken.reduce((sum, piece) => sum + piece.bytes, 0)).toBeGreaterThanOrEqual(2 * bytes.length);
      expect(Math.max(...taken.map((piece) => piece.bytes))).toBeLessThanOrEqual(MEBIBYTE);
      expect(new Set(taken.map(({ turn }) => turn)).size).toBe(taken.length);
      for await (const step of store.getStream('acme', digestOf(bytes)))
        expect(step.byteLength).toBeLessThanOrEqual(MEBIBYTE);
    });

    it('is what was hashed, though its source changes it as soon as it was taken', async () => {
      const store = open();
      class Restless extends Uint8Array {
        override subarray(begin = 0, end = this.length): Uint8Array<ArrayBuffer> {
          const piece = new Uint8Array(this.buffer as ArrayBuffer, begin, Math.min(end, this.length) - begin);
          queueMicrotask(() => piece.fill(9));
          return piece;
        }
      }
      const digest = await store.putStream('acme', [new Restless(4 * MEBIBYTE)]);
      expect(digest).toBe(digestOf(new Uint8Array(4 * MEBIBYTE)));
      expect(digestOf(await store.get('acme', digest))).toBe(digest);
    });

    it('is taken from shared memory too', async () => {
      const store = open();
      const shared = new Uint8Array(new SharedArrayBuffer(MEBIBYTE)).fill(7);
      expect(await store.put('acme', shared)).toBe(digestOf(shared));
    });

    it('is nothing that whoever put or got it can change', async () => {
      const store = open();
      const bytes = Uint8Array.of(1);
      const digest = await store.put('acme', bytes);
      bytes[0] = 9;
      (await store.get('acme', digest))[0] = 9;
      for await (const step of store.getStream('acme', digest)) step[0] = 9;
      expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1));
    });

    it('is made of bytes, not of what can be turned into some', async () => {
      const store = open();
      await expect(store.put('acme', '12' as never)).rejects.toThrow(TypeError);
      await expect(store.putStream('acme', ['12'] as never)).rejects.toThrow(TypeError);
    });

    it('is of its tenant alone, however alike two names are', async () => {
      const store = open();
      const digest = await store.put('acme', Uint8Array.of(1));
      for (const tenant of ['other', 'Acme', 'acme/', './acme', '']) {
        await expect(store.get(tenant, digest)).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
      }
      const lone = await store.put('\ud800', Uint8Array.of(2));
      await expect(store.get('\udbff', lone)).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
    });

    it.each([
      '',
      'sha256:',
      `sha256:${'A'.repeat(64)}`,
      `sha256:${'a'.repeat(63)}`,
      `sha256:${'a'.repeat(64)}\n`,
      `sha256:${'../'.repeat(21)}x`,
      `sha256:../../../../etc/passwd`,
      '../../../../etc/passwd',
      `SHA256:${'a'.repeat(64)}`,
      `sha256:${'a'.repeat(64)}`,
    ])('is not found by %j', async (digest) => {
      const store = open();
      await store.put('acme', Uint8Array.of(1));
      await expect(store.get('acme', digest)).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
      await expect(gathered(store.getStream('acme', digest))).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
    });
  });
}
