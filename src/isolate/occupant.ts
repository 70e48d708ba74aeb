/**
 * Who holds the lease on an isolate, and what it hears. Types only.
 *
 * Invariant: an occupant hears of its own lease only. Deliberately absent: the life of the isolate (`isolate.ts`).
 */
import type { HostCalls, IsolateMessage } from '../wire/protocol.ts';
import type { TenureExit } from './tenure.ts';

/** Who holds the lease on an isolate and hears its records. */
export interface Occupant {
  /** A record of the lease in progress. */
  onRecord(record: IsolateMessage): void;
  /** It is gone, and every record it left was heard. `asked`: its kill had been issued. */
  onExit(exit: TenureExit, asked: boolean): void;
  /** A record of a lease that has ended: an abandoned tool went on, for one. */
  onLate(record: IsolateMessage): void;
  /** The kill was not confirmed in time. */
  onAbandoned(): void;
  readonly calls: HostCalls;
}
