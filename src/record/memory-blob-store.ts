/**
 * A blob store in memory: the default.
 *
 * Invariants: bytes are copied in and out, so nobody can change a stored blob; equal bytes of one tenant are kept once,
 * and no tenant sees another's. Deliberately absent: anything that survives the process.
 */
import { createHash } from 'node:crypto';
import type { BlobStore, BlobSweep, NamedBlob, SweepOptions } from '../model/stores.ts';
import { type Clock, systemClock } from '../model/time.ts';
import { digestOfHex, isDigest, nextTurn, notFound, STEP, stepsOf } from './blob-digest.ts';
import { type BlobLimits, BlobRoom } from './blob-room.ts';
import { recentMsOf } from './blob-sweep.ts';

interface Kept {
  /** Its bytes in steps. */
  readonly steps: readonly Uint8Array[];
  readonly size: number;
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
    const { digest, steps, size } = await copyOf([bytes], () => undefined);
    if (this.#renew(tenant, digest)) return digest;
    this.#room.claim(tenant).take(size);
    this.#keep(tenant, digest, steps, size);
    return digest;
  }

  async putStream(tenant: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
    const claim = this.#room.claim(tenant);
    try {
      const { digest, steps, size } = await copyOf(chunks, claim.take);
      if (this.#renew(tenant, digest)) claim.release();
      else this.#keep(tenant, digest, steps, size);
      return digest;
    } catch (error) {
      claim.release();
      throw error;
    }
  }

  async get(tenant: string, digest: string): Promise<Uint8Array> {
    const { steps, size } = this.#find(tenant, digest);
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const step of steps) {
      bytes.set(step, at);
      at += step.byteLength;
      if (step.byteLength === STEP) await nextTurn();
    }
    return bytes;
  }

  async *getStream(tenant: string, digest: string): AsyncGenerator<Uint8Array, void, void> {
    for (const step of this.#find(tenant, digest).steps) {
      yield new Uint8Array(step);
      if (step.byteLength === STEP) await nextTurn();
    }
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
        this.#room.count(tenant, -blob.size);
        removed += 1;
        bytes += blob.size;
      }
      if (blobs.size === 0) this.#tenants.delete(tenant);
    }
    return { removed, bytes };
  }

  #find(tenant: string, digest: string): Kept {
    const kept = isDigest(digest) ? this.#tenants.get(tenant)?.get(digest) : undefined;
    if (kept === undefined) throw notFound();
    return kept;
  }

  /** True when the blob is there: then it counts as put now. */
  #renew(tenant: string, digest: string): boolean {
    const kept = this.#tenants.get(tenant)?.get(digest);
    if (kept !== undefined) kept.putAt = this.#clock.wall();
    return kept !== undefined;
  }

  #keep(tenant: string, digest: string, steps: readonly Uint8Array[], size: number): void {
    const blobs = this.#tenants.get(tenant) ?? new Map<string, Kept>();
    this.#tenants.set(tenant, blobs.set(digest, { steps, size, putAt: this.#clock.wall() }));
  }
}

/** Copies what comes, and names what was copied. `admit` is asked before each step and may throw. */
async function copyOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  admit: (bytes: number) => void,
): Promise<{ digest: string; steps: Uint8Array[]; size: number }> {
  const hash = createHash('sha256');
  const steps: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    for (const given of stepsOf(chunk)) {
      admit(given.byteLength);
      const step = new Uint8Array(given);
      hash.update(step);
      steps.push(step);
      size += step.byteLength;
      if (step.byteLength === STEP) await nextTurn();
    }
  }
  return { digest: digestOfHex(hash.digest('hex')), steps, size };
}

/**
 * A store in memory for `maxBytes` of distinct blobs (default 64 MiB), all tenants together. `clock` dates blobs, for `sweep`.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function memoryBlobStore({
  clock = systemClock,
  ...limits
}: BlobLimits & { readonly clock?: Clock } = {}): Required<BlobStore> {
  return new MemoryBlobStore(limits, clock);
}
