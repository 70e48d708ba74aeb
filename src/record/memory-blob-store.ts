/**
 * A blob store in memory: the default.
 *
 * Invariants: bytes are copied in and out, so nobody can change a stored blob; equal bytes of one tenant are kept once,
 * and no tenant sees another's. Deliberately absent: anything that survives the process.
 */
import type { BlobStore, BlobSweep, NamedBlob, SweepOptions } from '../model/stores.ts';
import { type Clock, systemClock } from '../model/time.ts';
import { digestOf, hexOf, notFound, requireBytes, stepsOf } from './blob-digest.ts';
import { type BlobLimits, BlobRoom } from './blob-room.ts';
import { recentMsOf } from './blob-sweep.ts';

interface Kept {
  readonly bytes: Uint8Array;
  /** When it was last put, `Clock.wall`. */
  putAt: number;
}

class MemoryBlobStore implements Required<BlobStore> {
  readonly #room: BlobRoom;
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Map<string, Kept>>();

  constructor(limits: BlobLimits, clock: Clock) {
    this.#room = new BlobRoom(limits, 64 * 1024 * 1024);
    this.#clock = clock;
  }

  async put(tenant: string, bytes: Uint8Array): Promise<string> {
    requireBytes(bytes);
    const own = new Uint8Array(bytes);
    const digest = await digestOf(own);
    if (!this.#renew(tenant, digest)) {
      this.#room.claim(tenant).take(own.byteLength);
      this.#keep(tenant, digest, own);
    }
    return digest;
  }

  async putStream(tenant: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
    const claim = this.#room.claim(tenant);
    const steps: Uint8Array[] = [];
    try {
      for await (const chunk of chunks) {
        for (const step of stepsOf(chunk)) {
          claim.take(step.byteLength);
          steps.push(step);
        }
      }
      const own = new Uint8Array(Buffer.concat(steps));
      const digest = await digestOf(own);
      if (this.#renew(tenant, digest)) claim.release();
      else this.#keep(tenant, digest, own);
      return digest;
    } catch (error) {
      claim.release();
      throw error;
    }
  }

  async get(tenant: string, digest: string): Promise<Uint8Array> {
    return new Uint8Array(this.#find(tenant, digest));
  }

  async *getStream(tenant: string, digest: string): AsyncGenerator<Uint8Array, void, void> {
    yield* stepsOf(this.#find(tenant, digest));
  }

  async sweep(named: AsyncIterable<NamedBlob> | Iterable<NamedBlob>, options: SweepOptions = {}): Promise<BlobSweep> {
    const before = this.#clock.wall() - recentMsOf(options);
    const live = new Map<string, Set<string>>();
    for await (const { tenant, digest } of named) live.set(tenant, (live.get(tenant) ?? new Set()).add(digest));
    let [removed, bytes] = [0, 0];
    for (const [tenant, blobs] of this.#tenants) {
      for (const [digest, blob] of blobs) {
        if (blob.putAt >= before || live.get(tenant)?.has(digest) === true) continue;
        blobs.delete(digest);
        this.#room.count(tenant, -blob.bytes.byteLength);
        removed += 1;
        bytes += blob.bytes.byteLength;
      }
      if (blobs.size === 0) this.#tenants.delete(tenant);
    }
    return { removed, bytes };
  }

  #find(tenant: string, digest: string): Uint8Array {
    hexOf(digest);
    const kept = this.#tenants.get(tenant)?.get(digest);
    if (kept === undefined) throw notFound();
    return kept.bytes;
  }

  /** True when the blob is there: then it counts as put now. */
  #renew(tenant: string, digest: string): boolean {
    const kept = this.#tenants.get(tenant)?.get(digest);
    if (kept !== undefined) kept.putAt = this.#clock.wall();
    return kept !== undefined;
  }

  #keep(tenant: string, digest: string, bytes: Uint8Array): void {
    const blobs = this.#tenants.get(tenant) ?? new Map<string, Kept>();
    this.#tenants.set(tenant, blobs.set(digest, { bytes, putAt: this.#clock.wall() }));
  }
}

/** A store in memory for `maxBytes` of distinct blobs (default 64 MiB), all tenants together. */
export function memoryBlobStore({
  clock = systemClock,
  ...limits
}: BlobLimits & { readonly clock?: Clock } = {}): Required<BlobStore> {
  return new MemoryBlobStore(limits, clock);
}
