/**
 * A blob store in memory: the default.
 *
 * Invariants: bytes are copied in and out, so nobody can change a stored blob; equal bytes of one tenant are kept once,
 * and no tenant sees another's. Deliberately absent: removal; the store lives as long as its supervisor.
 */
import { createHash } from 'node:crypto';
import { LeaseholdError } from '../model/errors.ts';
import type { BlobStore } from '../model/stores.ts';

class MemoryBlobStore implements BlobStore {
  readonly #maxBytes: number;
  readonly #tenants = new Map<string, Map<string, Uint8Array>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  async put(tenant: string, bytes: Uint8Array): Promise<string> {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const blobs = this.#tenants.get(tenant) ?? new Map<string, Uint8Array>();
    if (blobs.has(digest)) return digest;
    if (this.#bytes + bytes.byteLength > this.#maxBytes) {
      const rest = this.#maxBytes - this.#bytes;
      throw new LeaseholdError(
        'BLOB_TOO_LARGE',
        `A blob of ${bytes.byteLength} bytes; the store has room for ${rest}.`,
      );
    }
    this.#bytes += bytes.byteLength;
    blobs.set(digest, new Uint8Array(bytes));
    this.#tenants.set(tenant, blobs);
    return digest;
  }

  async get(tenant: string, digest: string): Promise<Uint8Array> {
    const bytes = this.#tenants.get(tenant)?.get(digest);
    if (bytes === undefined) throw new LeaseholdError('BLOB_NOT_FOUND', 'The tenant has no blob of this digest.');
    return new Uint8Array(bytes);
  }
}

/** A store in memory for `maxBytes` of distinct blobs (default 64 MiB), all tenants together. */
export function memoryBlobStore({ maxBytes = 64 * 1024 * 1024 }: { maxBytes?: number } = {}): BlobStore {
  return new MemoryBlobStore(maxBytes);
}
