/**
 * What a supervisor tells of itself: its statistics, and the report of its close. Types only.
 *
 * Invariant: plain and frozen. Deliberately absent: the report of recovery (`model/recovery.ts`).
 */
import type { ActorTree } from './isolate/actor-tree.ts';
import type { IsolateInfo } from './isolate/fleet-shape.ts';
import type { Status } from './model/stop.ts';

/** What `close` reports. */
export interface CloseReport {
  /** Requests that ended by themselves after the call. */
  readonly settled: number;
  /** Requests that the close ended. */
  readonly interrupted: number;
  /** Isolates whose end was not seen. */
  readonly abandoned: readonly IsolateInfo[];
}

export interface Statistics {
  readonly state: ActorTree['state'];
  readonly isolates: Readonly<
    Record<'booting' | 'idle' | 'leased' | 'resetting' | 'quarantined' | 'abandoned', number>
  >;
  readonly queue: { readonly depth: number; readonly oldestMs: number };
  readonly requests: Readonly<Record<Status, number>>;
  readonly replacements: number;
  readonly protocolViolations: number;
  readonly worstCaseStopMs: number;
}
