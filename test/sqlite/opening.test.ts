/** Opening a log: what is refused, with which code, and what a file that was torn still says. */
import { copyFileSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isLeaseholdError } from '../../src/model/errors.ts';
import type { Row, SqliteDriver } from '../../src/sqlite/driver.ts';
import { driverOf } from '../../src/sqlite/drivers.ts';
import { openForReading, sqliteEventLog } from '../../src/sqlite/open-event-log.ts';
import { isFitVersion, openForWriting } from '../../src/sqlite/opening.ts';
import { foreignKind } from '../../src/sqlite/place.ts';
import { all, code, event } from '../record/event-log-contract.ts';
import { connection, DRIVERS, logFile, type Opened, opened } from './sqlite-rig.ts';

/** A driver whose answers to some queries are made up. */
function feigning(driver: SqliteDriver, answers: Readonly<Record<string, Row>>): SqliteDriver & { closed: number } {
  const feigned = {
    ...driver,
    closed: 0,
    open(path: string, options: { readonly readOnly: boolean }) {
      const real = driver.open(path, options);
      return {
        exec: (sql: string) => real.exec(sql),
        prepare(sql: string) {
          const statement = real.prepare(sql);
          const answer = answers[sql];
          return answer === undefined ? statement : { run: () => undefined, get: () => answer, all: () => [answer] };
        },
        close() {
          feigned.closed += 1;
          real.close();
        },
      };
    },
  };
  return feigned;
}

describe('isFitVersion', () => {
  it.each(['3.51.3', '3.51.10', '3.52.0', '3.50.7', '3.44.6', '4.0.0'])('takes %s', (version) => {
    expect(isFitVersion(version)).toBe(true);
  });
  it.each(['3.51.2', '3.50.6', '3.49.9', '3.45.1', '3.44.5', '3.7.0', '2.9.9', 'undefined'])(
    'refuses %s',
    (version) => {
      expect(isFitVersion(version)).toBe(false);
    },
  );
});

describe('foreignKind', () => {
  it('names network file systems, also where the number came with a sign', () => {
    expect([0x6969, 0xfe534d42 | 0, 0x65735546].map(foreignKind)).toEqual(['NFS', 'SMB', 'FUSE']);
  });
  it('lets local ones pass', () => {
    expect([0xef53, 0x58465342, 0x9123683e, 0x01021994].map(foreignKind)).toEqual([null, null, null, null]);
  });
});

describe('sqliteEventLog', () => {
  it.each([
    [{}],
    [{ file: '' }],
    [{ file: ':memory:' }],
    [{ file: 'file:runs.db' }],
    [{ file: 'runs.db', driver: 'libsql' }],
    [{ file: 'runs.db', retain: { days: -1 } }],
    [{ file: 'runs.db', retain: { attempts: 1.5 } }],
    [{ file: 'runs.db', retain: { years: 1 } }],
    [{ file: 'runs.db', durable: false }],
  ])('refuses the options %j', async (options) => {
    await expect(sqliteEventLog(options as unknown as { file: string })).rejects.toThrow(code('INVALID_OPTION'));
  });

  it('takes the driver of this Node first, and says when the one asked for is missing', () => {
    const here = DRIVERS.map(({ name }) => name);
    expect(driverOf().name).toBe(here[0]);
    for (const name of ['node', 'better-sqlite3'] as const) {
      if (!here.includes(name)) expect(() => driverOf(name)).toThrow(code('NOT_AVAILABLE'));
      else expect(driverOf(name).name).toBe(name);
    }
  });
});

