/**
 * Files for logs, the drivers that this Node has, and connections beside the log.
 *
 * Invariant: what is opened here is closed after the test. Deliberately absent: a driver that is not here; a suite names in
 * its titles those it ran on.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Database, SqliteDriver } from '../../src/sqlite/driver.ts';
import { driverOf } from '../../src/sqlite/drivers.ts';
import { openEventLog } from '../../src/sqlite/open-event-log.ts';
import type { Retain } from '../../src/sqlite/retention.ts';
import type { SqliteLog } from '../../src/sqlite/sqlite-event-log.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** At least one, or the suite fails as it is collected. */
export const DRIVERS: readonly SqliteDriver[] = (['node', 'better-sqlite3'] as const).flatMap((name) => {
  try {
    return [driverOf(name)];
  } catch {
    return [];
  }
});
if (DRIVERS.length === 0) throw new Error('This Node has no SQLite driver at all.');

/** Where a log may be made; gone after the test. */
export function logFile(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'leasehold-log-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'runs.db');
}

export interface Opened {
  readonly log: SqliteLog;
  readonly clock: FakeClock;
  /** The log's own connection, for what only it can do while it holds the file. */
  readonly database: Database;
}

export async function opened(driver: SqliteDriver, file = logFile(), retain: Retain | null = null): Promise<Opened> {
  const clock = new FakeClock();
  const connections: Database[] = [];
  const watched: SqliteDriver = {
    ...driver,
    open(path, options) {
      const database = driver.open(path, options);
      connections.push(database);
      return database;
    },
  };
  const log = await openEventLog(watched, file, retain, clock);
  onTestFinished(() => log.close());
  const [database] = connections;
  if (database === undefined) throw new Error('no connection was made');
  return { log, clock, database };
}

/** A connection of its own to a log that nobody holds. */
export function connection(driver: SqliteDriver, file: string): Database {
  const database = driver.open(file, { readOnly: false });
  onTestFinished(() => {
    try {
      database.close();
    } catch {
      // The test has closed it.
    }
  });
  return database;
}
