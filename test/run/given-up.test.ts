/** A start that is given up on a process: its lease stays where it is until its end shows whether it ever began. */
import { describe, expect, it } from 'vitest';
import { WORD } from '../../src/wire/protocol.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { requestRig } from './request-rig.ts';

const EXIT = { code: 1, error: null };
const LOST = ['queued', 'acquired', 'queued'];

/** Its isolates hear and tell only when they are delivered to. */
const manual = { ...obedientFar, schedule: 'manual' as const };

describe('a start that is given up where no words are shared', () => {
  /** The first isolate is a process that has said nothing for as long as a start may take. */
  async function givenUp(effects: 'none' | 'opaque', transfer: ArrayBuffer[] = []) {
    const rig = await requestRig(manual, { standby: 1, defaults: { startMs: 50, killMs: 100 } });
    for (const tenure of rig.tenures.all) Object.assign(tenure, { sharesWords: false });
    await rig.run(fakeTool(effects), 'value', { transfer });
    const tenure = rig.leased();
    await rig.clock.advance(50);
    expect([tenure.terminated, rig.ended]).toEqual([true, []]);
    const elsewhere = async () => {
      for (const other of rig.tenures.alive) other.deliver();
      await settle();
      for (const other of rig.tenures.alive) other.deliver();
      await settle();
    };
    return { rig, tenure, elsewhere };
  }

  it.each(['none', 'opaque'] as const)(
    'runs elsewhere when its end proves that it never began: %s',
    async (effects) => {
      const { rig, tenure, elsewhere } = await givenUp(effects, [new ArrayBuffer(8)]);
      tenure.die(EXIT);
      tenure.deliver();
      await elsewhere();
      expect(rig.ended).toMatchObject([{ status: 'succeeded', cause: null, also: [] }]);
      expect(rig.ended[0]?.lease?.path.slice(0, 5)).toEqual([...LOST, 'acquired', 'running']);
      expect([tenure.runs, rig.runs()]).toEqual([0, 1]);
      await closeFake(rig);
    },
  );

  it.each([
    ['none', 'interrupted'],
    ['opaque', 'indeterminate'],
  ] as const)('is lease-unavailable when its end shows that it had begun: %s', async (effects, status) => {
    const { rig, tenure, elsewhere } = await givenUp(effects);
    Atomics.store(tenure.words, WORD.STARTED, 1);
    tenure.emit({ t: 'started', seq: 1 });
    tenure.die(EXIT);
    tenure.deliver();
    await elsewhere();
    expect(rig.ended).toMatchObject([{ status, cause: { kind: 'lease-unavailable' }, also: [] }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it.each([
    ['none', 'interrupted'],
    ['opaque', 'indeterminate'],
  ] as const)('counts as begun when its end is not seen in time: %s', async (effects, status) => {
    const { rig } = await givenUp(effects);
    await rig.clock.advance(10_000);
    expect(rig.ended).toMatchObject([{ status, cause: { kind: 'lease-unavailable' } }]);
    expect(rig.supervisor.statistics()).toMatchObject({ isolates: { abandoned: 1 }, protocolViolations: 0 });
    await closeFake(rig);
  });
});
