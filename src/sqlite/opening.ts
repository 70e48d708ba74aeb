/**
 * How a log file is opened: everything durability rests on is asked for, and then read back.
 *
 * Invariants: fails closed, with the connection closed again; one writer at a time, others are told at once; each writer has
 * an epoch of its own. After a crash, which a write-ahead log left behind gives away, the whole file is checked.
 * Deliberately absent: the file system (`place.ts`), and everything that comes after.
 */
import { stat } from 'node:fs/promises';
import { isLeaseholdError, LeaseholdError } from '../model/errors.ts';
import { type Database, pragma, type SqliteDriver, type SqlValue } from './driver.ts';
import { migrate, STEPS, versionOf } from './schema.ts';

/** A connection, and who answers for its errors. */
export interface Connection {
  readonly driver: SqliteDriver;
  readonly database: Database;
}
export interface WritingConnection extends Connection {
  readonly epoch: number;
  /** The last place given. */
  readonly seq: number;
}

/** better-sqlite3 drops to NORMAL by itself unless FULL is asked for: hence the reading back, also after a write. */
const SETTINGS: readonly (readonly [name: string, asked: string, held: SqlValue])[] = [
  ['journal_mode', 'WAL', 'wal'],
  ['locking_mode', 'EXCLUSIVE', 'exclusive'],
  ['synchronous', 'FULL', 2],
  ['wal_autocheckpoint', '0', 0],
  ['trusted_schema', 'OFF', 0],
  ...(process.platform === 'darwin'
    ? ([
        ['fullfsync', '1', 1],
        ['checkpoint_fullfsync', '1', 1],
      ] as const)
    : []),
];

/** Below 3.51.3, and off the lines it was brought back to, a write-ahead log can be damaged while it is reset. */
export function isFitVersion(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3 || minor > 51) return major > 3 || minor > 51;
  return (minor === 51 && patch >= 3) || (minor === 50 && patch >= 7) || (minor === 44 && patch >= 6);
}

/**
 * Takes the file for writing, brings it to the newest version and begins an epoch.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_LOCKED`, `_LOG_UNREADABLE`, `_LOG_WRITE_FAILED` or `_NOT_AVAILABLE`
 */
export async function openForWriting(driver: SqliteDriver, path: string): Promise<WritingConnection> {
  const crashed = await leftBehind(path);
  return connected(driver, path, false, (database) => {
    // In this mode the lock of the first transaction is kept, and no memory is shared with other processes.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    versionOf(database);
    for (const [name, asked] of SETTINGS) database.exec(`PRAGMA ${name} = ${asked}`);
    verify(database);
    if (crashed) check(database);
    database.exec('BEGIN IMMEDIATE');
    migrate(database);
    database.exec('UPDATE writer SET epoch = epoch + 1; COMMIT');
    verify(database);
    const { epoch, floor } = database.prepare('SELECT epoch, floor FROM writer').get() ?? {};
    return { driver, database, epoch: Number(epoch), seq: Math.max(Number(floor), lastSeq(database)) };
  });
}

/**
 * Opens a file that nobody writes, to read it.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_LOCKED`, `_LOG_UNREADABLE` or `_NOT_AVAILABLE`
 */
export async function connectForReading(driver: SqliteDriver, path: string): Promise<Connection> {
  const crashed = await leftBehind(path);
  return connected(driver, path, true, (database) => {
    const version = versionOf(database);
    if (version < STEPS.length) {
      const why = version === 0 ? 'is empty' : `is of version ${version}: open it for writing once`;
      throw new LeaseholdError('LOG_UNREADABLE', `The event log ${why}.`);
    }
    if (crashed) check(database);
    return { driver, database };
  });
}

/** The last place in the file; 0 when there is none. */
export function lastSeq(database: Database): number {
  return Number(database.prepare('SELECT coalesce(max(seq), 0) AS last FROM events').get()?.['last']);
}

/** What an error of a driver means to whoever uses the log. */
export function logError({ driver }: Pick<Connection, 'driver'>, error: unknown): LeaseholdError {
  if (isLeaseholdError(error)) return error as LeaseholdError;
  const message = error instanceof Error ? error.message : String(error);
  switch (driver.faultOf(error)) {
    case 'busy':
      return new LeaseholdError('LOG_LOCKED', 'The event log is in use by another process or connection.', {
        cause: error,
      });
    case 'unfit':
      return new LeaseholdError('LOG_UNREADABLE', `The event log cannot be read: ${message}.`, { cause: error });
    default:
      return new LeaseholdError('LOG_WRITE_FAILED', `The event log failed: ${message}.`, { cause: error });
  }
}

function connected<T>(driver: SqliteDriver, path: string, readOnly: boolean, use: (database: Database) => T): T {
  let database: Database | null = null;
  try {
    database = driver.open(path, { readOnly });
    const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.['version']);
    if (!isFitVersion(version)) {
      const why = `SQLite ${version} of ${driver.name} may damage a log; 3.51.3 is needed, or 3.50.7 or 3.44.6.`;
      throw new LeaseholdError('NOT_AVAILABLE', why);
    }
    // A wait would block the loop for its whole length.
    database.exec('PRAGMA busy_timeout = 0');
    return use(database);
  } catch (error) {
    try {
      database?.close();
    } catch {
      // What went wrong first is told.
    }
    throw logError({ driver }, error);
  }
}

function verify(database: Database): void {
  for (const [name, asked, held] of SETTINGS) {
    const got = pragma(database, name);
    if (got !== held) throw new LeaseholdError('NOT_AVAILABLE', `SQLite did not take ${name}=${asked}, but ${got}.`);
  }
}

/** Also holds each row to its checks, so that a body cut short is seen. */
function check(database: Database): void {
  const found = pragma(database, 'quick_check(1)');
  if (found !== 'ok') throw new LeaseholdError('LOG_UNREADABLE', `The event log is damaged: ${found}.`);
}

/** Whether the last writer did not close the file. Of a file that lost all its pages SQLite would throw the rest away. */
async function leftBehind(path: string): Promise<boolean> {
  const size = (of: string) =>
    stat(of).then(
      (found) => found.size,
      () => 0,
    );
  const [whole, ahead] = [await size(path), await size(`${path}-wal`)];
  if (whole === 0 && ahead > 0) throw new LeaseholdError('LOG_UNREADABLE', 'The event log is damaged: it is empty.');
  return ahead > 0;
}
