/** Fleet: standby, replacement, sharing, recycling and the limits that degrade a supervisor. */
import { describe, expect, it } from 'vitest';
import type { Isolate } from '../../src/isolate/isolate.ts';
import { settle } from '../support/fake-clock.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { ACME, OCCUPANT, openedFleet as opened } from './fleet-rig.ts';

const MIB = 1024 * 1024;

describe('Fleet', () => {
  it('boots isolates and standby, and leases no more than isolates at once', async () => {
    const { fleet, lease, told } = await opened();
    expect([fleet.count().idle, fleet.isFull, fleet.free]).toEqual([3, true, 2]);
    lease();
    lease();
    expect(fleet.acquire(ACME)).toBeNull();
    expect([fleet.free, fleet.replacements, told]).toEqual([0, 0, []]);
  });

  it('frees the slot of a condemned isolate at once, and soon boots another beside it', async () => {
    const { clock, fleet, tenures, lease, told } = await opened({}, { dies: () => false });
    const broken = lease();
    lease();
    broken.condemn();
    expect(fleet.acquire(ACME)).not.toBeNull();
    await clock.advance(30);
    expect(tenures.all).toHaveLength(4);
    expect([fleet.replacements, told]).toEqual([1, ['isolate.replaced']]);
  });

  it('never leases a condemned isolate again', async () => {
    const { fleet, lease } = await opened({ isolates: 3, standby: 0 }, { dies: () => false });
    const broken = lease();
    broken.condemn();
    await settle();
    const later = [lease(), lease(), lease()];
    expect(later).not.toContain(broken);
    expect(fleet.acquire(ACME)).toBeNull();
  });

  it('keeps more threads than isolates, standby and maxAbandoned from being', async () => {
    const { tenures, lease, fleet } = await opened({ isolates: 1, standby: 1, maxAbandoned: 2 }, { dies: () => false });
    for (let run = 0; run < 4; run += 1) {
      lease().condemn();
      await settle();
    }
    expect(tenures.all).toHaveLength(4);
    expect(fleet.acquire(ACME)).toBeNull();
  });

  it('tells of capacity whenever some may have come', async () => {
    const { lease, seen } = await opened();
    const before = seen.capacity;
    lease().vacate();
    expect(seen.capacity).toBeGreaterThan(before);
  });
});

describe('sharing', () => {
  const [OTHER_TOOL, OTHER_TENANT] = [
    { ...ACME, tool: 'crop' },
    { ...ACME, tenant: 'umbrella' },
  ];
  it.each([
    ['any', [true, true, true]],
    ['tenant', [true, true, false]],
    ['tool', [true, false, false]],
    ['none', [false, false, false]],
  ] as const)('by %s lets an isolate meet the same, another tool, another tenant: %j', async (share, meets) => {
    for (const [at, request] of [ACME, OTHER_TOOL, OTHER_TENANT].entries()) {
      const { serve } = await opened({ share });
      const first = await serve();
      expect((await serve(request)) === first).toBe(meets[at]);
    }
  });

  it('retires the one unused for longest for whom nobody may serve', async () => {
    const { fleet, serve, clock } = await opened({ isolates: 1, standby: 1 });
    const first = await serve(ACME);
    clock.jump(5);
    const second = await serve(OTHER_TENANT);
    expect(fleet.acquire({ ...ACME, tenant: 'third' })).toBeNull();
    expect(first.state).toBe('retiring');
    expect(second.state).toBe('idle');
    await settle();
    expect(await serve({ ...ACME, tenant: 'third' })).not.toBe(second);
  });

  it('retires one at a time while another boots', async () => {
    const boot = (ordinal: number) => (ordinal < 2 ? 'ready' : 'never') as 'ready' | 'never';
    const { fleet, serve } = await opened({ isolates: 1, standby: 1 }, { boot });
    await serve(ACME);
    await serve(OTHER_TENANT);
    for (let time = 0; time < 3; time += 1) expect(fleet.acquire({ ...ACME, tenant: 'third' })).toBeNull();
    await settle();
    expect(fleet.count()).toMatchObject({ idle: 1, booting: 1 });
  });
});

describe('recycling', () => {
  it('retires an isolate after maxLeases', async () => {
    const { serve } = await opened({ recycle: { maxLeases: 2 } });
    const first = await serve();
    expect(await serve()).toBe(first);
    expect(first.state).toBe('gone');
  });

  it('retires an isolate whose heap was high for three measured leases', async () => {
    const { serve } = await opened({ recycle: { maxHeapMb: 10 } });
    const first = await serve(ACME, 11 * MIB);
    await serve(ACME, 12 * MIB);
    expect(first.state).toBe('idle');
    await serve(ACME, 13 * MIB);
    expect(first.state).toBe('gone');
  });

  it('keeps one whose heap fell in between', async () => {
    const { serve } = await opened({ recycle: { maxHeapMb: 10 } });
    const first = await serve(ACME, 11 * MIB);
    for (const heap of [12, 9, 12, 12]) await serve(ACME, heap * MIB);
    expect(first.state).toBe('idle');
  });
});

