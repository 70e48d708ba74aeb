/**
 * Room: how many bytes a blob store may hold, of all tenants together and of each.
 *
 * Invariant: what is claimed counts until it is given back, so that writes under way cannot pass a limit together.
 * Deliberately absent: what the bytes are, and where.
 */
import { LeaseholdError } from '../model/errors.ts';
import { countOr } from '../model/option-checks.ts';

export interface BlobLimits {
  /** Bytes of distinct blobs, all tenants together. */
  readonly maxBytes?: number;
  /** Bytes of distinct blobs of one tenant. Default: `maxBytes`. */
  readonly maxTenantBytes?: number;
}

/** What one blob under way has taken. */
export interface Claim {
  /** @throws LeaseholdError `ERR_LEASEHOLD_BLOB_TOO_LARGE`; nothing more was taken then. */
  take(bytes: number): void;
  /** Gives all of it back. */
  release(): void;
}

export class BlobRoom {
  readonly #maxBytes: number;
  readonly #maxTenantBytes: number;
  readonly #byTenant = new Map<string, number>();
  #bytes = 0;

  /** @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
  constructor({ maxBytes, maxTenantBytes }: BlobLimits, fallback: number) {
    this.#maxBytes = countOr('maxBytes', maxBytes, fallback);
    this.#maxTenantBytes = countOr('maxTenantBytes', maxTenantBytes, this.#maxBytes);
  }

  /** Counts bytes that are there already, whatever the limits say. Below 0: that are there no more. */
  count(tenant: string, bytes: number): void {
    // Not below nothing: another store on the same files may have put what this one saw removed.
    this.#bytes = Math.max(0, this.#bytes + bytes);
    const held = Math.max(0, this.#of(tenant) + bytes);
    if (held === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, held);
  }

  claim(tenant: string): Claim {
    let taken = 0;
    return {
      take: (bytes) => {
        this.#requireRoom(tenant, bytes);
        this.count(tenant, bytes);
        taken += bytes;
      },
      release: () => {
        this.count(tenant, -taken);
        taken = 0;
      },
    };
  }

  #requireRoom(tenant: string, bytes: number): void {
    const rest = Math.min(this.#maxBytes - this.#bytes, this.#maxTenantBytes - this.#of(tenant));
    if (bytes <= rest) return;
    throw new LeaseholdError(
      'BLOB_TOO_LARGE',
      `${bytes} more bytes of a blob; the store has room for ${Math.max(0, rest)}.`,
    );
  }

  #of(tenant: string): number {
    return this.#byTenant.get(tenant) ?? 0;
  }
}
