/**
 * Entries as rows, and the reading of them page by page.
 *
 * Invariants: no page holds the loop for more than some hundred rows; a reading ends with what was recorded when it began.
 * Deliberately absent: writing.
 */
import { LeaseholdError } from '../model/errors.ts';
import type { LogEvent, LogEventKind, OpenIntent } from '../model/stores.ts';
import { atEndOfTurn } from '../model/time.ts';
import { openIntentOf } from '../record/log-order.ts';
import type { Row, SqlValue } from './driver.ts';
import { type Connection, lastSeq, logError } from './opening.ts';

export const COLUMNS = 'seq, tenant, run, branch, request_id, attempt, ord, intent, kind, epoch, at_wall, body';
const PAGE_ROWS = 256;
/** Rows looked at for open intents at once: most are not of one. */
const SCAN_ROWS = 2_000;

/** A condition: the intent of the entry `d` has a known end. */
const SETTLED = `
  EXISTS (SELECT 1 FROM events AS e WHERE e.kind = 'settled'
    AND e.request_id = d.request_id AND e.attempt = d.attempt AND e.intent = d.intent)
  OR EXISTS (SELECT 1 FROM events AS e WHERE e.kind = 'reconciled'
    AND e.request_id = d.request_id AND e.attempt = d.attempt AND e.intent = d.intent
    AND json_extract(e.body, '$.verdict') IS NOT 'unknown')`;
/** The same: it is of an intent that is still open. */
export const IS_OPEN = `d.kind = 'dispatched' AND NOT (${SETTLED})`;

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => atEndOfTurn(resolve));
}

/** Entries in order. @throws LeaseholdError `ERR_LEASEHOLD_LOG_UNREADABLE`, `_LOG_WRITE_FAILED` once it is closed */
export async function* readEvents(
  connection: Connection,
  { run, after = 0, limit = Number.POSITIVE_INFINITY }: { run?: string; after?: number; limit?: number } = {},
): AsyncGenerator<LogEvent> {
  const where = `seq > ? AND seq <= ?${run === undefined ? '' : ' AND run = ?'}`;
  const named: SqlValue[] = run === undefined ? [] : [run];
  const end = guarded(connection, () => lastSeq(connection.database));
  const page = guarded(connection, () =>
    connection.database.prepare(`SELECT ${COLUMNS} FROM events WHERE ${where} ORDER BY seq LIMIT ?`),
  );
  let [at, left] = [after, limit];
  while (left > 0) {
    const asked = Math.min(Math.trunc(left), PAGE_ROWS);
    const rows = guarded(connection, () => page.all(at, end, ...named, asked));
    for (const row of rows) yield logEventOf(row);
    if (rows.length < asked || asked === 0) return;
    at = Number(rows.at(-1)?.['seq']);
    left -= rows.length;
    await nextTurn();
  }
}

/** In order of dispatch. @throws as `readEvents` does */
export async function* readOpenIntents(connection: Connection): AsyncGenerator<OpenIntent> {
  const [bound, open] = guarded(connection, () => [
    connection.database.prepare(
      `SELECT max(seq) AS last FROM (SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ${SCAN_ROWS})`,
    ),
    connection.database.prepare(
      `SELECT ${COLUMNS} FROM events AS d WHERE seq > ? AND seq <= ? AND ${IS_OPEN} ORDER BY seq`,
    ),
  ]);
  const end = guarded(connection, () => lastSeq(connection.database));
  for (let at = 0; at < end; ) {
    const [from, last] = [at, Number(guarded(connection, () => bound.get(at))?.['last'])];
    for (const row of guarded(connection, () => open.all(from, last))) yield openIntentOf(logEventOf(row));
    at = last;
    await nextTurn();
  }
}

function guarded<T>(connection: Connection, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw logError(connection, error);
  }
}

function logEventOf(row: Row): LogEvent {
  const [text, number] = [(name: string) => String(row[name]), (name: string) => Number(row[name])];
  return {
    seq: number('seq'),
    tenant: text('tenant'),
    run: text('run'),
    branch: text('branch'),
    requestId: text('request_id'),
    attempt: number('attempt'),
    ord: number('ord'),
    intent: text('intent'),
    kind: text('kind') as LogEventKind,
    epoch: number('epoch'),
    atWall: number('at_wall'),
    body: bodyOf(text('body')),
  };
}

function bodyOf(text: string): LogEvent['body'] {
  try {
    return JSON.parse(text) as LogEvent['body'];
  } catch (cause) {
    throw new LeaseholdError('LOG_UNREADABLE', 'The event log is damaged: an entry is not whole.', { cause });
  }
}
