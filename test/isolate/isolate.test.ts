/** Isolate: boot, lease, kill and exit of one thread, as keeper and occupant hear of them. */
import { describe, expect, it } from 'vitest';
import { WORD } from '../../src/wire/protocol.ts';
import { settle } from '../support/fake-clock.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { idleRig, isolateRig, RUN } from './isolate-rig.ts';

const EXIT = { code: 7, error: null };

describe('an isolate that boots', () => {
  it('is held open until it is idle', async () => {
    const { isolate, tenure, heard } = isolateRig();
    expect([isolate.state, tenure.held]).toEqual(['booting', true]);
    await settle();
    expect([isolate.state, tenure.held]).toEqual(['idle', false]);
    expect(heard).toEqual(['keeper: idle']);
  });

  it('is killed and counted when its boot fails', async () => {
    const { isolate, tenure, heard } = isolateRig({ boot: () => 'fails' });
    await settle();
    expect([isolate.state, tenure.terminated]).toEqual(['gone', true]);
    expect(heard).toEqual(['keeper: unused death', 'keeper: retiring', 'keeper: gone']);
  });

  it('is counted when its thread dies first', async () => {
    const { isolate, tenure, heard } = isolateRig({ boot: () => 'never' });
    tenure.die(EXIT);
    await settle();
    expect(isolate.state).toBe('gone');
    expect(heard).toEqual(['keeper: unused death', 'keeper: gone']);
  });

  it('may be retired before it is up, without being counted', async () => {
    const { isolate, heard } = isolateRig({ boot: () => 'never' });
    isolate.retire();
    await settle();
    expect(heard).toEqual(['keeper: retiring', 'keeper: gone']);
  });
});

describe('an isolate that is leased', () => {
  it('is held open exactly until the lease is over', async () => {
    const { isolate, tenure, run } = await idleRig();
    const held = [tenure.held];
    await run();
    held.push(tenure.held);
    tenure.value(1);
    await settle();
    held.push(tenure.held);
    isolate.vacate();
    held.push(tenure.held);
    expect(held).toEqual([false, true, true, false]);
    expect(isolate.state).toBe('idle');
  });

  it('counts its leases, and numbers them from 1', async () => {
    const { isolate, tenure, run } = await idleRig();
    for (const seq of [1, 2, 3]) {
      expect(await run()).toBe(seq);
      tenure.value(seq);
      await settle();
      isolate.vacate();
    }
    expect(isolate.leases).toBe(3);
  });

  it('tells its occupant of records of this lease, and of no other', async () => {
    const { isolate, tenure, heard, run } = await idleRig();
    const seq = await run();
    for (const other of [seq - 1, seq + 1]) tenure.emit({ t: 'looked', seq: other, findings: [], heapBytes: null });
    tenure.value(1);
    await settle();
    expect(heard).toEqual(['started', 'settled']);
    isolate.vacate();
    tenure.emit({ t: 'looked', seq, findings: [], heapBytes: null });
    await settle();
    expect(heard).toEqual(['started', 'settled', 'keeper: idle']);
  });

  it('reads what is here when asked, without a turn of the loop', async () => {
    const { isolate, tenure, heard, run } = await idleRig();
    await run();
    tenure.value(1);
    isolate.sweep();
    expect(heard).toEqual(['started', 'settled']);
  });

  it('reads on past what user code posted, whatever that is', async () => {
    const { isolate, tenure, heard, run } = await idleRig({ schedule: 'manual' });
    await run();
    tenure.current = { t: 'run', seq: 1, ...RUN };
    for (const posted of [undefined, null, 0, 'text']) tenure.emitForged(posted);
    tenure.value(1);
    isolate.sweep();
    expect(heard).toEqual([...Array.from({ length: 4 }, () => 'keeper: violation'), 'settled']);
  });

  it('tells a stop by the flag and by a record', async () => {
    const stops: string[] = [];
    const { isolate, tenure, run } = await idleRig({ stop: (_, { kind, reason }) => stops.push(`${kind} ${reason}`) });
    const seq = await run();
    expect(isolate.hasStarted()).toBe(true);
    isolate.tellStop('cancel', 'user left');
    expect(tenure.words[WORD.STOP]).toBe(seq);
    await settle();
    expect(stops).toEqual(['cancel user left']);
  });

  it('gives back the credit of what it reads', async () => {
    const { tenure, run } = await idleRig();
    const seq = await run();
    Atomics.store(tenure.words, WORD.CREDIT, 100);
    tenure.emit({ t: 'progress', seq, value: 1, credit: 40 });
    tenure.emit({ t: 'log', seq, level: 'info', message: 'x', fields: null, dropped: 0, credit: 60 });
    await settle();
    expect(tenure.words[WORD.CREDIT]).toBe(0);
  });

  it('keeps the last three measured heaps', async () => {
    const { isolate } = await idleRig();
    for (const bytes of [1, null, 2, 3, 4]) isolate.noteHeap(bytes);
    expect(isolate.heapHistory).toEqual([2, 3, 4]);
  });
});

