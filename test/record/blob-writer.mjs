/**
 * Puts blobs into the store at `argv[2]` without an end, four at once, and tells each on a line once it is acknowledged.
 *
 * Invariant: what is told was acknowledged before. Now and then it sweeps what it never told, while nothing is put.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { fileBlobStore } from '../../dist/src/record/file-blob-store.js';

const store = fileBlobStore({ root: process.argv[2] });
const told = [];

async function* inPieces(bytes) {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

async function putSome(count) {
  for (let left = count; left > 0; left -= 1) {
    const bytes = randomBytes(randomInt(1, 2 ** randomInt(1, 20)));
    const digest = await (randomInt(2) === 0 ? store.put('acme', bytes) : store.putStream('acme', inPieces(bytes)));
    // Equal bytes again, by the other way.
    if (randomInt(4) === 0) await store.put('acme', bytes);
    told.push({ tenant: 'acme', digest });
    process.stdout.write(`${digest}\n`);
  }
}

for (;;) {
  await Promise.all([putSome(2), putSome(2), putSome(2), putSome(2)]);
  for (let left = 3; left > 0; left -= 1) await store.put('acme', randomBytes(8));
  await store.sweep(told, { recentMs: 0.001 });
}
