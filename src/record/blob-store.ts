/**
 * BlobStore: bytes by digest, apart per tenant; held in memory here.
 *
 * Invariants: what `get` returns has the digest asked for; a stored blob never changes.
 * Deliberately absent: a store on disk, and any way to list another tenant's blobs.
 */

/** Content-addressed bytes. A digest is `sha256:` and 64 hexadecimal digits. */
export interface BlobStore {
  /** @throws LeaseholdError `ERR_LEASEHOLD_BLOB_TOO_LARGE` when the store's limit would be passed. */
  put(tenant: string, bytes: Uint8Array): Promise<string>;
  /** @throws LeaseholdError `ERR_LEASEHOLD_BLOB_NOT_FOUND`. */
  get(tenant: string, digest: string): Promise<Uint8Array>;
}
