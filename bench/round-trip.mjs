// Question: how long does one caller wait for a tiny task, one after the other?
//
// What would change our minds: more than 1.25 times piscina's time means that supervision is felt by those who call a
// tool in a loop, and the fast path must be looked at before anything else.
import { everyone } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

export const question = {
  name: 'round-trip',
  title: '(a) Serial round trip of a small addition',
  unit: 'µs',
  better: 'less',
  reference: 'piscina',
  targets: [{ variant: '', contender: 'leasehold', atMost: 1.25 }],
  async measure({ smoke }) {
    const runs = smoke ? 200 : 4_000;
    const serial = async (pool, count) => {
      for (let run = 0; run < count; run += 1) await pool.run('add', { a: run, b: 1 });
    };
    const figures = await alternate({
      contenders: everyone,
      rounds: smoke ? 3 : 9,
      open: { threads: 1 },
      warm: (pool) => serial(pool, runs),
      figure: async (pool) => ((await timed(() => serial(pool, runs))) / runs) * 1_000,
    });
    return [{ variant: '', figures }];
  },
};
