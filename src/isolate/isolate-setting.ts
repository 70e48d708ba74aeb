/**
 * Who holds an isolate, who owns it, and what it is made with. Types only.
 *
 * Invariant: an occupant hears of its own lease only; a keeper hears of every change of state.
 * Deliberately absent: the life itself (`isolate.ts`).
 */
import type { FindingKind } from '../model/result.ts';
import type { Clock } from '../model/time.ts';
import type { Isolation } from '../model/work.ts';
import type { HostCalls, IsolateMessage } from '../wire/protocol.ts';
import type { ActorTree } from './actor-tree.ts';
import type { Isolate } from './isolate.ts';
import type { TenureExit } from './tenure.ts';

/** Who holds the lease on an isolate and hears its records. */
export interface Occupant {
  /** A record of the lease in progress. */
  onRecord(record: IsolateMessage): void;
  /** The thread is gone, and every record it left was heard. `asked`: its kill had been issued. */
  onExit(exit: TenureExit, asked: boolean): void;
  /** A record of a lease that has ended: an abandoned tool went on, for one. */
  onLate(record: IsolateMessage): void;
  /** The kill was not confirmed in time. */
  onAbandoned(): void;
  readonly calls: HostCalls;
}

/** Who owns the isolate. */
export interface Keeper {
  /** It became idle, condemned, abandoned or gone: capacity may have changed. */
  onIsolateChange(isolate: Isolate): void;
  /** It died before it served a lease, unasked. */
  onUnusedDeath(): void;
  onProtocolViolation(): void;
}

export interface IsolateSetting {
  readonly kind: Isolation;
  readonly clock: Clock;
  readonly killMs: number;
  readonly actors: ActorTree;
  readonly keeper: Keeper;
  /** Whether a finding of this kind makes an isolate unfit. */
  readonly condemns: (kind: FindingKind) => boolean;
}
