// Question: a busy loop holds the only thread; its deadline comes. How long until the next run has its answer?
//
// What would change our minds: more than a quarter of piscina's time with a standby means that the spare isolate is not
// worth its memory. poolifier and jest-worker are absent: the one never frees the thread, the other cannot cancel.
import { leasehold, piscina, tinypool, workerpoolThreads } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

export const question = {
  name: 'capacity-after-a-hang',
  title: "(c) From a busy loop's deadline to the next answer, on one isolate",
  unit: 'ms',
  better: 'less',
  reference: 'piscina',
  targets: [{ variant: '', contender: 'leasehold, standby 1', atMost: 0.25 }],
  async measure({ smoke }) {
    const figures = await alternate({
      contenders: {
        'leasehold, standby 1': leasehold({ standby: 1 }),
        'leasehold, standby 0': leasehold({ standby: 0 }),
        piscina,
        tinypool,
        workerpool: workerpoolThreads,
      },
      rounds: smoke ? 3 : 15,
      open: { threads: 1 },
      warm: (pool) => pool.run('empty'),
      async figure(pool) {
        const started = new SharedArrayBuffer(4);
        const deadline = new AbortController();
        const hung = pool.run('hang', started, { signal: deadline.signal }).then(null, () => {});
        while (Atomics.load(new Int32Array(started), 0) === 0) await pause(2);
        const figure = await timed(() => {
          deadline.abort();
          return pool.run('empty');
        });
        await hung;
        // The spare boots in the background; what is measured next must not meet that.
        do await pause(50);
        while (pool.whole?.() === false);
        return figure;
      },
    });
    return [{ variant: '', figures }];
  },
};