describe('the restart limit', () => {
  it('waits ever longer before the next boot, and degrades beyond the limit', async () => {
    const options = { isolates: 1, standby: 0, restart: { maxReplacements: 3, withinMs: 60_000 } };
    const { clock, tenures, told } = await opened(options, { boot: () => 'fails' });
    const boots = [tenures.all.length];
    for (const ms of [99, 1, 199, 1, 399, 1]) {
      await clock.advance(ms);
      boots.push(tenures.all.length);
    }
    expect(boots).toEqual([2, 2, 3, 3, 4, 4, 5]);
    expect(told.filter((word) => word !== 'isolate.replaced')).toEqual(['isolates die before they serve']);
  });

  it('heals once the failures have aged, not by a boot alone', async () => {
    const boot = (ordinal: number) => (ordinal < 3 ? 'fails' : 'ready') as 'fails' | 'ready';
    const options = { isolates: 1, standby: 0, restart: { maxReplacements: 1, withinMs: 60_000 } };
    const { clock, told, fleet } = await opened(options, { boot });
    expect(told.at(-1)).toBe('isolates die before they serve');
    await clock.advance(1_000);
    expect([fleet.isFull, told.includes('healed')]).toEqual([true, false]);
    await clock.advance(60_000);
    expect(told.at(-1)).toBe('healed');
  });

  it('does not count what tools break', async () => {
    const { lease, told } = await opened({ restart: { maxReplacements: 0, withinMs: 60_000 } });
    for (let run = 0; run < 10; run += 1) {
      lease().condemn();
      await settle();
    }
    expect(new Set(told)).toEqual(new Set(['isolate.replaced']));
  });
});

describe('an isolate with a finding', () => {
  const late = { t: 'fatal', seq: 0, failure: FAILURE };

  it.each([
    ['by default', {}, ['gone', 2]],
    ['never by the policy', { 'late-error': false }, ['idle', 1]],
  ] as const)('is condemned while idle %s', async (_, condemn, [state, served]) => {
    const { tenures, serve } = await opened({ isolates: 1, standby: 0, health: { condemn } });
    const isolate = await serve();
    tenures.all[0]?.emit(late);
    await settle();
    expect(isolate.state).toBe(state);
    await serve();
    expect(tenures.all).toHaveLength(served);
  });

  it.each([
    ['by default', {}, 'gone'],
    ['never by the policy', { 'late-error': false }, 'idle'],
  ] as const)('is condemned at the end of a lease that ran nothing %s', async (_, condemn, state) => {
    const { fleet, tenures, told } = await opened({ isolates: 1, standby: 0, health: { condemn } });
    const isolate = fleet.acquire(ACME) as Isolate;
    isolate.occupy(OCCUPANT);
    tenures.all[0]?.emit(late);
    await settle();
    expect(isolate.state).toBe('leased');
    isolate.vacate();
    await settle();
    expect([isolate.state, told.includes('impossible event')]).toEqual([state, false]);
  });
});

describe('abandoned isolates', () => {
  it('degrade beyond maxAbandoned, and heal when they end', async () => {
    const { clock, tenures, told, lease } = await opened(
      { isolates: 1, standby: 1, maxAbandoned: 1 },
      { dies: () => false },
    );
    const words = () => told.filter((word) => word !== 'isolate.replaced');
    lease().condemn();
    await clock.advance(100);
    expect(words()).toEqual(['isolate.abandoned']);
    lease().condemn();
    await clock.advance(100);
    expect(words()).toEqual(['isolate.abandoned', 'isolate.abandoned', 'too many isolates are abandoned']);
    tenures.all[0]?.die({ code: 1, error: null });
    await settle();
    expect(words().at(-1)).toBe('healed');
  });
});

describe('the close of a fleet', () => {
  it('ends every isolate and then the source', async () => {
    const { fleet, tenures, lease, clock } = await opened();
    lease().vacate();
    expect(await fleet.close(1_000)).toEqual([]);
    expect([tenures.alive, tenures.closed, clock.pending]).toEqual([[], true, 0]);
    expect(fleet.acquire(ACME)).toBeNull();
  });

  it('reports what did not die within the bound', async () => {
    const { fleet, clock, lease } = await opened({}, { dies: ({ runs }) => runs === 0 });
    lease().vacate();
    await settle();
    const closing = fleet.close(50);
    await clock.advance(50);
    expect(await closing).toMatchObject([{ kind: 'thread', state: 'abandoned', leases: 1 }]);
    expect(clock.pending).toBe(0);
  });

  it('stops the wait before the next boot', async () => {
    const { fleet, clock, tenures } = await opened({ isolates: 1, standby: 0 }, { boot: () => 'fails' });
    expect(clock.pending).toBeGreaterThan(0);
    await fleet.close(50);
    const boots = tenures.all.length;
    await clock.advance(60_000);
    expect([tenures.all.length, clock.pending]).toEqual([boots, 0]);
  });
});
