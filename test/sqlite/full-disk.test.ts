/** A disk that takes no more: what does not fit is refused and told, nothing is half recorded, and the log heals. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { all, code, event } from '../record/event-log-contract.ts';
import { fullDisk } from '../support/tmpfs-disk.ts';
import { DRIVERS, opened } from './sqlite-rig.ts';

describe.each(DRIVERS)('a full disk on $name', (driver) => {
  it('refuses the turn whole, says so, and takes entries again when there is room', async () => {
    const { path, grow } = fullDisk(512);
    const file = join(path, 'runs.db');
    const { log, clock } = await opened(driver, file);
    const heard: string[] = [];
    log.onHealth((health) => heard.push(health));
    let acknowledged = 0;
    const turn = (n: number) =>
      ['a', 'b', 'c'].map((part) =>
        log.append(event('prepared', { requestId: `${n}-${part}`, body: { text: 'x'.repeat(3_000) } })),
      );
    let n = 0;
    while (log.health === 'writable' && n < 1_000) {
      const settled = await Promise.allSettled(turn(n));
      const kept = settled.filter(({ status }) => status === 'fulfilled').length;
      expect([0, 3]).toContain(kept);
      acknowledged += kept;
      n += 1;
    }
    expect([log.health, heard]).toEqual(['failed', ['failed']]);
    expect(await all(log.read())).toHaveLength(acknowledged);
    for (const refused of turn(n)) await expect(refused).rejects.toThrow(code('LOG_WRITE_FAILED'));
    grow();
    await clock.advance(1_000);
    expect([log.health, heard]).toEqual(['writable', ['failed', 'writable']]);
    // What was refused was not taken in: the same entries have their place now.
    expect(await Promise.all(turn(n - 1))).toMatchObject([0, 1, 2].map((k) => ({ seq: acknowledged + k + 1, ord: 0 })));
    await log.close();
    const { log: again } = await opened(driver, file);
    expect(await all(again.read())).toHaveLength(acknowledged + 3);
  });

  it('refuses to open without room for a log, and opens once there is', async () => {
    const { path, grow } = fullDisk(16);
    const file = join(path, 'runs.db');
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_WRITE_FAILED'));
    grow();
    expect((await opened(driver, file)).log.health).toBe('writable');
  });
});
