/**
 * How much every blob store holds, and for how long.
 *
 * Invariant: told through the public contract alone, with a clock that moves only when told. Deliberately absent: what a
 * store gives back (`blob-contract.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NamedBlob } from '../../src/model/stores.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { digestOf, type Open, piecesOf, withCode } from './blob-contract.ts';

export function blobLimitsContract(open: Open): void {
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
