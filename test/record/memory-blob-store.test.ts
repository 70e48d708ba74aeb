/** Blobs in memory: by digest, apart per tenant, within a limit. */
import { describe, expect, it } from 'vitest';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';

const withCode = (code: string) => expect.objectContaining({ code: `ERR_LEASEHOLD_${code}` });

describe('memoryBlobStore', () => {
  it('gives back the bytes of a digest', async () => {
    const store = memoryBlobStore();
    const digest = await store.put('acme', Uint8Array.of(1, 2, 3));
    expect(digest).toBe('sha256:039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81');
    expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('nobody can change a stored blob', async () => {
    const store = memoryBlobStore();
    const bytes = Uint8Array.of(1);
    const digest = await store.put('acme', bytes);
    bytes[0] = 9;
    (await store.get('acme', digest))[0] = 9;
    expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1));
  });

  it('keeps tenants apart', async () => {
    const store = memoryBlobStore();
    const digest = await store.put('acme', Uint8Array.of(1));
    await expect(store.get('other', digest)).rejects.toThrow(withCode('BLOB_NOT_FOUND'));
  });

  it('counts equal bytes once and refuses what passes the limit', async () => {
    const store = memoryBlobStore({ maxBytes: 3 });
    await store.put('acme', Uint8Array.of(1, 2));
    await store.put('acme', Uint8Array.of(1, 2));
    await expect(store.put('acme', Uint8Array.of(3, 4))).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
    await expect(store.put('acme', Uint8Array.of(3))).resolves.toMatch(/^sha256:/);
  });
});
