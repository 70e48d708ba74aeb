/** What a request leaves in a log that survives: enough to go on from, stored before it is named, and held back by nothing for long. */
import { describe, expect, it } from 'vitest';
import type { BlobStore, LogEvent } from '../../src/model/stores.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { heldLog } from '../support/held-log.ts';
import { requestRig } from './request-rig.ts';

/** Blobs that are stored when told. */
function slowBlobs() {
  const blobs = memoryBlobStore();
  const waiting: (() => void)[] = [];
  const store: BlobStore = {
    put: (tenant, bytes) => new Promise((resolve) => waiting.push(() => resolve(blobs.put(tenant, bytes)))),
    get: (tenant, digest) => blobs.get(tenant, digest),
  };
  const storeAll = async () => {
    for (const put of waiting.splice(0)) put();
    await settle();
  };
  return { store, storeAll, waiting };
}
const LARGE = { text: 'x'.repeat(3_000) };
/** The far side answers to a word, so here the labels are large. */
const LABELS = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`label-${n}`, 'x'.repeat(250)]));
const kinds = (entries: readonly LogEvent[]) => entries.map(({ kind }) => kind);

describe('a request on a log that survives', () => {
  it('leaves its input, its options and its value', async () => {
    const log = heldLog([], 'synced');
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog });
    await rig.run(fakeTool('opaque'), 'value', { idempotencyKey: 'seed', labels: { team: 'x' } });
    const entries = await log.entries();
    expect(kinds(entries)).toEqual(['prepared', 'admitted', 'dispatched', 'settled', 'closed']);
    expect(entries[0]?.body).toMatchObject({ tool: 'fake', effects: 'opaque', input: 'value', idempotencyKey: 'seed' });
    expect(entries[0]?.body).toMatchObject({ labels: { team: 'x' }, hadSecrets: false, isExact: true });
    expect(entries[4]?.body).toMatchObject({ status: 'succeeded', value: rig.ended[0]?.value });
    await closeFake(rig);
  });

  it('starts no opaque body before its large input is stored and its entries are written', async () => {
    const [log, { store, storeAll }] = [heldLog([], 'synced'), slowBlobs()];
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, blobs: store });
    await rig.run(fakeTool('opaque'), LARGE);
    expect([rig.runs(), await log.entries()]).toEqual([0, []]);
    await storeAll();
    expect(rig.runs()).toBe(1);
    const [prepared] = await log.entries();
    const { blob } = (prepared?.body['input'] ?? {}) as { blob: string };
    expect(JSON.parse(Buffer.from(await store.get('default', blob)).toString())).toEqual(LARGE);
    await closeFake(rig);
  });

  it('loses the copy of its input to a store that hangs, and neither effect nor end', async () => {
    const [log, { store }] = [heldLog([], 'synced'), slowBlobs()];
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, blobs: store, defaults: { sweepMs: 100 } });
    await rig.run(fakeTool('opaque'), 'value', { labels: LABELS });
    await rig.clock.advance(1_000);
    const entries = await log.entries();
    expect(entries[0]?.body).toMatchObject({ inputOmitted: 7, labelsOmitted: expect.any(Number) });
    expect(rig.runs()).toBe(1);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', durability: 'synced' }]);
    expect(kinds(entries).at(-1)).toBe('closed');
    await closeFake(rig);
  });

  it('holds up no pure tool by the storing of its input', async () => {
    const [log, { store, storeAll }] = [heldLog([], 'synced'), slowBlobs()];
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, blobs: store });
    await rig.run(fakeTool(), 'value', { labels: LABELS });
    expect([rig.runs(), rig.ended.length]).toEqual([1, 0]);
    await storeAll();
    await storeAll();
    expect(rig.ended).toMatchObject([{ status: 'succeeded', durability: 'synced' }]);
    expect(kinds(await log.entries())).toEqual(['prepared', 'admitted', 'closed']);
    await closeFake(rig);
  });
});
