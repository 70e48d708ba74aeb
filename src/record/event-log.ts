/**
 * EventLog as the record's own word: what a log is stands in `model/stores.ts`, since options name it too.
 *
 * Invariant: nothing is defined here. Deliberately absent: any log; the one in memory is `memory-event-log.ts`.
 */
export type { EventLog } from '../model/stores.ts';
