/**
 * The two drivers: Node's own, and better-sqlite3, an optional peer of this package.
 *
 * Invariants: the only place that loads one; neither is loaded before a log is opened. `node:sqlite` is preferred: it needs
 * no build for each Node. On Node 22 it prints an ExperimentalWarning, which is left to be seen.
 * Deliberately absent: the version of SQLite, which is checked on the connection (`opening.ts`).
 */
import { createRequire } from 'node:module';
import { LeaseholdError } from '../model/errors.ts';
import type { Database, SqliteDriver, SqliteFault } from './driver.ts';

export type DriverName = SqliteDriver['name'];

/** Primary result codes, by number and by name. */
const FAULTS: ReadonlyMap<unknown, SqliteFault> = new Map<unknown, SqliteFault>([
  ...([5, 'SQLITE_BUSY', 6, 'SQLITE_LOCKED'] as const).map((code) => [code, 'busy'] as const),
  ...([11, 'SQLITE_CORRUPT', 26, 'SQLITE_NOTADB', 14, 'SQLITE_CANTOPEN'] as const).map((c) => [c, 'unfit'] as const),
  ...([19, 'SQLITE_CONSTRAINT', 20, 'SQLITE_MISMATCH'] as const).map((code) => [code, 'constraint'] as const),
]);

interface NodeSqlite {
  readonly DatabaseSync: new (path: string, options: { readOnly: boolean }) => Database;
}

/** Null where this Node has none: before 22.13. */
function nodeDriver(): SqliteDriver | null {
  const found = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
  if (found === undefined) return null;
  return {
    name: 'node',
    open: (path, { readOnly }) => new found.DatabaseSync(path, { readOnly }),
    faultOf(error) {
      const { errcode } = error as { errcode?: unknown };
      // The low byte of an extended code is its primary one.
      return typeof errcode === 'number' ? (FAULTS.get(errcode & 0xff) ?? 'failed') : 'misuse';
    },
  };
}

type BetterSqlite = new (
  path: string,
  options: { readonly: boolean; fileMustExist: boolean; timeout: number },
) => Database;

/** Throws where the package is missing, or was built for another Node. */
function betterDriver(): SqliteDriver {
  const require = createRequire(import.meta.url);
  const Better = require('better-sqlite3') as BetterSqlite;
  const open = (path: string, readonly: boolean) => new Better(path, { readonly, fileMustExist: true, timeout: 0 });
  // The package loads its native part only now.
  new Better(':memory:', { readonly: false, fileMustExist: false, timeout: 0 }).close();
  return {
    name: 'better-sqlite3',
    open: (path, { readOnly }) => open(path, readOnly),
    faultOf(error) {
      const { code } = error as { code?: unknown };
      const primary = typeof code === 'string' ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : undefined;
      return primary === undefined ? 'misuse' : (FAULTS.get(primary) ?? 'failed');
    },
  };
}

/**
 * The driver asked for, or the first one that is there.
 * @throws LeaseholdError `ERR_LEASEHOLD_NOT_AVAILABLE`
 */
export function driverOf(name?: DriverName): SqliteDriver {
  const own = name === 'better-sqlite3' ? null : nodeDriver();
  if (own !== null) return own;
  if (name === 'node') throw new LeaseholdError('NOT_AVAILABLE', 'This Node has no node:sqlite; 22.13 and later have.');
  try {
    return betterDriver();
  } catch (cause) {
    const rest = name === undefined ? ', and this Node has no node:sqlite' : '';
    throw new LeaseholdError('NOT_AVAILABLE', `The package better-sqlite3 cannot be loaded${rest}.`, { cause });
  }
}
