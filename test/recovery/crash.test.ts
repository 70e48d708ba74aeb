/**
 * Hosts killed at any instant, on every driver: whatever the log says afterwards is true, and it says something of everything.
 *
 * Invariant: `CRASH_KILLS` sets how many kills there are on each driver (300 prove more, and take minutes), `CRASH_SEED` plays a
 * run again. Deliberately absent: power loss, which no kill can show.
 */
import { describe, expect, it } from 'vitest';
import { DRIVERS } from '../sqlite/sqlite-rig.ts';
import { counter, crashScene, judged, seeded } from './crash-scene.ts';

const KILLS = Number(process.env['CRASH_KILLS'] ?? 12);
/** Kills on one log. */
const ROUNDS = 20;

describe.each(DRIVERS)('hosts killed on $name', (driver) => {
  it('leave a log that is true of every effect', { timeout: 60_000 + KILLS * 10_000 }, async () => {
    const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    console.info(`crash seed ${seed} (replay with CRASH_SEED=${seed} CRASH_KILLS=${KILLS})`);
    const pick = seeded(seed);
    const sums: Record<string, number> = { kills: 0, effects: 0, happened: 0, not: 0 };
    for (let left = KILLS; left > 0; left -= ROUNDS) {
      const { url, rows } = await counter();
      const scene = crashScene(driver, url);
      for (let round = Math.min(left, ROUNDS); round > 0; round -= 1) {
        const early = pick(8);
        // One in four dies while it opens or recovers.
        const [pattern, lines] = early === 0 ? [/^began/, 1] : early === 1 ? [/^opened/, 1] : [/^told/, 1 + pick(60)];
        await scene.killAfter(pattern, lines, pick(40), pick(2 ** 31));
        sums['kills'] = (sums['kills'] ?? 0) + 1;
      }
      const report = await scene.settle();
      const { statuses, effects, happened, not, ...verdicts } = await judged(scene, driver, rows);
      expect(verdicts).toEqual({ integrity: 'ok', unrecorded: [], denied: [], open: [], forgotten: [] });
      expect(report.failures).toEqual([]);
      for (const [name, count] of Object.entries({ ...statuses, effects, happened, not })) {
        sums[name] = (sums[name] ?? 0) + count;
      }
    }
    console.info(`${driver.name} ${process.version}: ${JSON.stringify(sums)}`);
    for (const status of ['succeeded', 'indeterminate', 'interrupted']) expect(sums[status] ?? 0).toBeGreaterThan(0);
  });
});
