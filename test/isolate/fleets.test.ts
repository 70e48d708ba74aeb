/**
 * Fleets: what the lanes of one kind share, and what a lane that cannot serve costs the others.
 *
 * Invariants: a fake clock, fake tenures of each lane's own far side. Deliberately absent: the queue, played by a list.
 */
import { describe, expect, it } from 'vitest';
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { Fleets } from '../../src/isolate/fleets.ts';
import type { Isolate } from '../../src/isolate/isolate.ts';
import { parseSupervisorOptions, type SupervisorOptions } from '../../src/model/options.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { fakeTool } from '../support/fake-host.ts';
import { FakeTenures, type Far } from '../support/fake-tenure.ts';
import { OCCUPANT } from './fleet-rig.ts';
import { RUN } from './isolate-rig.ts';

/** Lanes of processes with permissions, told apart by a letter. `farOf`: how the processes of one behave. */
async function opened(options: Partial<SupervisorOptions>, farOf: (lane: string) => Far = () => ({})) {
  const clock = new FakeClock();
  const sources = new Map<string, FakeTenures>();
  const made: string[] = [];
  const impairments: (string | null)[] = [];
  const waiting: string[] = [];
  const config = parseSupervisorOptions({ isolates: 1, standby: 1, clock, ...options });
  const actors = new ActorTree('supervisor-1', () => undefined, null);
  const fleets = new Fleets(
    config,
    new FakeTenures(farOf('thread')),
    actors,
    {
      onCapacity: () => undefined,
      onViolation: () => undefined,
      onIsolateEvent: () => undefined,
      onImpairment: (reason) => impairments.push(reason),
      isAwaited: () => false,
      waiting: (lane) => waiting.filter((one) => one === lane).length,
      waitingBeside: (lane) => waiting.filter((one) => one !== lane).length,
    },
    (lane) => {
      const source = new FakeTenures(farOf(lane));
      sources.set(lane, source);
      made.push(lane);
      const { limits, standby } = config;
      const kept = { standby, isEager: false, isOnce: false, share: 'any', keepsPlace: false } as const;
      return { ...kept, kind: 'process', leases: limits.process, killMs: 100, source };
    },
  );
  fleets.fill();
  await settle();
  const laneOf = (letter: string) => `process ${letter}`;
  const acquire = (letter: string) =>
    fleets.acquire({ lane: laneOf(letter), tenant: 'acme', definition: fakeTool() as never });
  /** Waits in line until an isolate is granted, and starts a run on it. */
  const lease = async (letter: string): Promise<Isolate> => {
    let isolate = acquire(letter);
    waiting.push(laneOf(letter));
    await settle();
    isolate ??= acquire(letter);
    waiting.pop();
    if (isolate === null) throw new Error('no isolate');
    isolate.run({ t: 'run', seq: isolate.occupy(OCCUPANT), ...RUN }, []);
    return isolate;
  };
  const serve = async (letter: string): Promise<Isolate> => {
    const isolate = await lease(letter);
    isolate.vacate();
    await settle();
    await clock.advance(30);
    return isolate;
  };
  const booted = () => [...sources.values()].reduce((sum, { all }) => sum + all.length, 0);
  const free = (letter: string) => fleets.free(laneOf(letter));
  return { clock, fleets, sources, made, impairments, waiting, acquire, lease, serve, booted, free, laneOf };
}

describe('two lanes that share a limit', () => {
  it('keep their isolates when they are asked in turn, at the cost of no standby', async () => {
    const rig = await opened({ limits: { process: 1 } });
    for (const letter of ['a', 'b', 'a', 'b', 'a', 'b']) await rig.serve(letter);
    // One for each, and the first one's standby.
    expect(rig.booted()).toBe(3);
    await rig.fleets.close(0);
  });

  it('count as free what neither holds nor wants', async () => {
    const rig = await opened({ limits: { process: 2 } });
    expect([rig.free('a'), rig.free('b')]).toEqual([2, 2]);
    rig.waiting.push(rig.laneOf('a'));
    expect([rig.free('a'), rig.free('b')]).toEqual([2, 1]);
    rig.waiting.push(rig.laneOf('a'));
    expect(rig.free('b')).toBe(0);
    rig.waiting.length = 0;
    await rig.lease('a');
    expect([rig.free('a'), rig.free('b')]).toEqual([1, 1]);
    await rig.fleets.close(0);
  });
});

describe('a lane that nobody has asked yet', () => {
  it('costs nothing to look at', async () => {
    const rig = await opened({});
    rig.free('a');
    expect([rig.fleets.isShut('process a'), rig.sources.size]).toEqual([false, 0]);
    await rig.fleets.close(0);
  });
});

describe('lanes at rest', () => {
  it('are forgotten, so that any number of permissions leaves as many as are in use', async () => {
    const rig = await opened({ limits: { process: 1 }, standby: 0 });
    for (let number = 0; number < 50; number += 1) await rig.serve(`tenant-${number}`);
    expect([rig.sources.size, rig.fleets.lanes]).toEqual([50, 3]);
    expect(rig.fleets.count()).toMatchObject({ idle: 2 });
    await rig.fleets.close(0);
  });

  it('stay while somebody waits, or while what they booted has died', async () => {
    const rig = await opened({ limits: { process: 1 }, standby: 0 }, (lane) => ({
      boot: () => (lane.endsWith('broken') ? 'fails' : 'ready'),
    }));
    rig.acquire('broken');
    await settle();
    await rig.lease('held');
    rig.waiting.push(rig.laneOf('wanted'));
    for (const letter of ['wanted', 'a', 'b', 'broken', 'wanted', 'a']) rig.acquire(letter);
    const times = (letter: string) => rig.made.filter((lane) => lane === rig.laneOf(letter)).length;
    expect(['broken', 'held', 'wanted', 'a'].map(times)).toEqual([1, 1, 1, 2]);
    await rig.fleets.close(0);
  });
});

describe('a lane whose isolates die before they serve', () => {
  const broken = (lane: string): Far => ({ boot: () => (lane === 'process a' ? 'fails' : 'ready') });
  const restart = { maxReplacements: 2, withinMs: 1_000 };

  it('is shut alone, and opens again', async () => {
    const rig = await opened({ restart }, broken);
    rig.waiting.push(rig.laneOf('a'));
    rig.acquire('a');
    for (let step = 0; step < 20; step += 1) await rig.clock.advance(10);
    expect([rig.fleets.isShut('process a'), rig.fleets.isShut('process b'), rig.impairments]).toEqual([
      true,
      false,
      [],
    ]);
    await rig.lease('b');
    rig.waiting.length = 0;
    await rig.clock.advance(5_000);
    expect(rig.fleets.isShut('process a')).toBe(false);
    await rig.fleets.close(0);
  });

  it('of threads impairs the supervisor', async () => {
    const rig = await opened({ restart }, () => ({ boot: () => 'fails' }));
    for (let step = 0; step < 20; step += 1) await rig.clock.advance(10);
    expect(rig.impairments).toEqual(['isolates die before they serve']);
    await rig.fleets.close(0);
  });
});
