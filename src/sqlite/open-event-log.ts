/**
 * The doors: opening a log for writing, and one only for reading.
 *
 * Invariant: options are parsed before anything is touched. Deliberately absent: what an open log does.
 */
import { invalidOption } from '../model/errors.ts';
import { countOr, nested, objectOr, optionsObject, refuseUnknown, wordOr } from '../model/option-checks.ts';
import type { EventLog } from '../model/stores.ts';
import { type Clock, systemClock } from '../model/time.ts';
import type { SqliteDriver } from './driver.ts';
import { type DriverName, driverOf } from './drivers.ts';
import { connectForReading, openForWriting } from './opening.ts';
import { ensureFile, placeOf } from './place.ts';
import { applyRetention, type Retain } from './retention.ts';
import { readEvents, readOpenIntents } from './rows.ts';
import { SqliteEventLog, type SqliteLog } from './sqlite-event-log.ts';

export interface SqliteEventLogOptions {
  /**
   * Made when missing, in a directory that exists, on a local file system. While it is open, nothing else in this process may
   * open and close it, be it to copy it: that drops the locks of the process (POSIX).
   */
  readonly file: string;
  /** Default: `node` where this Node has it, else `better-sqlite3`. In one process the same for one file: they share no locks. */
  readonly driver?: DriverName;
  /** Applied when the log is opened. Default: everything is kept. */
  readonly retain?: Retain;
  readonly clock?: Clock;
}

/** A log that is only read. */
export interface EventLogReader extends Pick<EventLog, 'read' | 'openIntents'> {
  close(): Promise<void>;
}

const DRIVERS = ['node', 'better-sqlite3'] as const;

/**
 * Opens the event log in a file, alone: whoever else opens it meanwhile is refused at once, in any process.
 * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`; `_NOT_AVAILABLE` without a driver, with an SQLite that is
 *   too old, or on a network file system; `_LOG_LOCKED`; `_LOG_UNREADABLE`; `_LOG_WRITE_FAILED` when the disk takes no more
 */
export async function sqliteEventLog(options: SqliteEventLogOptions): Promise<SqliteLog> {
  const given = optionsObject('options', options);
  refuseUnknown(given, new Set(['file', 'driver', 'retain', 'clock']), 'sqliteEventLog');
  const file = fileOf(given.file);
  const retain = retainOf(given.retain);
  const clock = objectOr('clock', given.clock, ['now', 'wall', 'setTimeout', 'clearTimeout']) ?? systemClock;
  return openEventLog(chosen(given.driver), file, retain, clock);
}

/** The same with a driver at hand. */
export async function openEventLog(
  driver: SqliteDriver,
  file: string,
  retain: Retain | null,
  clock: Clock,
): Promise<SqliteLog> {
  const path = await placeOf(file);
  await ensureFile(path);
  const connection = await openForWriting(driver, path);
  try {
    if (retain !== null) await applyRetention(connection, retain, clock.wall());
    return new SqliteEventLog(connection, clock);
  } catch (error) {
    connection.database.close();
    throw error;
  }
}

/**
 * Opens the log in a file while nobody writes it, only to read. It keeps writers out until it is closed.
 * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_LOG_LOCKED` while somebody writes it, `_LOG_UNREADABLE`, `_NOT_AVAILABLE`
 */
export async function openForReading(file: string, options: { driver?: DriverName } = {}): Promise<EventLogReader> {
  const { driver } = nested<{ driver?: DriverName }>('options', options, new Set(['driver']));
  const connection = await connectForReading(chosen(driver), await placeOf(fileOf(file)));
  return {
    read: (filter) => readEvents(connection, filter),
    openIntents: () => readOpenIntents(connection),
    async close() {
      connection.database.close();
    },
  };
}

function chosen(driver: DriverName | undefined): SqliteDriver {
  return driverOf(driver === undefined ? undefined : wordOr('driver', driver, DRIVERS, 'node'));
}

function fileOf(file: unknown): string {
  // SQLite takes these for no file at all, or for an address.
  if (typeof file === 'string' && file !== '' && !/^(:|file:)/.test(file) && !file.includes('\0')) return file;
  throw invalidOption('file', file, 'the path of a file');
}

function retainOf(retain: Retain | undefined): Retain | null {
  if (retain === undefined) return null;
  const { days, attempts } = nested<Retain>('retain', retain, new Set(['days', 'attempts']));
  if (days !== undefined && !(typeof days === 'number' && days >= 0 && days < Number.POSITIVE_INFINITY)) {
    throw invalidOption('retain.days', days, 'a finite number of at least 0');
  }
  const count = countOr('retain.attempts', attempts, null);
  return { ...(days !== undefined && { days }), ...(count !== null && { attempts: count }) };
}
