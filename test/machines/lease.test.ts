/**
 * The lease chart: every state with every event, what its context keeps, and that its end is an end.
 *
 * Invariant: the table here is written by hand from the design, never derived from the machine.
 * Deliberately absent: how a chart is compiled.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { type LeaseEvent, leaseLogic, leaseMachine } from '../../machines/index.ts';
import { MAX_LOSSES } from '../../machines/lease.ts';
import { LEASE_STATES } from '../../src/model/stop.ts';
import { lease } from './subjects.ts';
import { describeTable, snapshotsOf, wordsOf } from './table.ts';

const never = {
  GRANTED: '-',
  STARTED: '-',
  SETTLED: '-',
  STOP: '-',
  FAILED: '-',
  LOST: '-',
  EXITED: '-',
  ABANDONED: '-',
  CLEAN: '-',
  DIRTY: '-',
} as const;

describeTable(
  lease,
  {
    queued: { ...never, GRANTED: 'acquired', STOP: 'completed' },
    acquired: { ...never, STARTED: 'running', STOP: 'completed', FAILED: 'completed', LOST: 'queued' },
    running: { ...never, SETTLED: 'draining', STOP: 'terminating', EXITED: 'draining' },
    terminating: {
      ...never,
      SETTLED: 'draining',
      STOP: 'terminating',
      EXITED: 'draining',
      ABANDONED: 'draining',
    },
    draining: {
      ...never,
      CLEAN: 'completed',
      DIRTY: 'quarantined',
      STOP: 'draining',
      EXITED: 'draining',
      ABANDONED: 'draining',
    },
  },
  ['completed', 'quarantined'],
);

function snapshotAfter(...types: readonly LeaseEvent['type'][]) {
  const actor = createActor(leaseLogic).start();
  for (const type of types) actor.send(lease.samples[type]);
  return actor.getSnapshot();
}

describe('a lease', () => {
  it('knows its isolate from the grant on, and forgets one that was lost', () => {
    expect(snapshotAfter().context.isolate).toBeNull();
    expect(snapshotAfter('GRANTED').context.isolate).toBe('isolate-1');
    expect(snapshotAfter('GRANTED', 'LOST').context.isolate).toBeNull();
  });

  it('goes back to the queue twice, and completes when a third isolate is lost', () => {
    const loss = ['GRANTED', 'LOST'] as const;
    expect(MAX_LOSSES).toBe(2);
    expect(snapshotAfter(...loss, ...loss)).toMatchObject({ value: 'queued', context: { losses: 2 } });
    expect(snapshotAfter(...loss, ...loss, ...loss)).toMatchObject({ value: 'completed', context: { losses: 3 } });
  });

  it('stopped while queued, touches no isolate', () => {
    expect(snapshotAfter('STOP')).toMatchObject({ value: 'completed', context: { isolate: null, stops: 1 } });
  });

  it('counts each stop of terminating and draining', () => {
    expect(snapshotAfter('GRANTED', 'STARTED', 'STOP', 'STOP', 'SETTLED', 'STOP').context.stops).toBe(3);
  });

  it('whose isolate exited while it ran, is quarantined although it is found clean', () => {
    expect(snapshotAfter('GRANTED', 'STARTED', 'EXITED', 'CLEAN').value).toBe('quarantined');
  });

  it('whose isolate was abandoned, is quarantined although it is found clean', () => {
    expect(snapshotAfter('GRANTED', 'STARTED', 'STOP', 'ABANDONED', 'CLEAN').value).toBe('quarantined');
  });

  it('whose isolate exits while draining, is quarantined although it is found clean', () => {
    expect(snapshotAfter('GRANTED', 'STARTED', 'SETTLED', 'EXITED', 'CLEAN').value).toBe('quarantined');
  });

  it('takes an exit that is seen over an abandonment, in either order', () => {
    const terminating = ['GRANTED', 'STARTED', 'STOP'] as const;
    expect(snapshotAfter(...terminating, 'ABANDONED').context.isolateEnd).toBe('abandoned');
    expect(snapshotAfter(...terminating, 'ABANDONED', 'EXITED').context.isolateEnd).toBe('exited');
    expect(snapshotAfter(...terminating, 'EXITED', 'ABANDONED').context.isolateEnd).toBe('exited');
  });

  it('has the states that results and stops name', () => {
    expect(Object.keys(leaseMachine.states)).toEqual([...LEASE_STATES]);
  });
});

describe('any word of events', () => {
  it('for any word, a final state is never left and its snapshot never changes', () => {
    fc.assert(
      fc.property(wordsOf(lease), (word) => {
        const snapshots = snapshotsOf(leaseLogic, word);
        const ends = snapshots.filter(({ value }) => value === 'completed' || value === 'quarantined');
        expect(snapshots.slice(snapshots.length - ends.length)).toEqual(ends);
        expect(new Set(ends).size).toBeLessThanOrEqual(1);
        expect(snapshots.filter(({ status }) => status === 'done')).toEqual(ends);
      }),
    );
  });

  it('for any word, a lease that completes has an isolate whose end was not seen', () => {
    fc.assert(
      fc.property(wordsOf(lease), (word) => {
        const completed = snapshotsOf(leaseLogic, word).filter(({ value }) => value === 'completed');
        expect(completed.filter(({ context }) => context.isolateEnd !== null)).toEqual([]);
      }),
    );
  });
});
