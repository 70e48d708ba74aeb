/**
 * A blob store on the file system: `<root>/<SHA-256 of the tenant's name>/<SHA-256 of the bytes>`.
 *
 * Invariants: a blob appears at one instant and whole (temporary, sync, rename, sync of the directory), and is acknowledged
 * once it will last; what is read is what was put, or it is refused. No name that somebody gave becomes part of a path.
 * Deliberately absent: a count of what other stores on the same root put since this one was opened.
 */
import { type FileHandle, lstat, lutimes, mkdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobStore, BlobSweep, NamedBlob, SweepOptions } from '../model/stores.ts';
import { type Clock, systemClock } from '../model/time.ts';
import { corrupt, digestOf, digestOfHex, isDigest, stepsOf } from './blob-digest.ts';
import {
  blobsUnder,
  codeOf,
  type FoundBlob,
  openBlob,
  stepsFrom,
  syncDirectory,
  unless,
  verify,
  writeBlob,
} from './blob-file.ts';
import { folderOf, type Place, placeOf, rootOf } from './blob-place.ts';
import { type BlobLimits, BlobRoom } from './blob-room.ts';
import { recentMsOf } from './blob-sweep.ts';
import { clearLeft, temporaryName } from './blob-temporaries.ts';
import { BlobTurns } from './blob-turns.ts';

export interface FileBlobStoreOptions extends BlobLimits {
  /** A directory for this alone; made when it is missing. A relative path counts from the working directory of now. */
  readonly root: string | URL;
  /** What dates blobs, for `sweep`. Default: the clock of this machine. */
  readonly clock?: Clock;
}

/** Whole blobs that are put or got at once. */
const LANES = 64;

class FileBlobStore implements Required<BlobStore> {
  readonly #root: string;
  readonly #temporaries: string;
  readonly #clock: Clock;
  readonly #room: BlobRoom;
  /** By path: nobody removes what another is putting. */
  readonly #turns = new BlobTurns();
  readonly #lanes = new BlobTurns();
  #asked = 0;
  /** Folders known to be there and to last. */
  readonly #folders = new Set<string>();
  #opening: Promise<void> | null = null;

  constructor({ root, clock = systemClock, ...limits }: FileBlobStoreOptions) {
    this.#root = rootOf(root);
    this.#temporaries = join(this.#root, 'tmp');
    this.#clock = clock;
    this.#room = new BlobRoom(limits, 1024 ** 3);
  }

