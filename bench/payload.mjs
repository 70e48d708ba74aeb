// Question: what does it cost to hand a run 1 KB or 1 MB, cloned or transferred?
//
// What would change our minds: a difference to piscina that grows with the size means that we copy once too often.
import { everyone } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

export const question = {
  name: 'payload',
  title: '(d) Serial round trip with a payload',
  unit: 'µs',
  better: 'less',
  reference: 'piscina',
  async measure({ smoke }) {
    const { 'jest-worker': _cannotTransfer, ...ableToTransfer } = everyone;
    const variants = [];
    for (const [size, words] of [
      [1_024, '1 KB'],
      [1_048_576, '1 MB'],
    ]) {
      for (const moved of [false, true]) {
        const runs = (smoke ? 30 : 300) * (size > 10_000 ? 1 : 5);
        const serial = async (pool) => {
          for (let run = 0; run < runs; run += 1) {
            const bytes = new Uint8Array(size);
            await pool.run('measureBytes', bytes, moved ? { transfer: [bytes.buffer] } : undefined);
          }
        };
        const figures = await alternate({
          contenders: moved ? ableToTransfer : everyone,
          rounds: smoke ? 3 : 7,
          open: { threads: 1 },
          warm: serial,
          figure: async (pool) => ((await timed(() => serial(pool))) / runs) * 1_000,
        });
        variants.push({ variant: `${words}, ${moved ? 'transferred' : 'cloned'}`, figures });
      }
    }
    return variants;
  },
};
