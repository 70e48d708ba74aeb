/**
 * `leasehold/sqlite`: the event log in a file. Every public name, one by one.
 *
 * Invariant: importing it loads no driver. Deliberately absent: everything else of the library.
 */
export type { DriverName } from './drivers.ts';
export { type EventLogReader, openForReading, type SqliteEventLogOptions, sqliteEventLog } from './open-event-log.ts';
export type { Retain } from './retention.ts';
export type { SqliteLog } from './sqlite-event-log.ts';