  async put(tenant: string, bytes: Uint8Array): Promise<string> {
    const digest = await digestOf(bytes);
    const place = placeOf(this.#root, tenant, digest);
    await this.#open();
    const add = (): Promise<void> => this.#inLane(() => this.#add(place, bytes));
    // Once more when the ground was taken away: a directory that somebody removed, a temporary that was taken for left.
    await this.#turns.take(place.path, () => add().catch((error: unknown) => unless('ENOENT')(error) ?? add()));
    return digest;
  }

  async putStream(tenant: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
    const folder = folderOf(tenant);
    await this.#open();
    await this.#prepare(folder);
    let digest = '';
    await this.#write(folder, chunks, null, (temporary, hex) => {
      digest = digestOfHex(hex);
      const { path } = placeOf(this.#root, tenant, digest);
      return this.#turns.take(path, async () => {
        if (await this.#renew({ folder, hex, path })) return false;
        await rename(temporary, path);
        return true;
      });
    });
    return digest;
  }

  get(tenant: string, digest: string): Promise<Uint8Array> {
    return this.#inLane(async () => {
      const { handle, size, hex } = await this.#reach(tenant, digest);
      try {
        const bytes = new Uint8Array(size);
        // What has grown since it was opened is not what its name says.
        await verify(handle, hex, (step, at) => bytes.set(step.subarray(0, Math.max(0, size - at)), at));
        return bytes;
      } finally {
        await handle.close();
      }
    });
  }

  async *getStream(tenant: string, digest: string): AsyncGenerator<Uint8Array, void, void> {
    const { handle, hex } = await this.#reach(tenant, digest);
    try {
      await verify(handle, hex);
      yield* stepsFrom(handle, true);
    } finally {
      await handle.close();
    }
  }

  async sweep(named: AsyncIterable<NamedBlob> | Iterable<NamedBlob>, options: SweepOptions = {}): Promise<BlobSweep> {
    const before = this.#clock.wall() - recentMsOf(options);
    await this.#open();
    const live = new Set<string>();
    for await (const { tenant, digest } of named)
      if (isDigest(digest)) live.add(placeOf(this.#root, tenant, digest).path);
    let [removed, bytes] = [0, 0];
    for await (const blob of blobsUnder(this.#root)) {
      if (blob.mtimeMs >= before || live.has(blob.path)) continue;
      const size = await this.#turns.take(blob.path, () => this.#remove(blob, before));
      if (size === null) continue;
      removed += 1;
      bytes += size;
    }
    return { removed, bytes };
  }

  /** In one of a few lanes, so that a burst of calls does not use up the descriptors of the host. Not for what others hold open. */
  #inLane<T>(work: () => Promise<T>): Promise<T> {
    this.#asked += 1;
    return this.#lanes.take(String(this.#asked % LANES), work);
  }

  /** Makes the root, clears what was left in it, and counts. Done by the first that needs it; after a failure, by the next. */
  #open(): Promise<void> {
    this.#opening ??= this.#openRoot().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #openRoot(): Promise<void> {
    const made = await mkdir(this.#root, { recursive: true, mode: 0o700 });
    if (made !== undefined) {
      for (let at = this.#root; at !== dirname(made); at = dirname(at)) await syncDirectory(dirname(at));
    }
    await mkdir(this.#temporaries, { recursive: true, mode: 0o700 });
    await clearLeft(this.#root, this.#temporaries);
    const found: FoundBlob[] = [];
    for await (const blob of blobsUnder(this.#root)) found.push(blob);
    for (const { folder, size } of found) this.#room.count(folder, size);
  }

  async #add(place: Place, bytes: Uint8Array): Promise<void> {
    await this.#prepare(place.folder);
    if (await this.#renew(place)) return;
    await this.#write(place.folder, stepsOf(bytes), bytes.byteLength, async (temporary, hex) => {
      if (hex !== place.hex) throw corrupt('The bytes changed while they were put; they were not stored.');
      await rename(temporary, place.path);
      return true;
    });
  }

  /**
   * Writes a temporary, of `size` bytes or as many as come. `settle` gives it its place, or says that it needs none: then, and
   * after a failure, it is removed and not counted.
   */
  async #write(
    folder: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    size: number | null,
    settle: (temporary: string, hex: string) => Promise<boolean>,
  ): Promise<void> {
    const claim = this.#room.claim(folder);
    if (size !== null) claim.take(size);
    const temporary = join(this.#temporaries, await temporaryName());
    let isPlaced = false;
    try {
      const hex = await writeBlob(temporary, chunks, this.#clock, size === null ? claim.take : null);
      isPlaced = await settle(temporary, hex);
    } catch (error) {
      // Whoever tries next makes the folders again, should one be missing.
      this.#folders.delete(folder);
      throw error;
    } finally {
      if (!isPlaced) {
        claim.release();
        await unlink(temporary).catch(() => undefined);
      }
    }
    if (isPlaced) await syncDirectory(join(this.#root, folder));
  }

  /** True when the blob is there, whole, and will last: then it counts as put now. What is there and not whole is removed. */
  async #renew({ folder, hex, path }: Place): Promise<boolean> {
    const seconds = this.#clock.wall() / 1_000;
    try {
      // Dated first: a sweep of another process that takes it away after this sees the date and puts it back.
      await lutimes(path, seconds, seconds);
      const { handle } = await openBlob(path);
      try {
        await verify(handle, hex);
      } finally {
        await handle.close();
      }
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ERR_LEASEHOLD_BLOB_CORRUPT') {
        const { size } = await lstat(path);
        await unlink(path);
        this.#room.count(folder, -size);
      } else if (code !== 'ENOENT' && code !== 'ERR_LEASEHOLD_BLOB_NOT_FOUND') throw error;
      return false;
    }
    await syncDirectory(dirname(path));
    return true;
  }

  /**
   * Removes a blob that was put before `before`, and tells its size. It is set aside first, since only then nobody can date it
   * any more; when somebody just has, it goes back.
   */
  async #remove({ folder, hex, path }: FoundBlob, before: number): Promise<number | null> {
    const aside = join(this.#temporaries, await temporaryName([folder, hex]));
    try {
      await rename(path, aside);
      const { size, mtimeMs } = await lstat(aside);
      if (Math.round(mtimeMs) >= before) {
        await rename(aside, path);
        return null;
      }
      await unlink(aside);
      this.#room.count(folder, -size);
      return size;
    } catch (error) {
      return unless('ENOENT')(error) ?? null;
    }
  }

  async #reach(tenant: string, digest: string): Promise<{ handle: FileHandle; size: number; hex: string }> {
    const { hex, path } = placeOf(this.#root, tenant, digest);
    await this.#open();
    return { ...(await openBlob(path)), hex };
  }

  /** Makes the folder of a tenant, and makes it last. */
  async #prepare(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    await mkdir(this.#temporaries, { recursive: true, mode: 0o700 });
    await mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
    await syncDirectory(this.#root);
    this.#folders.add(folder);
  }
}

/**
 * A store below the directory `root` for `maxBytes` of distinct blobs (default 1 GiB), all tenants together. It is opened by its
 * first use: what a crash left is cleared and what is there is counted. Several stores, also of several processes of one machine,
 * may share a root; each counts only its own puts after it was opened. Blobs are not encrypted; only the owner of the process may
 * read the files. Durable as far as the disk keeps what it confirmed; not for network file systems.
 * Errors of the file system (`ENOSPC`, `EACCES`) are thrown as they are, and nothing half is left.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function fileBlobStore(options: FileBlobStoreOptions): Required<BlobStore> {
  return new FileBlobStore(options);
}
