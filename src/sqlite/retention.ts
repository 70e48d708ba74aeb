/**
 * Retention: leaves the attempts out that are over and no longer wanted, by a copy of the table that takes its place.
 *
 * Invariants: one transaction, so that a crash at any instant leaves the whole old table or the whole new one, and the lock
 * is never let go; an attempt is kept whole or not at all; one that is open, or has an open intent, is always kept.
 * Deliberately absent: when, which is at opening only, before anything is written.
 */
import { type Connection, lastSeq, logError } from './opening.ts';
import { IS_OPEN, nextTurn } from './rows.ts';
import { EVENTS_RULES, eventsTable } from './schema.ts';

/** What is kept at most. An attempt past either bound is left out. */
export interface Retain {
  /** Days since an attempt was closed. */
  readonly days?: number;
  /** Closed attempts, counted from the last. */
  readonly attempts?: number;
}

const DAY_MS = 86_400_000;
const COPIED_ROWS = 2_000;

/**
 * Applies `retain` to a log that is held for writing; the space is given back. Rows are copied some thousand a turn; choosing
 * them before and packing the file after hold the loop, for about a second at some hundred thousand entries.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_WRITE_FAILED`; the log is then as it was
 */
export async function applyRetention(connection: Connection, { days, attempts }: Retain, now: number): Promise<void> {
  const { database } = connection;
  const oldest = days === undefined ? Number.NEGATIVE_INFINITY : now - days * DAY_MS;
  try {
    database.exec(
      'BEGIN IMMEDIATE; CREATE TEMP TABLE expired (request_id, attempt, PRIMARY KEY (request_id, attempt))',
    );
    const firstKept =
      attempts === undefined || attempts === 0
        ? null
        : database
            .prepare("SELECT seq FROM events WHERE kind = 'closed' ORDER BY seq DESC LIMIT 1 OFFSET ?")
            .get(attempts - 1);
    const bound = attempts === 0 ? Number.MAX_SAFE_INTEGER : Number(firstKept?.['seq'] ?? 0);
    database
      .prepare(
        `INSERT INTO expired SELECT request_id, attempt FROM events AS c
          WHERE kind = 'closed' AND (seq < ? OR at_wall < ?) AND NOT EXISTS (
            SELECT 1 FROM events AS d WHERE d.request_id = c.request_id AND d.attempt = c.attempt AND ${IS_OPEN})`,
      )
      .run(bound, oldest);
    const count = Number(database.prepare('SELECT count(*) AS count FROM expired').get()?.['count']);
    if (count > 0) await copy(connection);
    database.exec('DROP TABLE temp.expired; COMMIT');
    if (count > 0) database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {
      // SQLite has rolled back by itself.
    }
    throw logError(connection, error);
  }
}

async function copy({ database }: Connection): Promise<void> {
  database.exec(eventsTable('kept'));
  const rows = database.prepare(
    `INSERT INTO kept SELECT * FROM events AS e WHERE seq > ? AND seq <= ? AND NOT EXISTS (
      SELECT 1 FROM expired AS x WHERE x.request_id = e.request_id AND x.attempt = e.attempt)`,
  );
  const bound = database.prepare(
    `SELECT max(seq) AS last FROM (SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ${COPIED_ROWS})`,
  );
  const end = lastSeq(database);
  for (let at = 0; at < end; ) {
    const last = Number(bound.get(at)?.['last']);
    rows.run(at, last);
    at = last;
    await nextTurn();
  }
  database.prepare('UPDATE writer SET floor = max(floor, ?)').run(end);
  // The old table takes its indexes and triggers with it; the rules are laid down last, for new entries alone.
  database.exec(`DROP TABLE events; ALTER TABLE kept RENAME TO events; ${EVENTS_RULES}`);
}
