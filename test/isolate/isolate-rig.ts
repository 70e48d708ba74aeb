/**
 * One isolate on a fake tenure and clock, with everything its keeper and its occupant hear.
 *
 * Invariant: what was heard is a list of words in order. Deliberately absent: fleets and attempts.
 */
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { Isolate } from '../../src/isolate/isolate.ts';
import type { Occupant } from '../../src/isolate/occupant.ts';
import type { TenureExit, TenureListener } from '../../src/isolate/tenure.ts';
import type { RunMessage } from '../../src/wire/protocol.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeTenure, type Far } from '../support/fake-tenure.ts';

const ctx = {
  tenant: 'acme',
  run: 'r',
  branch: 'main',
  requestId: 'req-1',
  attempt: 1,
  trace: { traceparent: '' },
  remainingMs: 1,
};
export const RUN = { module: 'file:///fake.mjs', exportName: 'default', effects: 'none', input: 1, ctx } as const;

export function isolateRig(far: Far = {}, condemns: () => boolean = () => true) {
  const clock = new FakeClock();
  const tenure = new FakeTenure(far, 0);
  const heard: string[] = [];
  const violations: unknown[] = [];
  const occupant: Occupant = {
    calls: {} as Occupant['calls'],
    onRecord: ({ t }) => heard.push(t),
    onExit: ({ code }) => heard.push(`exit ${code}`),
    onAbandoned: () => heard.push('abandoned'),
    onLate: ({ t }) => heard.push(`late ${t}`),
  };
  const keeper = {
    onIsolateChange: ({ state }: Isolate) => heard.push(`keeper: ${state}`),
    onUnusedDeath: () => heard.push('keeper: unused death'),
    onProtocolViolation: () => heard.push('keeper: violation'),
  };
  const actors = new ActorTree('supervisor-1', () => violations.push(null), null);
  let listener: TenureListener | null = null;
  const { listen } = tenure;
  tenure.listen = (hears) => {
    listener = hears;
    listen.call(tenure, hears);
  };
  /** It has ended, and left something behind. */
  const remains = (exit: TenureExit, reason: string) => listener?.onRemains?.(exit, reason);
  const isolate = new Isolate({ kind: 'thread', clock, killMs: 100, actors, keeper, condemns }, tenure);
  /** Leases it and starts a run on it. */
  const run = async (message: Partial<RunMessage> = {}) => {
    const seq = isolate.occupy(occupant);
    isolate.run({ t: 'run', seq, ...RUN, ...message }, []);
    await settle();
    return seq;
  };
  return { clock, tenure, heard, violations, occupant, isolate, run, remains };
}

/** The same, booted and idle, with a clean list. */
export async function idleRig(far: Far = {}) {
  const rig = isolateRig(far);
  await settle();
  rig.heard.length = 0;
  return rig;
}
