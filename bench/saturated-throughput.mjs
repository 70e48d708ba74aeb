// Question: how many empty tasks per second pass when there is always one waiting?
//
// What would change our minds: less than 0.9 times piscina's rate on one isolate means that the host spends more on a
// lease than it saves elsewhere; then leases have to be sent ahead to busy isolates.
import { everyone } from './support/contenders.mjs';
import { alternate, keepBusy, timed } from './support/rounds.mjs';

export const question = {
  name: 'saturated-throughput',
  title: '(b) Saturated throughput of an empty task, 64 in flight',
  unit: 'runs/s',
  better: 'more',
  reference: 'piscina',
  targets: [{ variant: '1 isolate', contender: 'leasehold', atLeast: 0.9 }],
  async measure({ smoke }) {
    const runs = smoke ? 1_000 : 10_000;
    const variants = [];
    for (const threads of [1, 2]) {
      const figures = await alternate({
        contenders: everyone,
        rounds: smoke ? 3 : 9,
        open: { threads },
        warm: (pool) => keepBusy(pool, runs, 64, 'empty'),
        figure: async (pool) => (runs / (await timed(() => keepBusy(pool, runs, 64, 'empty')))) * 1_000,
      });
      variants.push({ variant: threads === 1 ? '1 isolate' : '2 isolates', figures });
    }
    return variants;
  },
};
