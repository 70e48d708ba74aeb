// Question: what do the looks at an isolate after each lease cost, for a tool of 0, 1 and 10 ms?
//
// The figure is the round trip less the tool's own time. `every` takes the full look after each lease, the default only
// after a failure, a lease of 1 ms or more, and every 16th. piscina does not look.
// What would change our minds: more than a tenth of a 1 ms tool.
import { leasehold, piscina } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

export const question = {
  name: 'looks',
  title: '(g) Round trip less the tool itself',
  unit: 'µs',
  better: 'less',
  reference: 'piscina',
  async measure({ smoke }) {
    const variants = [];
    for (const ms of [0, 1, 10]) {
      const runs = Math.ceil((smoke ? 200 : 2_000) / (1 + ms * 2));
      const serial = async (pool) => {
        for (let run = 0; run < runs; run += 1) await pool.run('spin', ms);
      };
      const figures = await alternate({
        contenders: {
          leasehold: leasehold(),
          'leasehold, every': leasehold({ health: { full: 'every' } }),
          piscina,
        },
        rounds: smoke ? 3 : 9,
        open: { threads: 1 },
        warm: serial,
        figure: async (pool) => ((await timed(() => serial(pool))) / runs - ms) * 1_000,
      });
      variants.push({ variant: `a tool of ${ms} ms`, figures });
    }
    return variants;
  },
};
