// Question: what happens when 100 000 requests are made at once?
//
// What would change our minds: a time per request that grows with the depth of the queue.
import { everyone } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

export const question = {
  name: 'deep-queue',
  title: '(f) Requests made at once on two isolates, until the last is answered',
  unit: 'µs per request',
  better: 'less',
  reference: 'piscina',
  async measure({ smoke }) {
    const variants = [];
    for (const depth of smoke ? [500, 2_000] : [1_000, 100_000]) {
      const flood = (pool) => Promise.all(Array.from({ length: depth }, () => pool.run('empty')));
      const figures = await alternate({
        contenders: everyone,
        rounds: 3,
        open: { threads: 2, capacity: depth },
        warm: (pool) => pool.run('empty'),
        figure: async (pool) => ((await timed(() => flood(pool))) / depth) * 1_000,
      });
      variants.push({ variant: `${depth.toLocaleString('en-US')} requests`, figures });
    }
    return variants;
  },
};
