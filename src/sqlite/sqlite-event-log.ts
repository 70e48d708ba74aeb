/**
 * The event log in a file: one commit for all appends of a turn of the loop.
 *
 * Invariants: an append resolves after its commit and never otherwise; an entry out of order fails alone; a write that fails
 * rejects everything that waits, and nothing is taken until the log has healed. No append reads the file, but for one to an
 * attempt that is over or was begun before the file was opened.
 * Deliberately absent: the order of entries (`record/log-order.ts`), opening and reading.
 */
import { LeaseholdError } from '../model/errors.ts';
import type { EventLog, LogEvent, LogHealth, NewLogEvent, OpenIntent } from '../model/stores.ts';
import { atEndOfTurn, type Clock, type Timer } from '../model/time.ts';
import { type AttemptOrder, advance, attemptKey, faultOf, outOfOrder, unbegun } from '../record/log-order.ts';
import type { Statement } from './driver.ts';
import { logError, type WritingConnection } from './opening.ts';
import { COLUMNS, readEvents, readOpenIntents } from './rows.ts';
import { MAX_BODY_BYTES, STALE_EPOCH } from './schema.ts';

/** An event log on disk. What it acknowledged survives the process and the machine, if its disk keeps its word. */
export interface SqliteLog extends EventLog {
  readonly durability: 'synced';
  readonly health: LogHealth;
  /**
   * Resolves once the entry is on disk. An entry whose write failed may still be found after a crash that follows at once; one
   * that was acknowledged always is.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_LOG_ORDER`, `_LOG_ENTRY`, `_LOG_LOCKED` or `_LOG_WRITE_FAILED`
   */
  append(event: NewLogEvent): Promise<LogEvent>;
  onHealth(listener: (health: LogHealth) => void): () => void;
  /** Writes what waits, then lets the file go. Never rejects. */
  close(): Promise<void>;
}

interface Waiting {
  readonly event: NewLogEvent;
  readonly text: string;
  readonly verdict: unknown;
  readonly resolve: (event: LogEvent) => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how long one commit holds the loop. */
const MAX_BATCH = 256;
/** Pages of 4 KiB in the write-ahead log that are not in the file yet: about 1 MiB, some milliseconds of work. */
const CHECKPOINT_PAGES = 256;
const PROBE_MS = 1_000;

export class SqliteEventLog implements SqliteLog {
  readonly durability = 'synced';
  readonly #connection: WritingConnection;
  readonly #clock: Clock;
  readonly #insert: Statement;
  readonly #history: Statement;
  readonly #backlog: Statement;
  readonly #attempts = new Map<string, AttemptOrder>();
  readonly #listeners = new Set<(health: LogHealth) => void>();
  #waiting: Waiting[] = [];
  #seq: number;
  #health: LogHealth = 'writable';
  #failure: LeaseholdError | null = null;
  #probe: Timer | null = null;
  /** Of work at the end of this turn. */
  #isScheduled = false;
  /** The write-ahead log has grown so far that the next work is a checkpoint. */
  #isBehind = false;

