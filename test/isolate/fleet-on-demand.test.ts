/** Fleets of a kind that is booted when it is first needed. */
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { ACME, openedFleet } from './fleet-rig.ts';

const opened = (shaped = {}) => openedFleet({}, {}, { kind: 'process', isEager: false, ...shaped });
const once = { isOnce: true, share: 'none', standby: 0, leases: 2 } as const;

describe('a fleet on demand', () => {
  it('boots nothing before somebody asks, and counts what it could boot as free', async () => {
    const { fleet, tenures } = await opened();
    expect([tenures.all.length, fleet.free, fleet.isFull]).toEqual([0, 2, true]);
  });

  it('boots for the first that asks, and a standby beside it', async () => {
    const { fleet, tenures, seen } = await opened();
    expect(fleet.acquire(ACME)).toBeNull();
    const before = seen.capacity;
    await settle();
    expect([tenures.all.length, seen.capacity > before]).toEqual([2, true]);
    expect(fleet.acquire(ACME)).not.toBeNull();
  });

  it('boots as many at once as wait, up to its leases and standby', async () => {
    const { fleet, tenures, seen } = await opened();
    seen.waiting = 7;
    fleet.acquire(ACME);
    expect(tenures.all).toHaveLength(3);
  });

  it('keeps its standby while the others work', async () => {
    const { fleet, lease, clock, told } = await opened();
    fleet.acquire(ACME);
    await settle();
    lease();
    await clock.advance(30);
    expect(fleet.count()).toMatchObject({ leased: 1, idle: 1 });
    expect(told).toEqual([]);
  });

  it('tells of a replacement only when one follows that was lost', async () => {
    const { fleet, lease, clock, told } = await opened();
    fleet.acquire(ACME);
    await settle();
    lease().condemn();
    await clock.advance(30);
    expect([fleet.replacements, told]).toEqual([0, []]);
    lease();
    await clock.advance(30);
    expect([fleet.replacements, told]).toEqual([1, ['isolate.replaced']]);
  });

  it('gives up the one that was idle for longest when another fleet needs its place', async () => {
    const { fleet, serve, lease } = await opened({ leases: 3, standby: 0 });
    fleet.acquire(ACME);
    await settle();
    const first = await serve();
    expect(fleet.yield()).toBe(true);
    expect(first.state).toBe('retiring');
    await settle();
    expect(fleet.yield()).toBe(false);
    fleet.acquire(ACME);
    await settle();
    expect(lease()).not.toBe(first);
  });
});

describe('a fleet whose isolates serve once', () => {
  it('makes one for each lease, which is no replacement', async () => {
    const { fleet, serve, tenures, told } = await opened(once);
    for (let turn = 0; turn < 3; turn += 1) {
      expect(fleet.acquire(ACME)).toBeNull();
      await settle();
      expect((await serve()).state).toBe('gone');
    }
    expect([tenures.all.length, fleet.replacements, told]).toEqual([3, 0, []]);
  });

  it('holds no more at once than its leases', async () => {
    const { fleet, lease, seen } = await opened(once);
    seen.waiting = 5;
    fleet.acquire(ACME);
    await settle();
    lease();
    lease();
    expect(fleet.acquire(ACME)).toBeNull();
    expect(fleet.count()).toMatchObject({ leased: 2, idle: 0, booting: 0 });
  });
});
