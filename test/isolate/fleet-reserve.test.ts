/** Fleet: what it gives up, and what it puts off, while isolates are short. */
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { openedFleet as opened } from './fleet-rig.ts';

describe('a request that no idle isolate may serve', () => {
  const OTHER = { tenant: 'other', tool: 'render' };

  it('costs no healthy isolate while fresh ones do not boot', async () => {
    const boot = (ordinal: number) => (ordinal < 3 ? 'ready' : 'fails') as 'fails' | 'ready';
    const { clock, fleet, serve, lease } = await opened({ isolates: 3, standby: 0, maxAbandoned: 0 }, { boot });
    const all = [lease(), lease(), lease()];
    await settle();
    for (const isolate of all) isolate.vacate();
    for (let time = 0; time < 20; time += 1) {
      expect(fleet.acquire(OTHER)).toBeNull();
      await clock.advance(50);
    }
    expect(fleet.count().idle).toBe(2);
    expect((await serve()).tenant).toBe('acme');
  });
});

describe('the standby', () => {
  it.each([false, true])('is put off for a moment unless somebody waits: %s', async (awaited) => {
    const { fleet, lease, seen, tenures, clock } = await opened();
    const broken = lease();
    seen.awaited = awaited;
    broken.condemn();
    await settle();
    expect(tenures.all).toHaveLength(awaited ? 4 : 3);
    await fleet.close(50);
    fleet.hasten();
    expect(clock.pending).toBe(0);
  });
});
