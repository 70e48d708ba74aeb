// Question: what does a control cost a request that does not use it, and a channel that nobody listens to?
//
// The figure is the round trip of an empty task. Unused: options that select nothing. No subscriber: one that came and went.
// The others are in use, for scale. A round's figure is its quietest slice of ten: differences this small drown in neighbours.
// What would change our minds: more than 3 % for what is not used.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { leasehold } from './support/contenders.mjs';
import { alternate, timed } from './support/rounds.mjs';

const WORDS = ['request', 'lease', 'attempt', 'stop', 'isolate', 'supervisor'];
const hear = () => undefined;
const each = (change) => {
  for (const word of WORDS) change(`leasehold:${word}`, hear);
};

/** Leasehold with the same options for every run. */
const given = (runOptions) => (open) => {
  const pool = leasehold()(open);
  return { ...pool, run: (task, argument) => pool.run(task, argument, runOptions) };
};
/** Leasehold with something done around each measurement. */
const around = (before, after) => (open) => ({ ...leasehold()(open), before, after });

const gone = () => {
  each(subscribe);
  each(unsubscribe);
};
const observers = [{ onEvent: hear }];
const UNUSED = { operationTimeoutMs: 0, retry: undefined, repair: undefined, group: undefined, observers: [] };

export const question = {
  name: 'controls',
  title: '(i) Round trip of an empty task, with controls',
  unit: 'µs',
  better: 'less',
  reference: 'leasehold',
  targets: [
    { variant: '', contender: 'controls unused', atMost: 1.03 },
    { variant: '', contender: 'channels, no subscriber', atMost: 1.03 },
  ],
  async measure({ smoke }) {
    const runs = smoke ? 50 : 500;
    const serial = async (pool) => {
      for (let run = 0; run < runs; run += 1) await pool.run('empty');
    };
    const figures = await alternate({
      contenders: {
        leasehold: leasehold(),
        'controls unused': given(UNUSED),
        'channels, no subscriber': around(gone),
        'operation timeout': given({ operationTimeoutMs: 60_000 }),
        'one retry allowed': given({ retry: { attempts: 2 } }),
        'a group': given({ group: 'bench' }),
        'an observer': given({ observers }),
        'channels, one subscriber': around(
          () => each(subscribe),
          () => each(unsubscribe),
        ),
      },
      rounds: smoke ? 3 : 9,
      open: { threads: 1 },
      warm: serial,
      async figure(pool) {
        pool.before?.();
        const slices = [];
        for (let slice = 0; slice < 10; slice += 1) slices.push(await timed(() => serial(pool)));
        pool.after?.();
        return (Math.min(...slices) / runs) * 1_000;
      },
    });
    return [{ variant: '', figures }];
  },
};
