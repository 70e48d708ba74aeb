/** Blobs on the file system: the contract, and what only files can suffer. */
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { BlobStore } from '../../src/model/stores.ts';
import { fileBlobStore } from '../../src/record/file-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { fullDisk } from '../support/tmpfs-disk.ts';
import { makeFifo, scratch } from '../tools/scratch.ts';
import { blobStoreContract, type Open, withCode } from './blob-contract.ts';
import { blobLimitsContract } from './blob-limits-contract.ts';

const openNew: Open = (options = {}) => fileBlobStore({ root: scratch(), ...options });
blobStoreContract(openNew);
blobLimitsContract(openNew);

type Store = Required<BlobStore>;
const MEBIBYTE = 1024 * 1024;
const temporariesIn = (root: string) => readdirSync(join(root, 'tmp'));

/** The files of all blobs. */
function filesIn(root: string): string[] {
  return readdirSync(root)
    .filter((name) => name !== 'tmp')
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)));
}

/** A store with one blob, and its file. */
async function oneBlob(bytes: Buffer = randomBytes(300_000)) {
  const root = join(scratch(), 'blobs');
  const store = fileBlobStore({ root, maxBytes: 2_000_000 });
  const digest = await store.put('acme', bytes);
  const [file = ''] = filesIn(root);
  return { root, store, digest, file, bytes };
}

describe('fileBlobStore', () => {
  it.each([undefined, '', 7, 'a\0b', new URL('https://example.com/')])('refuses %j as its root', (root) => {
    expect(() => fileBlobStore({ root: root as never })).toThrow(withCode('INVALID_OPTION'));
  });

  it('takes a file URL, and touches nothing before its first use', async () => {
    const root = join(scratch(), 'a', 'b');
    const store = fileBlobStore({ root: pathToFileURL(root) });
    expect(readdirSync(dirname(dirname(root)))).toEqual([]);
    await store.put('acme', Uint8Array.of(1));
    expect(filesIn(root)).toHaveLength(1);
  });

  it('keeps what it holds from other users, and names of tenants out of its paths', async () => {
    const { root, file } = await oneBlob();
    expect([root, dirname(file), file].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o600]);
    expect(file).not.toContain('acme');
  });

  it('is found again by the next store on its root, with all that counts', async () => {
    const { root, digest, bytes } = await oneBlob();
    const next = fileBlobStore({ root, maxBytes: bytes.length + 1 });
    expect(bytes.equals(await next.get('acme', digest))).toBe(true);
    await expect(next.put('other', Uint8Array.of(1, 2))).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
    await expect(next.put('other', Uint8Array.of(1))).resolves.toMatch(/^sha256:/);
  });

  it('that could not be opened is opened by the next call', async () => {
    const root = join(scratch(), 'blobs');
    writeFileSync(root, 'in the way');
    const store = fileBlobStore({ root });
    await expect(store.put('acme', Uint8Array.of(1))).rejects.toMatchObject({ code: 'EEXIST' });
    rmSync(root);
    await expect(store.put('acme', Uint8Array.of(1))).resolves.toMatch(/^sha256:/);
  });

  it('whose directories were removed under it puts all the same', async () => {
    const { root, store, digest, bytes } = await oneBlob();
    rmSync(root, { recursive: true });
    expect(await store.put('acme', bytes)).toBe(digest);
    expect(bytes.equals(await store.get('acme', digest))).toBe(true);
  });

  it('opens no more than 64 files at once, however many blobs are put and got', async () => {
    const store = fileBlobStore({ root: scratch() });
    const openFiles = () => readdirSync('/proc/self/fd').length;
    let [most, isDone] = [0, false];
    const before = openFiles();
    const calls = Array.from({ length: 300 }, async () =>
      store.get('acme', await store.put('acme', randomBytes(4_096))),
    );
    const done = Promise.all(calls).finally(() => {
      isDone = true;
    });
    do {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, openFiles());
    } while (!isDone);
    expect(await done).toHaveLength(300);
    expect(most - before).toBeGreaterThan(1);
    expect(most - before).toBeLessThanOrEqual(64);
  });

  it('stores nothing of bytes that change while they are put', async () => {
    const root = scratch();
    const store = fileBlobStore({ root, maxBytes: 4 * MEBIBYTE });
    const bytes = randomBytes(4 * MEBIBYTE);
    const put = store.put('acme', bytes);
    bytes.fill(0);
    await expect(put).rejects.toThrow(withCode('BLOB_CORRUPT'));
    expect([filesIn(root), temporariesIn(root)]).toEqual([[], []]);
    await expect(store.put('acme', bytes)).resolves.toMatch(/^sha256:/);
  });
});

