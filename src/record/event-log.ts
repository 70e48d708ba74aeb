/**
 * EventLog: what happened, in order, one entry at a time.
 *
 * Invariants: append-only; per attempt gapless `ord`; one `dispatched` and one `settled` per intent, one `closed` per
 * attempt, and after it only `late` and `reconciled`. `intent: ''` is the attempt itself.
 * Deliberately absent: any decision. Whoever asks what an attempt's end was folds the entries (`decide/classify.ts`).
 */
import type { Durability } from '../model/result.ts';

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
  /** JSON-safe, redacted, at most 4 KiB. A `closed` body has `{ status, cause, code }`, a `settled` one `{ state }`, a `dispatched` one `{ key, onAmbiguous, tool }`. */
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

export interface EventLog {
  /** What an acknowledged append survives. */
  readonly durability: Durability;
  /**
   * Appends one entry. It is recorded when this returns a plain entry, or when the promise resolves.
   * @throws (or rejects) when the entry breaks the log's order or cannot be written; then nothing was recorded.
   */
  append(event: NewLogEvent): LogEvent | Promise<LogEvent>;
  /** Entries in order; `after` is a `seq`. */
  read(filter?: { run?: string; after?: number; limit?: number }): AsyncIterable<LogEvent>;
  openIntents(): AsyncIterable<OpenIntent>;
  close?(): Promise<void>;
}
