/**
 * Twenty thousand requests with random faults in a process with a small heap: nothing grows.
 *
 * Invariant: the seed is printed and decides every request; measures are taken when no isolate boots or dies.
 * Deliberately absent: speed.
 */
import { describe, expect, it } from 'vitest';
import { runProgram } from '../support/fault-programs.ts';

const REQUESTS = 20_000;
const GROWTH_BYTES = 10 * 1024 * 1024;

describe('a supervisor under random faults', () => {
  it('keeps heap, listeners and threads level over 20 000 requests', { timeout: 300_000 }, async () => {
    const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 32));
    console.info(`soak seed ${seed} (replay with SOAK_SEED=${seed})`);
    const end = await runProgram(
      'soak.mjs',
      [String(seed), String(REQUESTS)],
      ['--expose-gc', '--max-old-space-size=256'],
    );
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' });
    const told = JSON.parse(end.stdout);
    expect(told.wrong).toEqual([]);
    const sum = Object.values<number>(told.statuses).reduce((total, count) => total + count, 0);
    expect(sum).toBe(REQUESTS);
    expect(told.after.heapBytes - told.before.heapBytes).toBeLessThan(GROWTH_BYTES);
    expect(told.after.listeners).toEqual(told.before.listeners);
    expect(told.after.threads).toBe(told.before.threads);
    expect(told).toMatchObject({ open: 'open', report: { abandoned: [] }, threads: 0 });
  });
});
