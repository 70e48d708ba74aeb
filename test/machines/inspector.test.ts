/**
 * Stately's inspector over compiled actors: one tree, and each chart and path as they truly are.
 *
 * Invariant: what is compared comes out of the adapter alone. Deliberately absent: the inspector's page and its relay.
 */
import { createInspector } from '@statelyai/inspect';
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import {
  isolateLogic,
  isolateMachine,
  leaseLogic,
  leaseMachine,
  supervisorLogic,
  supervisorMachine,
} from '../../machines/index.ts';
import { chartOf, InspectRecorder } from '../support/inspect-recorder.ts';

/** A supervisor with an isolate that serves two leases; the second one quarantines it. */
function livedSupervisor(recorder: InspectRecorder): void {
  const { inspect } = createInspector(recorder);
  const parent = createActor(supervisorLogic, { id: 'supervisor-1', inspect }).start();
  parent.send({ type: 'OPENED' });
  const isolate = createActor(isolateLogic, { parent, id: 'isolate-1', systemId: 'isolate-1' }).start();
  isolate.send({ type: 'BOOTED' });

  parent.send({ type: 'REQUEST', request: 'req-1' });
  const clean = createActor(leaseLogic, { parent, id: 'lease-1', systemId: 'lease-1' }).start();
  clean.send({ type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' });
  isolate.send({ type: 'LEASED' });
  for (const type of ['STARTED', 'SETTLED', 'CLEAN'] as const) clean.send({ type });
  for (const type of ['RELEASED', 'FIT'] as const) isolate.send({ type });

  const hung = createActor(leaseLogic, { parent, id: 'lease-2', systemId: 'lease-2' }).start();
  hung.send({ type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' });
  isolate.send({ type: 'LEASED' });
  hung.send({ type: 'STARTED' });
  hung.send({ type: 'STOP', kind: 'run-timeout' });
  for (const type of ['CONDEMNED', 'RETIRE', 'EXITED'] as const) isolate.send({ type });
  for (const type of ['EXITED', 'CLEAN'] as const) hung.send({ type });
  for (const type of ['DRAIN', 'CLOSE', 'CLOSED'] as const) parent.send({ type });
}

async function inspected() {
  const recorder = new InspectRecorder();
  livedSupervisor(recorder);
  await recorder.until(({ type, ...event }) => {
    if (type !== '@xstate.snapshot' || !('snapshot' in event)) return false;
    const { value } = event.snapshot as unknown as { value: unknown };
    return value === 'closed';
  });
  return recorder.actors();
}

describe('createInspector', () => {
  it('shows the supervisor, its isolate and its leases as one tree', async () => {
    expect((await inspected()).map(({ name, parent }) => [name, parent])).toEqual([
      ['supervisor-1', null],
      ['isolate-1', 'supervisor-1'],
      ['lease-1', 'supervisor-1'],
      ['lease-2', 'supervisor-1'],
    ]);
  });

  it('draws each chart as it was authored', async () => {
    const charts = (await inspected()).map(({ chart }) => chart);
    const lease = chartOf(leaseMachine);
    expect(charts).toEqual([chartOf(supervisorMachine), chartOf(isolateMachine), lease, lease]);
    expect(lease).toContain('acquired LOST queued');
  });

  it('follows each actor on its path', async () => {
    expect((await inspected()).map(({ path }) => path)).toEqual([
      ['opening', 'open', 'draining', 'closing', 'closed'],
      ['booting', 'idle', 'leased', 'resetting', 'idle', 'leased', 'quarantined', 'retiring', 'gone'],
      ['queued', 'acquired', 'running', 'draining', 'completed'],
      ['queued', 'acquired', 'running', 'terminating', 'draining', 'quarantined'],
    ]);
  });

  it('shows the events of an actor, and the last value, context and status', async () => {
    const hung = (await inspected()).find(({ name }) => name === 'lease-2');
    expect(hung?.events).toEqual(['xstate.init', 'GRANTED', 'STARTED', 'STOP', 'EXITED', 'CLEAN']);
    expect(hung?.last).toEqual({
      status: 'done',
      value: 'quarantined',
      context: { losses: 0, stops: 1, isolate: 'isolate-1', isolateEnd: 'exited' },
    });
  });
});
