/**
 * The schema of a log file, and how an older one becomes the newest.
 *
 * Invariants: the database itself refuses whatever `record/log-order.ts` refuses, every change of what was recorded, and a
 * writer whose epoch is over. A step, once released, never changes; a change is a further step.
 * Deliberately absent: retention, the one thing that takes entries out, by a copy of the table (`retention.ts`).
 */
import { LeaseholdError } from '../model/errors.ts';
import { LOG_EVENT_KINDS } from '../model/stores.ts';
import { type Database, pragma } from './driver.ts';

/** 'LsHd' in the header of the file: it is one of ours. */
export const APPLICATION_ID = 0x4c734864;
export const MAX_BODY_BYTES = 4_096;

/** What the database says to a writer that another has replaced. */
export const STALE_EPOCH = 'the epoch of the writer is over';

const ATTEMPT = 'request_id = NEW.request_id AND attempt = NEW.attempt';
const has = (kind: string, more = '') =>
  `EXISTS (SELECT 1 FROM events WHERE ${ATTEMPT} AND kind = '${kind}'${more && ` AND ${more}`})`;
const SAME_INTENT = 'intent = NEW.intent';
const never = (name: string, change: string, when = '') =>
  `CREATE TRIGGER ${name} BEFORE ${change} ${when} BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;`;

/** Why an entry is refused, and when; the first that holds is told. */
const REFUSALS: readonly (readonly [why: string, when: string])[] = [
  [STALE_EPOCH, 'NEW.epoch <> (SELECT epoch FROM writer)'],
  ['seq goes back', 'NEW.seq <= (SELECT max(floor, coalesce((SELECT max(seq) FROM events), 0)) FROM writer)'],
  ['ord has a gap', `NEW.ord <> (SELECT coalesce(max(ord) + 1, 0) FROM events WHERE ${ATTEMPT})`],
  ['the attempt is closed', `NEW.kind NOT IN ('late', 'reconciled') AND ${has('closed')}`],
  ['the attempt is not closed', `NEW.kind IN ('late', 'reconciled') AND NOT ${has('closed')}`],
  ['the attempt is admitted already', `NEW.kind = 'admitted' AND ${has('admitted')}`],
  ['the attempt is not admitted', `NEW.kind IN ('dispatched', 'progressed', 'settled') AND NOT ${has('admitted')}`],
  [
    'the intent is dispatched already',
    `NEW.kind = 'dispatched' AND (${has('dispatched', SAME_INTENT)} OR ${has('settled', SAME_INTENT)})`,
  ],
  ['the intent is settled already', `NEW.kind = 'settled' AND ${has('settled', SAME_INTENT)}`],
  [
    'the intent is not dispatched',
    `NEW.kind = 'settled' AND NEW.intent <> '' AND NOT ${has('dispatched', SAME_INTENT)}`,
  ],
  [
    'the intent is not open',
    `NEW.kind = 'reconciled' AND (NOT ${has('dispatched', SAME_INTENT)} OR ${has('settled', SAME_INTENT)}
      OR ${has('reconciled', `${SAME_INTENT} AND json_extract(body, '$.verdict') IS NOT 'unknown'`)})`,
  ],
];

/** One entry a row. Under any name: retention copies it. */
export function eventsTable(name: string): string {
  return `CREATE TABLE ${name} (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL, run TEXT NOT NULL, branch TEXT NOT NULL,
    request_id TEXT NOT NULL, attempt INTEGER NOT NULL, ord INTEGER NOT NULL,
    intent TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL CHECK (kind IN (${LOG_EVENT_KINDS.map((kind) => `'${kind}'`).join(', ')})),
    epoch INTEGER NOT NULL, at_wall REAL NOT NULL,
    body TEXT NOT NULL CHECK (length(CAST(body AS BLOB)) <= ${MAX_BODY_BYTES} AND json_valid(body)),
    CHECK (intent = '' OR kind NOT IN ('prepared', 'admitted', 'closed')),
    CHECK (kind <> 'prepared' OR ord = 0)
  ) STRICT;`;
}

/** What holds over the table: made after a copy, since old entries have old epochs. */
export const EVENTS_RULES = [
  'CREATE UNIQUE INDEX events_by_ord ON events (request_id, attempt, ord);',
  'CREATE INDEX events_by_run ON events (run, seq);',
  ...['admitted', 'closed'].map(
    (kind) => `CREATE UNIQUE INDEX events_${kind} ON events (request_id, attempt) WHERE kind = '${kind}';`,
  ),
  ...['dispatched', 'settled'].map(
    (kind) => `CREATE UNIQUE INDEX events_${kind} ON events (request_id, attempt, intent) WHERE kind = '${kind}';`,
  ),
  "CREATE INDEX events_reconciled ON events (request_id, attempt, intent) WHERE kind = 'reconciled';",
  never('events_no_update', 'UPDATE ON events'),
  never('events_no_delete', 'DELETE ON events'),
  `CREATE TRIGGER events_order BEFORE INSERT ON events BEGIN SELECT CASE
${REFUSALS.map(([why, when]) => `WHEN ${when} THEN RAISE(ABORT, '${why}')`).join('\n')}\nEND; END;`,
].join('\n');

/** `floor`: no `seq` at or under it is given again, also when retention took the entry out. */
const WRITER = `
  CREATE TABLE writer (
    id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, floor INTEGER NOT NULL, probed_at REAL NOT NULL
  ) STRICT;
  INSERT INTO writer VALUES (1, 0, 0, 0);
  ${never('writer_no_insert', 'INSERT ON writer')}
  ${never('writer_no_delete', 'DELETE ON writer')}
  ${never('writer_grows', 'UPDATE ON writer', 'WHEN NEW.epoch < OLD.epoch OR NEW.floor < OLD.floor')}`;

/** From each version to the next; the first is from an empty file to 1. */
export const STEPS: readonly string[] = [`${eventsTable('events')}\n${WRITER}\n${EVENTS_RULES}`];

/**
 * Brings a file to the newest version, in the transaction that the caller holds.
 * @throws LeaseholdError `ERR_LEASEHOLD_LOG_UNREADABLE` for a newer file, or one that is no log
 */
export function migrate(database: Database, steps = STEPS): void {
  const version = versionOf(database, steps);
  for (const step of steps.slice(version)) database.exec(step);
  if (version === 0) database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  if (version < steps.length) database.exec(`PRAGMA user_version = ${steps.length}`);
}

/** 0 for an empty file. @throws as `migrate` does */
export function versionOf(database: Database, steps = STEPS): number {
  const [id, version] = [Number(pragma(database, 'application_id')), Number(pragma(database, 'user_version'))];
  const isEmpty = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count'] === 0;
  if (id === 0 && version === 0 && isEmpty) return 0;
  if (id !== APPLICATION_ID || version < 1) {
    throw new LeaseholdError('LOG_UNREADABLE', 'The file is a database, but no event log.');
  }
  if (version > steps.length) {
    const why = `The event log is of version ${version}; this library knows ${steps.length} at most.`;
    throw new LeaseholdError('LOG_UNREADABLE', why);
  }
  return version;
}
