/** Who may write: a host that only sleeps keeps its log, one that was killed does not, and a torn end of a log costs no more. */
import { once } from 'node:events';
import { openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { code } from '../record/event-log-contract.ts';
import { DRIVERS, opened } from '../sqlite/sqlite-rig.ts';
import { counter, crashScene, judged } from './crash-scene.ts';

describe.each(DRIVERS)('a log on $name', (driver) => {
  it('belongs to a host in its sleep until that is killed, and then tells the truth', async () => {
    const { url, rows } = await counter();
    const scene = crashScene(driver, url);
    const host = scene.start(7, 'work');
    await host.until(/^told/, 10);
    host.child.kill('SIGSTOP');
    await expect(opened(driver, scene.log)).rejects.toThrow(code('LOG_LOCKED'));
    const second = scene.start(8, 'settle');
    expect(((await second.ended) as [number])[0]).not.toBe(0);
    expect(second.lines).toEqual(['began']);
    host.child.kill('SIGCONT');
    await host.until(/^told/, 60);
    host.child.kill('SIGKILL');
    await host.ended;
    expect((await scene.settle()).failures).toEqual([]);
    expect(await judged(scene, driver, rows)).toMatchObject({
      ...{ integrity: 'ok', unrecorded: [], denied: [], open: [], forgotten: [] },
    });
  });

  it.each(['cut short', 'overwritten'])('whose last page is %s loses no more than what it held', async (how) => {
    const { url } = await counter();
    const scene = crashScene(driver, url);
    await scene.killAfter(/^told/, 25, 0, 9);
    const wal = `${scene.log}-wal`;
    const { size } = statSync(wal);
    const before = readFileSync(wal);
    if (how === 'cut short') truncateSync(wal, size - 1_000);
    else writeSync(openSync(wal, 'r+'), Buffer.alloc(1_000, 7), 0, 1_000, size - 2_000);
    expect(readFileSync(wal)).not.toEqual(before);
    const report = await scene.settle();
    expect(report.failures).toEqual([]);
    const verdicts = await judged(scene, driver, []);
    expect(verdicts).toMatchObject({ integrity: 'ok', open: [] });
    expect(Object.keys(verdicts.statuses).length).toBeGreaterThan(0);
  });
});

describe('the exit of a host', () => {
  it('by a signal is what the scene waits for', async () => {
    const [driver] = DRIVERS;
    if (driver === undefined) throw new Error('there is no driver');
    const scene = crashScene(driver, 'http://127.0.0.1:9');
    const host = scene.start(1, 'work');
    const exited = once(host.child, 'exit');
    await host.until(/^opened/, 1);
    host.child.kill('SIGKILL');
    expect((await exited)[1]).toBe('SIGKILL');
    await host.ended;
  });
});
