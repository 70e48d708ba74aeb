// Question: what does one lease take from the host: time of its loop, and bytes of its heap?
//
// Time is the active time of the host's loop while empty tasks run one after the other; what isolates do is not in it.
// Bytes are the heap's growth, after collections, by requests that wait, and by results that are kept.
// What would change our minds: 50 µs a lease, or 10 KB a waiting request.
import { leasehold, piscina } from './support/contenders.mjs';
import { alternate, collectGarbage } from './support/rounds.mjs';

const { eventLoopUtilization } = performance;

async function heapBytes() {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}

export const question = {
  name: 'host-cost',
  title: '(e) What one lease takes from the host',
  unit: 'µs of the loop, or bytes',
  better: 'less',
  reference: 'piscina',
  async measure({ smoke }) {
    const runs = smoke ? 500 : 5_000;
    const waiting = smoke ? 500 : 5_000;
    const contenders = { leasehold: leasehold(), piscina };
    const open = { threads: 1, capacity: 10_000 };
    const warm = async (pool) => {
      for (let run = 0; run < runs; run += 1) await pool.run('empty');
    };
    const active = await alternate({
      contenders,
      rounds: smoke ? 3 : 9,
      open,
      warm,
      async figure(pool) {
        const before = eventLoopUtilization.call(performance);
        for (let run = 0; run < runs; run += 1) await pool.run('empty');
        return (eventLoopUtilization.call(performance, before).active / runs) * 1_000;
      },
    });
    const queued = await alternate({
      contenders,
      rounds: smoke ? 2 : 5,
      open,
      warm,
      async figure(pool) {
        const busy = pool.run('spin', smoke ? 500 : 1_500);
        const before = await heapBytes();
        const runsWaiting = Array.from({ length: waiting }, () => pool.run('empty'));
        const bytes = ((await heapBytes()) - before) / waiting;
        await busy;
        await Promise.all(runsWaiting);
        return bytes;
      },
    });
    return [
      { variant: 'loop time, µs', figures: active },
      { variant: 'a waiting request, bytes', figures: queued },
    ];
  },
};
