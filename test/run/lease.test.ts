/** Lease: the path and the times an actor leaves behind. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseEvent } from '../../machines/index.ts';
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { Lease } from '../../src/run/lease.ts';
import { FakeClock } from '../support/fake-clock.ts';

const GRANTED: LeaseEvent = { type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' };

function opened() {
  const clock = new FakeClock();
  let violations = 0;
  const actors = new ActorTree('supervisor-1', () => (violations += 1), null);
  return { clock, lease: new Lease(actors, clock, clock.now()), violations: () => violations };
}

describe('Lease', () => {
  it('keeps its path and the time spent in each state', () => {
    const { clock, lease } = opened();
    const walk: [LeaseEvent, number][] = [
      [GRANTED, 5],
      [{ type: 'STARTED' }, 1],
      [{ type: 'STOP', kind: 'cancel' }, 30],
      [{ type: 'SETTLED' }, 20],
      [{ type: 'CLEAN' }, 3],
    ];
    for (const [event, ms] of walk) {
      clock.jump(ms);
      lease.send(event);
    }
    expect(lease.path).toEqual(['queued', 'acquired', 'running', 'terminating', 'draining', 'completed']);
    expect(lease.spent).toMatchObject({ queued: 5, acquired: 1, running: 30, terminating: 20, draining: 3 });
    expect([lease.state, lease.ended, lease.enteredAt]).toEqual(['completed', true, 1_059]);
  });

  it('counts from the instant an event happened, never before its state began', () => {
    const { clock, lease } = opened();
    clock.jump(10);
    lease.send(GRANTED);
    clock.jump(100);
    lease.send({ type: 'STARTED' }, 1_040);
    expect(lease.spent.acquired).toBe(30);
    lease.send({ type: 'SETTLED' }, 900);
    expect(lease.spent.running).toBe(0);
    expect(lease.enteredAt).toBe(1_040);
  });

  it('stays where it is for an impossible event, which is counted', () => {
    const { lease, violations } = opened();
    expect(lease.send({ type: 'CLEAN' })).toBe('queued');
    expect(lease.path).toEqual(['queued']);
    expect(violations()).toBe(1);
  });

  it('adds a return to the queue to the path, and its time to the same state', () => {
    const { clock, lease } = opened();
    clock.jump(4);
    lease.send(GRANTED);
    lease.send({ type: 'LOST' });
    clock.jump(6);
    lease.send(GRANTED);
    expect(lease.path).toEqual(['queued', 'acquired', 'queued', 'acquired']);
    expect(lease.spent.queued).toBe(10);
  });

  it('for any events at any instants, spends exactly the time that passed', () => {
    const type = fc.constantFrom(
      'STARTED',
      'SETTLED',
      'STOP',
      'FAILED',
      'LOST',
      'EXITED',
      'ABANDONED',
      'CLEAN',
      'DIRTY',
    );
    const step = fc.tuple(
      fc.oneof(fc.constant('GRANTED'), type),
      fc.nat({ max: 20 }),
      fc.integer({ min: -20, max: 0 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const { clock, lease } = opened();
        for (const [name, ms, ago] of steps) {
          clock.jump(ms);
          const event =
            name === 'GRANTED' ? GRANTED : name === 'STOP' ? { type: name, kind: 'cancel' } : { type: name };
          lease.send(event as LeaseEvent, clock.now() + ago);
          if (lease.ended) break;
        }
        const spent = Object.values(lease.spent);
        expect(Math.min(...spent)).toBeGreaterThanOrEqual(0);
        expect(spent.reduce((sum, ms) => sum + ms, 0)).toBe(lease.enteredAt - 1_000);
      }),
    );
  });
});
