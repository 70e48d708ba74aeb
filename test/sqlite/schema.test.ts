/** The database by itself: every illegal change is refused by it, however it comes; versions are brought up or refused. */
import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewLogEvent } from '../../src/model/stores.ts';
import type { Database, SqlValue } from '../../src/sqlite/driver.ts';
import { COLUMNS } from '../../src/sqlite/rows.ts';
import { migrate, STALE_EPOCH, STEPS, versionOf } from '../../src/sqlite/schema.ts';
import { all, allowed, anyEntries, code, event } from '../record/event-log-contract.ts';
import { connection, DRIVERS, logFile, opened } from './sqlite-rig.ts';

const FIRST = ['prepared', 'admitted', 'dispatched'];
const VERSION_ONE = new URL('../fixtures/sqlite/version-1.sql', import.meta.url);

/** A row as a writer of epoch 0 would give it. */
function row(next: NewLogEvent, seq: SqlValue, ord: number, epoch = 0): SqlValue[] {
  const { tenant, run, branch, requestId, attempt, intent, kind, atWall, body } = next;
  return [seq, tenant, run, branch, requestId, attempt, ord, intent, kind, epoch, atWall, JSON.stringify(body)];
}
const insertion = (verb = 'INSERT') => `${verb} INTO events (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const count = (database: Database): unknown =>
  database.prepare('SELECT count(*) AS count FROM events').get()?.['count'];

describe.each(DRIVERS)('schema on $name', (driver) => {
  const fresh = (): Database => {
    const database = driver.open(':memory:', { readOnly: false });
    migrate(database);
    return database;
  };
  /** An attempt that is admitted, has an open and a settled intent, and one that is closed with an open intent. */
  const filled = (): Database => {
    const database = fresh();
    const over = [
      [event('admitted'), 0],
      [event('dispatched', { intent: 'open' }), 1],
      [event('dispatched', { intent: 'done' }), 2],
      [event('settled', { intent: 'done' }), 3],
      [event('admitted', { requestId: 'over' }), 0],
      [event('dispatched', { requestId: 'over', intent: 'held' }), 1],
      [event('closed', { requestId: 'over' }), 2],
    ] as const;
    for (const [place, [next, ord]] of over.entries()) database.prepare(insertion()).run(...row(next, place + 1, ord));
    return database;
  };

  it('for any entries has the verdict of the plain model', () => {
    fc.assert(
      fc.property(anyEntries, (list) => {
        const database = fresh();
        const statement = database.prepare(insertion());
        const past: NewLogEvent[] = [];
        for (const { kind, turn: _turn, ...over } of list) {
          const next = event(kind, over);
          const own = past.filter(({ requestId }) => requestId === next.requestId);
          const insert = () => statement.run(...row(next, past.length + 1, own.length));
          if (allowed(own, next)) {
            insert();
            past.push(next);
          } else expect(insert).toThrow();
          expect(count(database)).toBe(past.length);
        }
        database.close();
      }),
    );
  });

  const over = { requestId: 'over' };
  it.each<[string, SqlValue[]]>([
    ['a stale epoch', row(event('progressed'), 8, 4, -1)],
    ['an epoch to come', row(event('progressed'), 8, 4, 1)],
    ['a gap in ord', row(event('progressed'), 8, 5)],
    ['an ord given already', row(event('progressed'), 8, 3)],
    ['a seq given already', row(event('progressed'), 7, 4)],
    ['no seq', row(event('progressed'), null, 4)],
    ['a second admission', row(event('admitted'), 8, 4)],
    ['a second dispatch', row(event('dispatched', { intent: 'open' }), 8, 4)],
    ['a dispatch of what is settled', row(event('dispatched', { intent: 'done' }), 8, 4)],
    ['a second settlement', row(event('settled', { intent: 'done' }), 8, 4)],
    ['a settlement of what was never dispatched', row(event('settled', { intent: 'x' }), 8, 4)],
    ['a preparation that is not first', row(event('prepared'), 8, 4)],
    ['a late entry of an open attempt', row(event('late'), 8, 4)],
    ['a reconciliation of an open attempt', row(event('reconciled', { intent: 'open' }), 8, 4)],
    ['a dispatch without admission', row(event('dispatched', { requestId: 'new' }), 8, 0)],
    ['a second end', row(event('closed', over), 8, 3)],
    ['a settlement after the end', row(event('settled', { ...over, intent: 'held' }), 8, 3)],
    ['a reconciliation of no intent', row(event('reconciled', { ...over, intent: 'x' }), 8, 3)],
    ['an end of an intent', row(event('closed', { intent: 'open' }), 8, 4)],
    ['a kind nobody knows', row(event('invented' as 'late', over), 8, 3)],
    ['a body over 4 KiB', row(event('progressed', { body: { text: 'ä'.repeat(2_043) } }), 8, 4)],
    ['a body cut short', [...row(event('progressed'), 8, 4).slice(0, -1), '{"a":']],
    ['text for a number', [...row(event('progressed'), 8, 4).slice(0, 5), 'one', 4, '', 'progressed', 0, 1, '{}']],
  ])('refuses %s', (_what, values) => {
    const database = filled();
    for (const verb of ['INSERT', 'INSERT OR REPLACE']) {
      expect(() => database.prepare(insertion(verb)).run(...values)).toThrow();
    }
    expect(count(database)).toBe(7);
    // The same place takes what is legal.
    database.prepare(insertion()).run(...row(event('progressed'), 8, 4));
    database.close();
  });

  it.each([
    ["UPDATE events SET body = '{}'"],
    ['UPDATE OR REPLACE events SET seq = 1 WHERE seq = 2'],
    ['DELETE FROM events'],
    ['DELETE FROM events WHERE seq = 7'],
    ['UPDATE writer SET epoch = epoch - 1'],
    ['UPDATE writer SET floor = floor - 1'],
    ['UPDATE writer SET id = 2'],
    ['DELETE FROM writer'],
    ['INSERT INTO writer VALUES (2, 0, 0, 0)'],
    ['INSERT OR REPLACE INTO writer VALUES (1, 9, 0, 0)'],
  ])('takes no %s', (sql) => {
    const database = filled();
    const dump = () => database.prepare('SELECT * FROM events, writer ORDER BY seq').all();
    const before = dump();
    expect(() => database.exec(sql)).toThrow();
    expect(dump()).toEqual(before);
    database.close();
  });

  it('fences the writer of an epoch that is over', () => {
    const database = filled();
    database.exec('UPDATE writer SET epoch = 5');
    expect(() => database.prepare(insertion()).run(...row(event('progressed'), 8, 4, 4))).toThrow(STALE_EPOCH);
    database.prepare(insertion()).run(...row(event('progressed'), 8, 4, 5));
    database.close();
  });

  it('finds the place of an entry by index, however many there are', () => {
    const database = fresh();
    let seen = 0;
    for (const { name, sql } of database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()) {
      const conditions = [...String(sql).matchAll(/\(SELECT [^()]*(?:\([^()]*\)[^()]*)*FROM events[^()]*\)/g)];
      seen += conditions.length;
      for (const [condition] of conditions) {
        const query = condition.slice(1, -1).replaceAll(/NEW\.\w+/g, "'x'");
        const plan = database.prepare(`EXPLAIN QUERY PLAN ${query}`).all();
        expect(plan.map(({ detail }) => detail).join(), `${name}: ${query}`).toMatch(/^SEARCH/);
      }
    }
    expect(seen).toBeGreaterThanOrEqual(10);
    database.close();
  });

  it('is made by the first step as version 1 has it', () => {
    const [made, old] = [fresh(), driver.open(':memory:', { readOnly: false })];
    old.exec(readFileSync(VERSION_ONE, 'utf8'));
    const words = (database: Database) =>
      database
        .prepare('SELECT name, sql FROM sqlite_schema ORDER BY name')
        .all()
        .map(({ name, sql }) => [name, String(sql).replace(/\s+/g, ' ')]);
    expect(words(made)).toEqual(words(old));
    for (const database of [made, old]) database.close();
  });

  it('opens a file of version 1, and goes on in it', async () => {
    const file = logFile();
    writeFileSync(file, '');
    const old = connection(driver, file);
    old.exec(readFileSync(VERSION_ONE, 'utf8'));
    old.close();
    const { log } = await opened(driver, file);
    const past = await all(log.read());
    expect(past.map(({ kind }) => kind)).toEqual([...FIRST, 'settled', 'closed', ...FIRST]);
    expect(past[2]).toEqual({
      ...event('dispatched', { intent: 'charge', atWall: 1_700_000_000_002 }),
      ...{ seq: 3, ord: 2, epoch: 1, body: { key: 'k-1', onAmbiguous: 'hold', tool: 'pay' } },
    });
    expect(await all(log.openIntents())).toMatchObject([{ requestId: 'req-2', key: "it's", onAmbiguous: 'reconcile' }]);
    const settled = event('settled', { requestId: 'req-2', intent: 'charge' });
    expect(await log.append(settled)).toMatchObject({ seq: 9, ord: 3, epoch: 3 });
  });

  it('brings an older version up in one transaction, or leaves it as it was', () => {
    const database = driver.open(':memory:', { readOnly: false });
    database.exec(readFileSync(VERSION_ONE, 'utf8'));
    const broken = [...STEPS, 'ALTER TABLE events ADD COLUMN at_mono REAL; SELECT nothing FROM nowhere;'];
    database.exec('BEGIN');
    expect(() => migrate(database, broken)).toThrow();
    database.exec('ROLLBACK');
    expect(versionOf(database, broken)).toBe(1);
    database.exec('BEGIN');
    migrate(database, [...STEPS, 'ALTER TABLE events ADD COLUMN at_mono REAL;']);
    database.exec('COMMIT');
    expect(database.prepare('SELECT at_mono FROM events').all()).not.toEqual([]);
    expect(() => versionOf(database)).toThrow(code('LOG_UNREADABLE'));
    database.close();
  });
});