describe('a damaged blob', () => {
  const damages: Record<string, (file: string) => void> = {
    'cut short': (file) => truncateSync(file, 299_999),
    emptied: (file) => truncateSync(file, 0),
    grown: (file) => appendFileSync(file, 'x'),
    overwritten: (file) => writeFileSync(file, Buffer.alloc(300_000)),
    'a link to a whole copy': (file) => {
      const copy = join(dirname(dirname(dirname(file))), 'copy');
      spawnSync('mv', [file, copy]);
      symlinkSync(copy, file);
    },
    'a directory': (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    'a FIFO': (file) => {
      rmSync(file);
      makeFifo(file);
    },
  };

  it.each(Object.keys(damages))('that is %s is told and never handed out', async (how) => {
    const { store, digest, file } = await oneBlob();
    damages[how]?.(file);
    await expect(store.get('acme', digest)).rejects.toThrow(withCode('BLOB_CORRUPT'));
    let seen = 0;
    const stream = async () => {
      for await (const step of store.getStream('acme', digest)) seen += step.byteLength;
    };
    await expect(stream()).rejects.toThrow(withCode('BLOB_CORRUPT'));
    expect(seen).toBe(0);
  });

  it.each(['cut short', 'overwritten', 'a link to a whole copy'])('that is %s is whole once put again', async (how) => {
    const { root, digest, file, bytes } = await oneBlob();
    for (const put of [
      (store: Store) => store.put('acme', bytes),
      (store: Store) => store.putStream('acme', [bytes]),
    ]) {
      damages[how]?.(file);
      const store = fileBlobStore({ root, maxBytes: 2 * bytes.length });
      expect(await put(store)).toBe(digest);
      expect(bytes.equals(await store.get('acme', digest))).toBe(true);
      await expect(store.put('acme', new Uint8Array(bytes.length + 1))).rejects.toThrow(withCode('BLOB_TOO_LARGE'));
      const more = await store.put('other', new Uint8Array(bytes.length));
      expect(more).toMatch(/^sha256:/);
      rmSync(filesIn(root).find((path) => path.endsWith(more.slice(7))) ?? '');
    }
  });
});

describe('a full disk', () => {
  it('leaves nothing half, loses nothing, and counts nothing', async () => {
    const { path: root, code } = fullDisk();
    const store = fileBlobStore({ root, maxBytes: MEBIBYTE });
    const digest = await store.put('acme', new Uint8Array(8_192));
    await expect(store.put('acme', new Uint8Array(100_000))).rejects.toMatchObject({ code });
    await expect(store.putStream('acme', [new Uint8Array(100_000)])).rejects.toMatchObject({ code });
    expect([filesIn(root).length, temporariesIn(root)]).toEqual([1, []]);
    expect(await store.get('acme', digest)).toEqual(new Uint8Array(8_192));
    await expect(store.put('acme', new Uint8Array(16_384))).resolves.toMatch(/^sha256:/);
  });
});

describe('two stores on one root', () => {
  it('put the same blob many times at once and keep it once', async () => {
    const root = scratch();
    const stores = [fileBlobStore({ root }), fileBlobStore({ root })];
    const bytes = randomBytes(400_000);
    const puts = stores.flatMap((store) =>
      [1, 2, 3, 4, 5, 6].flatMap(() => [store.put('acme', bytes), store.putStream('acme', [bytes])]),
    );
    expect(new Set(await Promise.all(puts)).size).toBe(1);
    expect([filesIn(root).length, temporariesIn(root)]).toEqual([1, []]);
  });

  it('leave alone what the other is writing', async () => {
    const root = scratch();
    let seen: string[] = [];
    const store = fileBlobStore({ root });
    const source = async function* () {
      yield Uint8Array.of(1);
      const other = fileBlobStore({ root });
      await other.put('acme', Uint8Array.of(2));
      seen = temporariesIn(root);
      yield Uint8Array.of(3);
    };
    const digest = await store.putStream('acme', source());
    expect(seen).toHaveLength(1);
    expect(await store.get('acme', digest)).toEqual(Uint8Array.of(1, 3));
  });

  it('sweep nothing that the other puts meanwhile', async () => {
    const root = scratch();
    const clock = new FakeClock();
    const [putting, sweeping] = [fileBlobStore({ root, clock }), fileBlobStore({ root, clock })];
    const blobs = Array.from({ length: 48 }, () => randomBytes(100));
    const digests = await Promise.all(blobs.map((bytes) => putting.put('acme', bytes)));
    for (let round = 0; round < 6; round += 1) {
      clock.jump(101);
      // Those put last are the first to be looked at by the sweep, or the other way round.
      const again = (round % 2 === 0 ? blobs : blobs.toReversed()).map((bytes, at) =>
        at % 4 === 0 ? putting.putStream('acme', [bytes]) : putting.put('acme', bytes),
      );
      await Promise.all([...again, sweeping.sweep([], { recentMs: 100 })]);
      expect(await Promise.all(digests.map((digest) => putting.get('acme', digest)))).toEqual(
        blobs.map((b) => new Uint8Array(b)),
      );
    }
    expect(temporariesIn(root)).toEqual([]);
  });
});

describe('what a dead process left', () => {
  /** The number of a process that has ended. */
  const deadPid = () => spawnSync(process.execPath, ['--version']).pid;

  it('is cleared when the next store opens', async () => {
    const { root, digest } = await oneBlob();
    writeFileSync(join(root, 'tmp', `${deadPid()}-12345-${randomUUID()}`), 'half');
    writeFileSync(join(root, 'tmp', `${process.pid}-1-${randomUUID()}`), 'of an earlier process of this number');
    writeFileSync(join(root, 'tmp', 'note'), 'not ours');
    await fileBlobStore({ root }).get('acme', digest);
    expect(temporariesIn(root)).toEqual(['note']);
  });

  it('goes back where it was set aside by a sweep', async () => {
    const { root, digest, file, bytes } = await oneBlob();
    const [folder = '', hex = ''] = file.split('/').slice(-2);
    const aside = join(root, 'tmp', [`${deadPid()}-12345-${randomUUID()}`, folder, hex].join('.'));
    expect(spawnSync('mv', [file, aside]).status).toBe(0);
    expect(bytes.equals(await fileBlobStore({ root }).get('acme', digest))).toBe(true);
    expect(temporariesIn(root)).toEqual([]);
  });
});

describe('a stream out of the store', () => {
  it('that is left early lets its file go', async () => {
    const { store, digest } = await oneBlob(randomBytes(MEBIBYTE));
    const open = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0);
    const before = open();
    for await (const step of store.getStream('acme', digest)) {
      expect(step.byteLength).toBeLessThan(MEBIBYTE);
      break;
    }
    expect(open()).toBe(before);
  });
});
