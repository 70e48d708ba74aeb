/**
 * What every blob store keeps, whatever it is made of.
 *
 * Invariant: told through the public contract alone, with a clock that moves only when told. Deliberately absent: what
 * only files can suffer.
 */
import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlobStore, NamedBlob } from '../../src/model/stores.ts';
import { FakeClock } from '../support/fake-clock.ts';

export interface ContractOptions {
  readonly maxBytes?: number;
  readonly maxTenantBytes?: number;
  readonly clock?: FakeClock;
}
type Open = (options?: ContractOptions) => Required<BlobStore>;

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

  describe('the limits', () => {
    it('count equal bytes once and refuse what passes them', async () => {
      const store = open({ maxBytes: 3 });
      await store.put('acme', Uint8Array.of(1, 2));
      await store.put('acme', Uint8Array.of(1, 2));
      await expect(store.put('other', Uint8Array.of(3, 4))).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
      await expect(store.put('other', Uint8Array.of(3))).resolves.toMatch(/^sha256:/);
    });

    it('count equal bytes once that are put at once', async () => {
      const store = open({ maxBytes: 2 });
      const [first, ...rest] = await Promise.all([1, 2, 3, 4].map(() => store.put('acme', Uint8Array.of(1, 2))));
      expect(rest).toEqual([first, first, first]);
    });

    it('hold one tenant without holding the next', async () => {
      const store = open({ maxBytes: 4, maxTenantBytes: 2 });
      await store.put('acme', Uint8Array.of(1, 2));
      await expect(store.put('acme', Uint8Array.of(3))).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
      await expect(store.put('other', Uint8Array.of(3, 4))).resolves.toMatch(/^sha256:/);
    });

    it('end a stream at the piece that passes them, and forget what came before', async () => {
      const store = open({ maxBytes: 3 });
      let asked = 0;
      const endless = function* () {
        for (; ; asked += 1) yield Uint8Array.of(asked);
      };
      await expect(store.putStream('acme', endless())).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
      expect(asked).toBe(3);
      await expect(store.put('acme', Uint8Array.of(1, 2, 3))).resolves.toMatch(/^sha256:/);
    });

    it('do not count a stream that failed, nor one whose bytes are there', async () => {
      const store = open({ maxBytes: 4 });
      const broken = async function* () {
        yield Uint8Array.of(1, 2, 3, 4);
        throw new RangeError('the source broke');
      };
      await expect(store.putStream('acme', broken())).rejects.toThrow('the source broke');
      await store.put('acme', Uint8Array.of(1, 2));
      await store.putStream('acme', piecesOf(Uint8Array.of(1), Uint8Array.of(2)));
      await expect(store.put('acme', Uint8Array.of(3, 4))).resolves.toMatch(/^sha256:/);
    });

    it.each([{ maxBytes: -1 }, { maxBytes: Number.NaN }, { maxTenantBytes: 0.5 }])(
      'are whole numbers, not %j',
      (over) => {
        expect(() => open(over)).toThrow(withCode('INVALID_OPTION'));
      },
    );
  });

  describe('a sweep', () => {
    it('removes what is neither named nor recent, and gives its room back', async () => {
      const clock = new FakeClock();
      const store = open({ maxBytes: 4, clock });
      const [live, dead] = [await store.put('acme', Uint8Array.of(1)), await store.put('acme', Uint8Array.of(2, 3))];
      clock.jump(101);
      const recent = await store.put('acme', Uint8Array.of(4));
      expect(await store.sweep([{ tenant: 'acme', digest: live }], { recentMs: 100 })).toEqual({
        removed: 1,
        bytes: 2,
      });
      await expect(store.get('acme', dead)).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
      expect([await store.get('acme', live), await store.get('acme', recent)]).toEqual([
        Uint8Array.of(1),
        Uint8Array.of(4),
      ]);
      await expect(store.put('acme', Uint8Array.of(5, 6))).resolves.toMatch(/^sha256:/);
    });

    it('keeps what was put again lately, by bytes or by stream', async () => {
      const clock = new FakeClock();
      const store = open({ clock });
      for (const byte of [1, 2, 3]) await store.put('acme', Uint8Array.of(byte));
      clock.jump(101);
      await store.put('acme', Uint8Array.of(1));
      await store.putStream('acme', [Uint8Array.of(2)]);
      expect(await store.sweep([], { recentMs: 100 })).toEqual({ removed: 1, bytes: 1 });
      expect(await store.sweep([], { recentMs: 100 })).toEqual({ removed: 0, bytes: 0 });
    });

    it('takes a name of one tenant for no other, and skips what is no digest', async () => {
      const clock = new FakeClock();
      const store = open({ clock });
      const digest = await store.put('acme', Uint8Array.of(1));
      clock.jump(101);
      const named: NamedBlob[] = [
        { tenant: 'other', digest },
        { tenant: 'acme', digest: '../acme' },
      ];
      expect(await store.sweep(named, { recentMs: 100 })).toEqual({ removed: 1, bytes: 1 });
    });

    it('removes nothing when it cannot learn every name', async () => {
      const clock = new FakeClock();
      const store = open({ clock });
      const digest = await store.put('acme', Uint8Array.of(1));
      clock.jump(101);
      const broken = async function* (): AsyncGenerator<NamedBlob> {
        yield { tenant: 'acme', digest: digestOf(Uint8Array.of(2)) };
        throw new RangeError('the log broke');
      };
      await expect(store.sweep(broken(), { recentMs: 100 })).rejects.toThrow('the log broke');
      expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1));
    });

    it('keeps a day of blobs unless told otherwise', async () => {
      const clock = new FakeClock();
      const store = open({ clock });
      await store.put('acme', Uint8Array.of(1));
      clock.jump(24 * 60 * 60 * 1_000);
      expect((await store.sweep([])).removed).toBe(0);
      clock.jump(1);
      expect((await store.sweep([])).removed).toBe(1);
      await expect(store.sweep([], { recentMs: 0 })).rejects.toThrow(withCode('INVALID_OPTION'));
    });
  });

  describe('a store', () => {
    it('for any order of calls says what a map with dates says', async () => {
      const blob = fc.uint8Array({ maxLength: 4 });
      const tenant = fc.constantFrom('a', 'b');
      const calls = fc.array(
        fc.oneof(
          fc.record({ do: fc.constantFrom('put' as const, 'stream' as const, 'get' as const), tenant, blob }),
          fc.record({ do: fc.constant('sweep' as const), tenant, blob }),
        ),
        { maxLength: 20 },
      );
      await fc.assert(
        fc.asyncProperty(calls, async (list) => {
          const clock = new FakeClock();
          const store = open({ maxBytes: 12, maxTenantBytes: 8, clock });
          const model = new Map<string, { size: number; putAt: number; tenant: string }>();
          const held = (of?: string) =>
            [...model.values()].reduce(
              (sum, kept) => sum + (of === undefined || of === kept.tenant ? kept.size : 0),
              0,
            );
          for (const { do: act, tenant: of, blob: bytes } of list) {
            clock.jump(10);
            const digest = digestOf(bytes);
            const key = `${of} ${digest}`;
            const known = model.get(key);
            const room = Math.min(12 - held(), 8 - held(of));
            if (act === 'get') {
              const got = store.get(of, digest);
              if (known === undefined) await expect(got).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
              else expect(Buffer.from(await got).equals(bytes)).toBe(true);
            } else if (act === 'sweep') {
              const gone = [...model].filter(([name, { putAt }]) => name !== key && putAt < clock.wall() - 25);
              const told = await store.sweep([{ tenant: of, digest }], { recentMs: 25 });
              expect(told.removed).toBe(gone.length);
              for (const [name] of gone) model.delete(name);
            } else {
              const put = act === 'put' ? store.put(of, bytes) : store.putStream(of, piecesOf(bytes));
              if (bytes.length > room && (known === undefined || act === 'stream')) {
                await expect(put).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
                continue;
              }
              expect(await put).toBe(digest);
              model.set(key, { size: bytes.length, putAt: clock.wall(), tenant: of });
            }
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}
