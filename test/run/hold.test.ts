/** Hold: the recall handshake, and a kill that is issued once. */
import { describe, expect, it } from 'vitest';
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { Isolate } from '../../src/isolate/isolate.ts';
import type { Occupant } from '../../src/isolate/occupant.ts';
import { Hold } from '../../src/run/hold.ts';
import { WORD } from '../../src/wire/protocol.ts';
import { RUN } from '../isolate/isolate-rig.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeTenure, type Far } from '../support/fake-tenure.ts';

async function held(far: Far = {}) {
  const clock = new FakeClock();
  const tenure = new FakeTenure(far, 0);
  const heard: string[] = [];
  const occupant: Occupant = {
    calls: {} as Occupant['calls'],
    onRecord: ({ t }) => heard.push(t),
    onExit: () => heard.push('exit'),
    onAbandoned: () => heard.push('abandoned'),
    onLate: () => undefined,
  };
  const keeper = {
    onIsolateChange: () => undefined,
    onUnusedDeath: () => undefined,
    onProtocolViolation: () => undefined,
  };
  const actors = new ActorTree('supervisor-1', () => undefined, null);
  const isolate = new Isolate({ kind: 'thread', clock, killMs: 100, actors, keeper, condemns: () => true }, tenure);
  await settle();
  return { clock, tenure, heard, isolate, hold: new Hold(isolate, occupant, clock.now()) };
}

describe('Hold', () => {
  it('occupies its isolate under the next number, and has not started', async () => {
    const { isolate, hold } = await held();
    expect([isolate.state, hold.seq, hold.hasStarted, hold.killed]).toEqual(['leased', 1, false, false]);
  });

  it('has not started while nothing was posted, whatever the words say', async () => {
    const { tenure, hold } = await held();
    Atomics.store(tenure.words, WORD.STARTED, 1);
    expect(hold.hasStarted).toBe(false);
  });

  it('starts when the isolate takes the run up', async () => {
    const { hold } = await held();
    hold.post({ ...RUN, t: 'run', seq: hold.seq }, []);
    expect(hold.hasStarted).toBe(false);
    await settle();
    expect(hold.hasStarted).toBe(true);
  });

  it('takes back a run that was not posted without a word to the isolate', async () => {
    const { tenure, hold } = await held();
    expect(hold.recall('cancel')).toBe(true);
    expect(tenure.words[WORD.STOP]).toBe(0);
  });

  it('takes back a run the isolate has not begun, which then never runs', async () => {
    const { tenure, hold } = await held({ schedule: 'manual' });
    hold.post({ ...RUN, t: 'run', seq: hold.seq }, []);
    expect(hold.recall('cancel')).toBe(true);
    tenure.deliver();
    expect(tenure.runs).toBe(0);
  });

  it('cannot take back a run the isolate has begun', async () => {
    const { tenure, hold } = await held();
    hold.post({ ...RUN, t: 'run', seq: hold.seq }, []);
    await settle();
    expect(hold.recall('cancel')).toBe(false);
    expect(tenure.runs).toBe(1);
    expect(tenure.words[WORD.STOP]).toBe(hold.seq);
  });

  it('kills once, within what is left', async () => {
    const { clock, tenure, heard, isolate, hold } = await held({ dies: () => false });
    hold.kill(30);
    expect([hold.killed, tenure.terminated, isolate.state]).toEqual([true, true, 'quarantined']);
    await clock.advance(29);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard).toEqual(['abandoned']);
    expect(isolate.state).toBe('abandoned');
  });

  it('waits no longer than killMs for a kill that has more time', async () => {
    const { clock, heard, hold } = await held({ dies: () => false });
    hold.kill(100_000);
    await clock.advance(100);
    expect(heard).toEqual(['abandoned']);
  });

  it('leaves nothing posted when the input cannot be cloned', async () => {
    const { tenure, isolate, hold } = await held();
    tenure.post = () => {
      throw new DOMException('no clone', 'DataCloneError');
    };
    expect(() => hold.post({ ...RUN, t: 'run', seq: hold.seq }, [])).toThrow('no clone');
    expect([hold.hasStarted, isolate.leases]).toEqual([false, 0]);
  });
});