describe('the kill of an isolate', () => {
  it('is issued once, and proven by the exit', async () => {
    const { isolate, tenure, heard, clock, run } = await idleRig();
    await run();
    isolate.condemn();
    isolate.condemn();
    isolate.retire();
    expect([isolate.state, tenure.terminated, tenure.held]).toEqual(['quarantined', true, true]);
    await settle();
    expect(heard).toEqual(['started', 'keeper: quarantined', 'exit 1', 'keeper: gone']);
    expect([isolate.state, tenure.closed, clock.pending]).toEqual(['gone', true, 0]);
  });

  it('abandons what does not die within killMs, and holds nothing open for it', async () => {
    const { isolate, tenure, heard, clock, run } = await idleRig({ dies: () => false });
    await run();
    isolate.condemn();
    await clock.advance(99);
    expect(tenure.held).toBe(true);
    await clock.advance(1);
    expect([isolate.state, tenure.held, clock.pending]).toEqual(['abandoned', false, 0]);
    expect(heard.slice(1)).toEqual(['keeper: quarantined', 'abandoned', 'keeper: abandoned']);
  });

  it('sees an abandoned thread end after all', async () => {
    const { isolate, tenure, heard, clock } = await idleRig({ dies: () => false });
    isolate.retire();
    await clock.advance(100);
    tenure.die(EXIT);
    await settle();
    expect([isolate.state, tenure.closed]).toEqual(['gone', true]);
    expect(heard).toEqual(['keeper: retiring', 'keeper: abandoned', 'keeper: gone']);
  });

  it('is waited for no longer once it is hurried, and never longer than killMs', async () => {
    const { isolate, clock } = await idleRig({ dies: () => false });
    isolate.hurryKill(1);
    expect(clock.pending).toBe(0);
    isolate.retire();
    isolate.hurryKill(20);
    isolate.hurryKill(1_000_000);
    isolate.hurryKill(20);
    await clock.advance(20);
    expect(isolate.state).toBe('abandoned');
    isolate.hurryKill(5);
    expect(clock.pending).toBe(0);
  });

  it('tells nobody of the end once the occupant has let go', async () => {
    const { isolate, heard, run } = await idleRig();
    await run();
    isolate.disown();
    isolate.condemn();
    await settle();
    expect(heard).toEqual(['started', 'keeper: quarantined', 'keeper: gone']);
  });

  it('reads what was posted before it counts as abandoned', async () => {
    const { isolate, tenure, heard, clock, run } = await idleRig({ dies: () => false, schedule: 'manual' });
    await run();
    tenure.deliver();
    isolate.condemn();
    tenure.value('late');
    await clock.advance(100);
    expect(heard.filter((word) => !word.startsWith('keeper'))).toEqual(['started', 'settled', 'abandoned']);
  });
});

describe('the exit of an isolate', () => {
  it('is heard after every record that came before it', async () => {
    const { tenure, heard, run } = await idleRig();
    await run();
    tenure.value(1);
    tenure.die(EXIT);
    await settle();
    expect(heard).toEqual(['started', 'settled', 'exit 7', 'keeper: gone']);
  });

  it('of an idle one that never served is counted, of one that served is not', async () => {
    const fresh = await idleRig();
    fresh.tenure.die(EXIT);
    await settle();
    expect(fresh.heard).toEqual(['keeper: unused death', 'keeper: gone']);
    const used = await idleRig();
    await used.run();
    used.tenure.value(1);
    await settle();
    used.isolate.vacate();
    used.tenure.die(EXIT);
    await settle();
    expect(used.heard.slice(-2)).toEqual(['keeper: idle', 'keeper: gone']);
  });

  it('rejects hooks that are still awaited', async () => {
    const { isolate, tenure, run } = await idleRig();
    const seq = await run();
    const reset = isolate.hooks().reset(seq);
    tenure.die(EXIT);
    await expect(reset).rejects.toThrow('the isolate has ended');
  });
});

describe('a record without the nonce', () => {
  it('is a violation, and condemns at once while idle', async () => {
    const { isolate, tenure, heard } = await idleRig();
    tenure.emitForged({ t: 'settled', n: 'guessed', seq: 1 });
    await settle();
    expect([isolate.state, tenure.exit?.code]).toEqual(['gone', 1]);
    expect(heard).toEqual(['keeper: violation', 'keeper: quarantined', 'keeper: gone']);
  });

  it('is kept as a finding while leased, for the end of the lease', async () => {
    const { isolate, tenure, heard, run } = await idleRig();
    await run();
    tenure.emitForged(null);
    await settle();
    expect(isolate.state).toBe('leased');
    expect(isolate.found).toEqual([{ kind: 'nonce-violation' }]);
    expect(heard).toEqual(['started', 'keeper: violation']);
  });
});

describe('what is seen of an isolate while leased', () => {
  it('is kept once per kind, however often it is seen', async () => {
    const { isolate, tenure, heard, run } = await idleRig();
    await run();
    for (let time = 0; time < 1_000; time += 1) tenure.emitForged(time);
    tenure.fatal();
    tenure.fatal();
    await settle();
    expect(isolate.found.map(({ kind }) => kind)).toEqual(['nonce-violation', 'late-error']);
    expect(heard.filter((word) => word === 'keeper: violation')).toHaveLength(1_000);
  });
});

describe('an error that nothing caught', () => {
  it('condemns an idle isolate', async () => {
    const { isolate, tenure } = await idleRig();
    tenure.emit({ t: 'fatal', seq: 0, failure: FAILURE });
    await settle();
    expect(isolate.state).toBe('gone');
  });

  it('is told to the occupant and kept as a finding', async () => {
    const { isolate, tenure, heard, run } = await idleRig();
    await run();
    tenure.fatal();
    await settle();
    expect(heard).toEqual(['started', 'fatal']);
    expect(isolate.found).toEqual([{ kind: 'late-error', detail: 'nobody caught this' }]);
  });
});

describe('the machine of an isolate', () => {
  it('meets no impossible event on any of these ways', async () => {
    const { isolate, tenure, clock, violations, run } = await idleRig({ dies: () => false });
    await run();
    tenure.value(1);
    await settle();
    isolate.release();
    isolate.vacate();
    isolate.condemn();
    await clock.advance(100);
    tenure.die(EXIT);
    await settle();
    expect(violations).toEqual([]);
  });
});
