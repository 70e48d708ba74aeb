/**
 * The two stores an application may bring: the event log and the blobs. Their entries, their contracts.
 *
 * Invariants: an event log is append-only; per attempt gapless `ord`, one `dispatched` and one `settled` per intent, one
 * `closed` per attempt, and after it only `late` and `reconciled`. A stored blob never changes.
 * Deliberately absent: any store (`record/`), and any decision: whoever asks how an attempt ended folds its entries.
 */
import type { Durability } from './result.ts';

export const LOG_EVENT_KINDS = [
  'prepared',
  'admitted',
  'dispatched',
  'progressed',
  'settled',
  'closed',
  'late',
  'reconciled',
] as const;
export type LogEventKind = (typeof LOG_EVENT_KINDS)[number];

/** One entry. */
export interface LogEvent {
  readonly seq: number;
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  readonly attempt: number;
  /** Position within the attempt, from 0. */
  readonly ord: number;
  /** The intent's name, or `''` for the attempt itself. */
  readonly intent: string;
  readonly kind: LogEventKind;
  readonly epoch: number;
  /** Milliseconds since the Unix epoch. */
  readonly atWall: number;
  /** JSON-safe, redacted, at most 4 KiB. A `closed` body has `{ status, cause, code }`, a `settled` one `{ state }`, a `dispatched` one `{ key, onAmbiguous, tool }`, a `reconciled` one `{ verdict }`. */
  readonly body: Readonly<Record<string, unknown>>;
}
/** An entry before the log gave it its place. */
export type NewLogEvent = Omit<LogEvent, 'seq' | 'ord' | 'epoch'>;

/** An intent that was dispatched and has not settled. */
export interface OpenIntent {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly intent: string;
  readonly key: string;
  readonly onAmbiguous: string;
  readonly tool: string;
  readonly atWall: number;
}

/** `failed`: every append is refused until the log has healed by itself, or was opened anew. */
export type LogHealth = 'writable' | 'failed' | 'closed';

export interface EventLog {
  /** What an acknowledged append survives. */
  readonly durability: Durability;
  /** What entries appended from now on are stamped with; those of smaller epochs are of writers that are gone. Absent: unknown. */
  readonly epoch?: number;
  /** Absent: always `writable`. */
  readonly health?: LogHealth;
  /** Calls `listener`, which must not throw, after each change of `health`. What it returns ends that. */
  onHealth?(listener: (health: LogHealth) => void): () => void;
  /**
   * Appends one entry. It is recorded when this returns a plain entry, or when the promise resolves.
   * @throws (or rejects) when the entry breaks the log's order or cannot be written; then nothing was recorded.
   */
  append(event: NewLogEvent): LogEvent | Promise<LogEvent>;
  /** Entries in order; `after` is a `seq`. */
  read(filter?: { run?: string; after?: number; limit?: number }): AsyncIterable<LogEvent>;
  /** Intents without a known end, in order of dispatch. */
  openIntents(): AsyncIterable<OpenIntent>;
  close?(): Promise<void>;
}

/** One blob of one tenant, as a log names it. */
export interface NamedBlob {
  readonly tenant: string;
  readonly digest: string;
}

export interface SweepOptions {
  /**
   * Blobs put within this many milliseconds are kept, named or not: a blob is put before the entry that names it. Longer than
   * the longest run. Default a day.
   */
  readonly recentMs?: number;
}

/** What a sweep removed. */
export interface BlobSweep {
  readonly removed: number;
  readonly bytes: number;
}

/**
 * Content-addressed bytes, apart per tenant. A digest is `sha256:` and 64 hexadecimal digits. The optional methods are those of
 * the stores that come with the library.
 */
export interface BlobStore {
  /**
   * Stores the bytes, which must not change until then. It is stored when the promise resolves; equal bytes are kept once.
   * @throws LeaseholdError `ERR_LEASEHOLD_BLOB_TOO_LARGE` when a limit would be passed.
   */
  put(tenant: string, bytes: Uint8Array): Promise<string>;
  /**
   * What it resolves with has the digest asked for.
   * @throws LeaseholdError `ERR_LEASEHOLD_BLOB_NOT_FOUND`; `ERR_LEASEHOLD_BLOB_CORRUPT` when what is stored is something else.
   */
  get(tenant: string, digest: string): Promise<Uint8Array>;
  /** `put` for what comes in pieces. They count while they come, also when the whole turns out to be there already. */
  putStream?(tenant: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string>;
  /** `get` in pieces. The whole is verified before the first; it fails with the first. */
  getStream?(tenant: string, digest: string): AsyncIterable<Uint8Array>;
  /** Removes what is neither named nor recent. Nothing is removed when `named` fails. */
  sweep?(named: AsyncIterable<NamedBlob> | Iterable<NamedBlob>, options?: SweepOptions): Promise<BlobSweep>;
}
