/** Restarts: pauses between boots that fail, the limit, and how both pass. */
import { describe, expect, it } from 'vitest';
import { Restarts } from '../../src/isolate/restarts.ts';
import { FakeClock } from '../support/fake-clock.ts';

function opened() {
  const clock = new FakeClock();
  const seen = { changes: 0 };
  const restarts = new Restarts(clock, { maxReplacements: 2, withinMs: 1_000 }, () => (seen.changes += 1));
  return { clock, restarts, seen };
}

describe('Restarts', () => {
  it('lets the first replacement follow at once and pauses before the next', async () => {
    const { clock, restarts, seen } = opened();
    restarts.note(true);
    expect(restarts.isPaused).toBe(false);
    restarts.note(true);
    expect(restarts.isPaused).toBe(true);
    await clock.advance(100);
    expect([restarts.isPaused, seen.changes]).toEqual([false, 1]);
  });

  it('passes its limit, and heals when the failures have aged', async () => {
    const { clock, restarts, seen } = opened();
    for (let death = 0; death < 3; death += 1) restarts.note(true);
    expect(restarts.isOverLimit).toBe(true);
    await clock.advance(1_000);
    expect([restarts.isOverLimit, restarts.hasFailures, seen.changes > 1]).toEqual([false, false, true]);
  });

  it('forgets failures once an isolate has served', () => {
    const { restarts } = opened();
    for (let death = 0; death < 3; death += 1) restarts.note(true);
    restarts.forget();
    expect([restarts.isOverLimit, restarts.hasFailures]).toEqual([false, false]);
  });

  it('leaves no timer behind when it is ended', async () => {
    const { clock, restarts, seen } = opened();
    for (let death = 0; death < 3; death += 1) restarts.note(true);
    restarts.end();
    await clock.advance(10_000);
    expect(seen.changes).toBe(0);
  });
});
