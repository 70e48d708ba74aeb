/**
 * The few methods asked of an SQLite driver, in our own words, so that no package of types is needed.
 *
 * Invariants: everything is synchronous; a refusal by SQLite tells its primary result code, whichever driver it came from.
 * Deliberately absent: the drivers (`drivers.ts`), and every statement.
 */

export type SqlValue = string | number | null;
export type Row = Readonly<Record<string, SqlValue>>;

export interface Statement {
  run(...values: SqlValue[]): unknown;
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

/** One connection. */
export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}

/** `misuse`: it never reached SQLite. `unfit`: no database, or a damaged one. */
export type SqliteFault = 'constraint' | 'busy' | 'unfit' | 'failed' | 'misuse';

export interface SqliteDriver {
  readonly name: 'node' | 'better-sqlite3';
  /** Opens a file that exists. It waits for no lock. */
  open(path: string, options: { readonly readOnly: boolean }): Database;
  /** What an error of this driver comes to. */
  faultOf(error: unknown): SqliteFault;
}

/** The value of a pragma. */
export function pragma(database: Database, name: string): SqlValue {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? null;
}
