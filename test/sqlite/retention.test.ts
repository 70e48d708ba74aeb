/** Retention: which attempts are left out at opening, and that everything holds for those kept. */
import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../../src/model/stores.ts';
import type { Database } from '../../src/sqlite/driver.ts';
import { openForWriting } from '../../src/sqlite/opening.ts';
import { applyRetention } from '../../src/sqlite/retention.ts';
import { all, code, event } from '../record/event-log-contract.ts';
import { DRIVERS, logFile, type Opened, opened } from './sqlite-rig.ts';

const DAY_MS = 86_400_000;
const NOW = 1_700_000_001_000;

/** An attempt closed `days` ago; with an intent that never settled where `intent` is given. */
async function closed({ log }: Opened, requestId: string, days = 0, intent?: string): Promise<void> {
  const of = { requestId, atWall: NOW - days * DAY_MS };
  await log.append(event('admitted', of));
  if (intent !== undefined) await log.append(event('dispatched', { ...of, intent }));
  await log.append(event('closed', of));
}
const requestsOf = (events: readonly LogEvent[]): string[] => [...new Set(events.map(({ requestId }) => requestId))];

describe.each(DRIVERS)('retention on $name', (driver) => {
  it('keeps the last attempts that were closed, and all that are open', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    await first.log.append(event('admitted', { requestId: 'open' }));
    for (const requestId of ['a', 'b', 'c', 'd']) await closed(first, requestId);
    await first.log.close();
    const { log } = await opened(driver, file, { attempts: 2 });
    const kept = await all(log.read());
    expect(requestsOf(kept)).toEqual(['open', 'c', 'd']);
    expect(kept.map(({ seq }) => seq)).toEqual([1, 6, 7, 8, 9]);
    expect(await log.append(event('closed', { requestId: 'open' }))).toMatchObject({ seq: 10, ord: 1, epoch: 2 });
  });

  it('keeps what was closed within the days, whichever bound is narrower', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    for (const [requestId, days] of [
      ['a', 9],
      ['b', 3],
      ['c', 1],
      ['d', 0],
    ] as const)
      await closed(first, requestId, days);
    await first.log.close();
    const second = await opened(driver, file, { days: 4, attempts: 9 });
    expect(requestsOf(await all(second.log.read()))).toEqual(['b', 'c', 'd']);
    await second.log.close();
    const third = await opened(driver, file, { days: 2 });
    expect(requestsOf(await all(third.log.read()))).toEqual(['c', 'd']);
  });

  it('keeps an attempt whose intent is open, until it is reconciled', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    await closed(first, 'held', 9, 'charge');
    await closed(first, 'over', 9);
    await first.log.close();
    const second = await opened(driver, file, { days: 1, attempts: 0 });
    expect(requestsOf(await all(second.log.read()))).toEqual(['held']);
    const verdict = (word: string) =>
      event('reconciled', { requestId: 'held', intent: 'charge', body: { verdict: word } });
    await second.log.append(verdict('unknown'));
    await second.log.close();
    const third = await opened(driver, file, { attempts: 0 });
    expect(await all(third.log.openIntents())).toMatchObject([{ requestId: 'held', intent: 'charge' }]);
    await third.log.append(verdict('applied'));
    await third.log.close();
    const fourth = await opened(driver, file, { attempts: 0 });
    expect(await all(fourth.log.read())).toEqual([]);
    await fourth.log.close();
    // No place is given twice, also by a writer who never saw what was left out.
    const fifth = await opened(driver, file);
    expect(await fifth.log.append(event('prepared'))).toMatchObject({ seq: 8 });
  });

  it('leaves every rule in force, and old epochs as they were', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    for (const requestId of ['a', 'b']) await closed(first, requestId);
    const schema = (of: Opened) =>
      of.database.prepare("SELECT name, replace(sql, '\"', '') AS sql FROM sqlite_schema ORDER BY name").all();
    const before = schema(first);
    await first.log.close();
    const second = await opened(driver, file, { attempts: 1 });
    expect(schema(second)).toEqual(before);
    expect(await all(second.log.read())).toMatchObject([{ requestId: 'b', epoch: 1 }, { epoch: 1 }]);
    await expect(second.log.append(event('progressed', { requestId: 'b' }))).rejects.toThrow(code('LOG_ORDER'));
    expect(() => second.database.exec('DELETE FROM events')).toThrow('append-only');
  });

  it('gives the space back', async () => {
    const file = logFile();
    const { log } = await opened(driver, file);
    const bodies = Array.from({ length: 2_500 }, (_, n) => ({
      requestId: `req-${n}`,
      body: { text: 'x'.repeat(900) },
    }));
    await Promise.all(bodies.map((over) => log.append(event('closed', over))));
    await log.close();
    const before = statSync(file).size;
    const { log: again } = await opened(driver, file, { attempts: 10 });
    expect(await all(again.read())).toHaveLength(10);
    await again.close();
    expect(statSync(file).size).toBeLessThan(before / 10);
  });

  it('leaves the log as it was when it cannot be written', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    for (const requestId of ['a', 'b']) await closed(first, requestId);
    const before = await all(first.log.read());
    await first.log.close();
    const held = await openForWriting(driver, file);
    let breaks = 0;
    // Fails after the copy took the place of the table, before the commit.
    const database: Database = {
      prepare: (sql) => held.database.prepare(sql),
      close: () => held.database.close(),
      exec(sql) {
        if (sql.includes('DROP TABLE temp')) {
          breaks += 1;
          held.database.exec('SELECT 1 FROM nowhere');
        }
        return held.database.exec(sql);
      },
    };
    const refused = applyRetention({ driver, database }, { attempts: 0 }, NOW);
    await expect(refused).rejects.toThrow(code('LOG_WRITE_FAILED'));
    expect(breaks).toBe(1);
    database.close();
    const { log } = await opened(driver, file);
    expect(await all(log.read())).toEqual(before);
    expect(await log.append(event('prepared', { requestId: 'c' }))).toMatchObject({ seq: 5, epoch: 3 });
  });
});
