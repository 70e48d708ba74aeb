/**
 * A fleet on fake tenures, with what its owner was told.
 *
 * Invariant: the clock is fake, so a bound passes when the test says so. Deliberately absent: expectations.
 */
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { Fleet } from '../../src/isolate/fleet.ts';
import type { FleetShape } from '../../src/isolate/fleet-shape.ts';
import type { Isolate } from '../../src/isolate/isolate.ts';
import type { Occupant } from '../../src/isolate/occupant.ts';
import { parseSupervisorOptions, type SupervisorOptions } from '../../src/model/options.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeTenures, type Far } from '../support/fake-tenure.ts';
import { RUN } from './isolate-rig.ts';

export const OCCUPANT: Occupant = {
  calls: {} as Occupant['calls'],
  onRecord: () => undefined,
  onExit: () => undefined,
  onAbandoned: () => undefined,
  onLate: () => undefined,
};
export const ACME = { tenant: 'acme', tool: 'render' };

export async function openedFleet(
  options: Partial<SupervisorOptions> = {},
  far: Far = {},
  shaped: Partial<FleetShape> = {},
) {
  const clock = new FakeClock();
  const tenures = new FakeTenures(far);
  const told: string[] = [];
  const seen = { capacity: 0, awaited: false, waiting: 0 };
  const config = parseSupervisorOptions({ isolates: 2, standby: 1, clock, defaults: { killMs: 100 }, ...options });
  const actors = new ActorTree('supervisor-1', () => told.push('impossible event'), null);
  const { isolates: leases, standby, share } = config;
  const shape: FleetShape = {
    ...{
      kind: 'thread',
      leases,
      standby,
      isEager: true,
      isOnce: false,
      share,
      keepsPlace: false,
      killMs: 100,
      source: tenures,
    },
    ...shaped,
  };
  const fleet: Fleet = new Fleet(config, shape, actors, {
    onCapacity: () => (seen.capacity += 1),
    onViolation: () => told.push('violation'),
    onIsolateEvent: (type) => told.push(type),
    onImpairment: () => told.push(fleet.impairment ?? 'healed'),
    waiting: () => seen.waiting,
    mayHold: () => true,
    mayBoot: () => true,
    isAwaited: () => seen.awaited,
  });
  fleet.fill();
  await settle();
  /** Leases one and starts a run on it. */
  const lease = (request = ACME): Isolate => {
    const isolate = fleet.acquire(request);
    if (isolate === null) throw new Error('no isolate');
    isolate.run({ t: 'run', seq: isolate.occupy(OCCUPANT), ...RUN }, []);
    return isolate;
  };
  /** One whole lease. */
  const serve = async (request = ACME, heapBytes: number | null = null): Promise<Isolate> => {
    const isolate = lease(request);
    await settle();
    isolate.noteHeap(heapBytes);
    isolate.vacate();
    await settle();
    return isolate;
  };
  return { clock, tenures, told, seen, fleet, lease, serve };
}