  constructor(connection: WritingConnection, clock: Clock) {
    const { database, seq } = connection;
    this.#connection = connection;
    this.#clock = clock;
    this.#seq = seq;
    this.#insert = database.prepare(`INSERT INTO events (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#history = database.prepare(
      `SELECT kind, intent, json_extract(body, '$.verdict') AS verdict FROM events
        WHERE request_id = ? AND attempt = ? ORDER BY ord`,
    );
    // Before SQLite 3.51 this is itself a checkpoint: right as well, only more often than needed.
    this.#backlog = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  get epoch(): number {
    return this.#connection.epoch;
  }
  get health(): LogHealth {
    return this.#health;
  }
  onHealth(listener: (health: LogHealth) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  append(event: NewLogEvent): Promise<LogEvent> {
    return new Promise((resolve, reject) => {
      if (this.#health !== 'writable') throw this.#refusal();
      const text = textOf(event);
      // A copy: what the caller does to its own meanwhile is not recorded.
      this.#waiting.push({ event: { ...event }, text, verdict: event.body['verdict'], resolve, reject });
      this.#schedule();
    });
  }

  read(filter?: { run?: string; after?: number; limit?: number }): AsyncIterable<LogEvent> {
    return readEvents(this.#connection, filter);
  }
  openIntents(): AsyncIterable<OpenIntent> {
    return readOpenIntents(this.#connection);
  }

  async close(): Promise<void> {
    if (this.#health === 'closed') return;
    while (this.#waiting.length > 0) this.#flush();
    this.#isBehind = false;
    if (this.#probe !== null) this.#clock.clearTimeout(this.#probe);
    const { database } = this.#connection;
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // What is committed stays in the write-ahead log, and is found there.
    }
    try {
      database.close();
    } catch {
      // Nothing can be done about it here, and nothing is lost.
    }
    this.#become('closed');
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    atEndOfTurn(() => this.#work());
  }
  /** A commit or a checkpoint: the one wait is never laid upon the other. */
  #work(): void {
    this.#isScheduled = false;
    if (this.#isBehind) this.#checkpoint();
    else this.#flush();
    if (this.#isBehind || this.#waiting.length > 0) this.#schedule();
  }

  /** Commits what waits, at most `MAX_BATCH` of it. */
  #flush(): void {
    const batch = this.#waiting.splice(0, MAX_BATCH);
    if (batch.length === 0) return;
    const { database } = this.#connection;
    const seq = this.#seq;
    let recorded: (LogEvent | LeaseholdError)[];
    try {
      database.exec('BEGIN IMMEDIATE');
      recorded = batch.map((waiting) => this.#record(waiting));
      database.exec('COMMIT');
    } catch (error) {
      this.#seq = seq;
      this.#fail(error, batch);
      return;
    }
    for (const [place, { resolve, reject }] of batch.entries()) {
      const outcome = recorded[place];
      if (outcome instanceof Error) reject(outcome);
      else if (outcome !== undefined) resolve(outcome);
    }
    this.#guard(() => {
      const { log, checkpointed } = this.#backlog.get() ?? {};
      this.#isBehind = Number(log) - Number(checkpointed) > CHECKPOINT_PAGES;
    });
  }

  /** Inserts one entry, within the transaction; an error when it is refused alone. */
  #record({ event, text, verdict }: Waiting): LogEvent | LeaseholdError {
    const key = attemptKey(event);
    const { driver, epoch } = this.#connection;
    try {
      const order = this.#attempts.get(key) ?? this.#orderOf(event);
      const fault = faultOf(order, event);
      if (fault !== null) return outOfOrder(event, fault);
      const { tenant, run, branch, requestId, attempt, intent, kind, atWall, body } = event;
      const [seq, ord] = [this.#seq + 1, order.count];
      this.#insert.run(seq, tenant, run, branch, requestId, attempt, ord, intent, kind, epoch, atWall, text);
      this.#seq = seq;
      advance(order, event, verdict);
      if (order.closed) this.#attempts.delete(key);
      else this.#attempts.set(key, order);
      return { seq, tenant, run, branch, requestId, attempt, ord, intent, kind, epoch, atWall, body };
    } catch (error) {
      const fault = driver.faultOf(error);
      const { message } = error as Error;
      if (fault === 'misuse')
        return new LeaseholdError('LOG_ENTRY', `An entry was refused: ${message}`, { cause: error });
      if (fault !== 'constraint') throw error;
      if (message.includes(STALE_EPOCH))
        throw new LeaseholdError('LOG_LOCKED', 'Another writer took the event log over.');
      return outOfOrder(event, message);
    }
  }

  /** Of an attempt not seen yet. The first entry needs no look: were there others, the database would refuse it. */
  #orderOf({ kind, requestId, attempt }: NewLogEvent): AttemptOrder {
    const order = unbegun();
    if (kind === 'prepared') return order;
    for (const row of this.#history.all(requestId, attempt)) {
      advance(order, { kind: row['kind'] as NewLogEvent['kind'], intent: String(row['intent']) }, row['verdict']);
    }
    return order;
  }

  #fail(error: unknown, batch: readonly Waiting[]): void {
    this.#rollBack();
    // What was taken in is not recorded: each attempt is read anew when its next entry comes.
    this.#attempts.clear();
    this.#isBehind = false;
    this.#failure = logError(this.#connection, error);
    const refused = [...batch, ...this.#waiting];
    this.#waiting = [];
    for (const { reject } of refused) reject(this.#failure);
    this.#become('failed');
    // A damaged file and a lost lock do not heal; and who heard of the failure may have closed the log.
    if (this.#failure?.code === 'ERR_LEASEHOLD_LOG_WRITE_FAILED' && this.health === 'failed') this.#armProbe();
  }

  #armProbe(): void {
    this.#probe = this.#clock.setTimeout(() => this.#tryWriting(), PROBE_MS, false);
  }

  /** Writes as real as any, to both files: the log heals when they reach the disk. */
  #tryWriting(): void {
    try {
      const { database, epoch } = this.#connection;
      database.prepare('UPDATE writer SET probed_at = ? WHERE epoch = ?').run(this.#clock.wall(), epoch);
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      this.#probe = null;
      this.#failure = null;
      this.#become('writable');
    } catch {
      this.#rollBack();
      this.#armProbe();
    }
  }

  #rollBack(): void {
    try {
      this.#connection.database.exec('ROLLBACK');
    } catch {
      // SQLite has rolled back by itself.
    }
  }

  #checkpoint(): void {
    this.#isBehind = false;
    this.#guard(() => this.#connection.database.exec('PRAGMA wal_checkpoint(PASSIVE)'));
  }

  /** For work that no entry waits for. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error, []);
    }
  }

  #refusal(): LeaseholdError {
    const why = this.#health === 'closed' ? 'The event log is closed.' : 'The event log failed and has not healed.';
    return this.#failure?.code === 'ERR_LEASEHOLD_LOG_LOCKED' && this.#health === 'failed'
      ? this.#failure
      : new LeaseholdError('LOG_WRITE_FAILED', why, { cause: this.#failure ?? undefined });
  }

  #become(health: LogHealth): void {
    this.#health = health;
    for (const listener of [...this.#listeners]) listener(health);
  }
}

/** The body as JSON. @throws LeaseholdError `ERR_LEASEHOLD_LOG_ENTRY` */
function textOf({ kind, body }: NewLogEvent): string {
  const refused = (why: string, cause?: unknown) =>
    new LeaseholdError('LOG_ENTRY', `The body of an entry "${kind}" ${why}.`, cause === undefined ? {} : { cause });
  let text: string | undefined;
  try {
    text = JSON.stringify(body) as string | undefined;
  } catch (cause) {
    throw refused('is not plain', cause);
  }
  if (text?.startsWith('{') !== true) throw refused('is no object');
  // No character takes more than three bytes.
  const bytes = text.length * 3 <= MAX_BODY_BYTES ? 0 : Buffer.byteLength(text);
  if (bytes > MAX_BODY_BYTES) throw refused(`has ${bytes} bytes; ${MAX_BODY_BYTES} are the limit`);
  return text;
}
