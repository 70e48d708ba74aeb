/** ActorTree: one tree per supervisor, and an inspector that cannot break it. */
import { describe, expect, it } from 'vitest';
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import type { InspectionRecord } from '../../src/model/option-shapes.ts';
import { unheardRejections } from '../support/unheard.ts';

const ignore = () => undefined;

describe('ActorTree', () => {
  it('counts an impossible event where it happened, and in no other tree', () => {
    const counts = { own: 0, other: 0 };
    const own = new ActorTree('supervisor-1', () => (counts.own += 1), null);
    const other = new ActorTree('supervisor-2', () => (counts.other += 1), null);
    other.lease('lease-1');
    own.lease('lease-1').send({ type: 'CLEAN' });
    own.isolate('isolate-1').send({ type: 'FIT' });
    expect(counts).toEqual({ own: 2, other: 0 });
  });

  it('keeps the state of its root', () => {
    const tree = new ActorTree('supervisor-1', ignore, null);
    const states = [tree.state];
    for (const type of ['OPENED', 'DRAIN', 'CLOSE', 'CLOSED'] as const) {
      tree.send({ type });
      states.push(tree.state);
    }
    expect(states).toEqual(['opening', 'open', 'draining', 'closing', 'closed']);
  });

  it.each(['a function', 'an observer'])('tells %s of every actor under one root', (kind) => {
    const heard: InspectionRecord[] = [];
    const hear = (event: InspectionRecord) => void heard.push(event);
    const tree = new ActorTree('supervisor-1', ignore, kind === 'a function' ? hear : { next: hear });
    tree.lease('lease-1').send({ type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' });
    tree.isolate('isolate-1');
    expect(new Set(heard.map(({ rootId }) => rootId)).size).toBe(1);
    expect(heard.filter(({ type }) => type === '@xstate.actor')).toHaveLength(3);
  });

  it('goes on without an inspector that throws, which hears no more', () => {
    let calls = 0;
    const tree = new ActorTree('supervisor-1', ignore, () => {
      calls += 1;
      throw new Error('broken');
    });
    const lease = tree.lease('lease-1');
    lease.send({ type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' });
    lease.send({ type: 'STARTED' });
    tree.send({ type: 'OPENED' });
    expect([calls, lease.getSnapshot().value, tree.state]).toEqual([1, 'running', 'open']);
  });

  it.each(['a function', 'an observer'])('takes the rejection of %s, which hears no more', async (kind) => {
    let calls = 0;
    const hear = async () => {
      calls += 1;
      throw new Error('broken');
    };
    const tree = new ActorTree('supervisor-1', ignore, kind === 'a function' ? hear : { next: hear });
    expect(await unheardRejections(() => tree.send({ type: 'OPENED' }))).toEqual([]);
    const before = calls;
    tree.send({ type: 'DRAIN' });
    expect([calls, tree.state]).toEqual([before, 'draining']);
  });

  it('takes an inspector without next', () => {
    const tree = new ActorTree('supervisor-1', ignore, {});
    tree.send({ type: 'OPENED' });
    expect(tree.state).toBe('open');
  });

  it('sends what only an inspector sees to an inspector only', () => {
    const events: string[] = [];
    const inspect = (event: InspectionRecord) => {
      if (event.type === '@xstate.event') events.push((event as unknown as { event: { type: string } }).event.type);
    };
    new ActorTree('supervisor-1', ignore, inspect).tell({ type: 'REQUEST', request: 'req-1' });
    expect(events).toContain('REQUEST');
  });
});