describe.each(DRIVERS)('opening on $name', (driver) => {
  const { name } = driver;

  it('makes the file for its owner alone, and finds it through links', async () => {
    const file = logFile();
    const { log } = await opened(driver, file);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    await log.append(event('prepared'));
    await log.close();
    const link = join(dirname(file), 'link.db');
    symlinkSync(file, link);
    const again = await sqliteEventLog({ file: link, driver: name });
    expect(await all(again.read())).toHaveLength(1);
    await again.close();
  });

  it('refuses a directory that is missing, and a file that is none', async () => {
    const file = logFile();
    await expect(opened(driver, join(file, 'runs.db'))).rejects.toThrow(code('LOG_UNREADABLE'));
    mkdirSync(file);
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_UNREADABLE'));
  });

  it('refuses an SQLite that is too old, and a setting that it did not take', async () => {
    const { log } = await opened(driver);
    await log.close();
    const feigned = [
      { 'SELECT sqlite_version() AS version': { version: '3.51.2' } },
      { 'PRAGMA synchronous': { synchronous: 1 } },
      { 'PRAGMA journal_mode': { journal_mode: 'delete' } },
    ].map((answers) => feigning(driver, answers));
    for (const old of feigned) {
      const file = logFile();
      writeFileSync(file, '');
      await expect(openForWriting(old, file)).rejects.toThrow(code('NOT_AVAILABLE'));
      expect(old.closed).toBe(1);
    }
  });

  it('holds what it was told to hold, also after it wrote', async () => {
    const { log, database } = await opened(driver);
    await log.append(event('prepared'));
    const held = ['synchronous', 'journal_mode', 'locking_mode', 'wal_autocheckpoint', 'busy_timeout'];
    const values = held.map((pragma) => Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
    expect(values).toEqual([2, 'wal', 'exclusive', 0, 0]);
  });

  it('refuses whoever comes second, at once, for writing and for reading', async () => {
    const file = logFile();
    const { log } = await opened(driver, file);
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_LOCKED'));
    await expect(openForReading(file, { driver: name })).rejects.toThrow(code('LOG_LOCKED'));
    await log.append(event('prepared'));
    await log.close();
    const reader = await openForReading(file, { driver: name });
    onTestFinished(() => reader.close());
    const second = await openForReading(file, { driver: name });
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_LOCKED'));
    expect(await all(second.read())).toEqual(await all(reader.read()));
    expect(await all(reader.openIntents())).toEqual([]);
    await second.close();
  });

  it('refuses a file that is no log, and leaves it as it was', async () => {
    const file = logFile();
    writeFileSync(file, 'no database, but text that is long enough to be taken for the header of one'.repeat(20));
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_UNREADABLE'));
    const foreign = logFile();
    writeFileSync(foreign, '');
    const database = connection(driver, foreign);
    database.exec('CREATE TABLE events (a); INSERT INTO events VALUES (1)');
    database.close();
    await expect(opened(driver, foreign)).rejects.toThrow('no event log');
    await expect(openForReading(foreign, { driver: name })).rejects.toThrow('no event log');
    const after = connection(driver, foreign);
    expect(after.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'delete' });
    expect(after.prepare('SELECT * FROM events').all()).toMatchObject([{ a: 1 }]);
  });

  it('refuses a log of a newer version, and an empty file to read', async () => {
    const file = logFile();
    const { log } = await opened(driver, file);
    await log.close();
    const database = connection(driver, file);
    database.exec('PRAGMA user_version = 99');
    database.close();
    await expect(opened(driver, file)).rejects.toThrow('is of version 99');
    const empty = logFile();
    await expect(openForReading(empty, { driver: name })).rejects.toThrow(code('LOG_UNREADABLE'));
    writeFileSync(empty, '');
    await expect(openForReading(empty, { driver: name })).rejects.toThrow('is empty');
  });

  it('for any cut of file or write-ahead log opens a committed prefix, or refuses', async () => {
    const file = logFile();
    const { log, database } = await opened(driver, file);
    const requests = Array.from({ length: 40 }, (_, n) => `req-${n}`);
    const write = (requestId: string, kind: 'prepared' | 'admitted' | 'closed', bytes = 1_000) =>
      log.append(event(kind, { requestId, body: { text: requestId.repeat(bytes / requestId.length) } }));
    for (const requestId of requests) await write(requestId, 'prepared', 3_500);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const commits: number[] = [requests.length];
    for (const requestId of requests) {
      await Promise.all([write(requestId, 'admitted'), write(requestId, 'closed')]);
      commits.push((commits.at(-1) ?? 0) + 2);
    }
    const whole = await all(log.read());
    const copy = logFile();
    // As a crash would leave them. The log is of no use after this: closing a descriptor of the file drops its locks.
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    const [size, ahead] = [statSync(copy).size, statSync(`${copy}-wal`).size];
    let refused = 0;
    const torn = fc.record({ cut: fc.constantFrom('', '-wal'), at: fc.double({ min: 0, max: 1, noNaN: true }) });
    await fc.assert(
      fc.asyncProperty(torn, async ({ cut, at }) => {
        const torn = logFile();
        for (const part of ['', '-wal']) copyFileSync(`${copy}${part}`, `${torn}${part}`);
        truncateSync(`${torn}${cut}`, Math.floor(at * (cut === '' ? size : ahead)));
        let again: Opened;
        try {
          again = await opened(driver, torn);
        } catch (error) {
          refused += 1;
          expect(isLeaseholdError(error) && error.leaseholdCode).toBe('ERR_LEASEHOLD_LOG_UNREADABLE');
          expect(cut).toBe('');
          return;
        }
        // What opens can be read to its end.
        const found = await all(again.log.read());
        await again.log.close();
        expect(found).toEqual(whole.slice(0, found.length));
        expect(commits).toContain(found.length);
      }),
      { numRuns: 60, examples: [[{ cut: '', at: 0 }], [{ cut: '-wal', at: 1 }], [{ cut: '-wal', at: 0 }]] },
    );
    expect(refused).toBeGreaterThan(0);
  });
});
