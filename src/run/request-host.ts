/**
 * What all requests of one supervisor share, and whom they tell. Types only.
 *
 * Invariant: one per supervisor. Deliberately absent: anything of a single request.
 */
import type { Admission } from '../decide/admission.ts';
import type { Lane } from '../decide/lanes.ts';
import type { ActorTree } from '../isolate/actor-tree.ts';
import type { Asking } from '../isolate/fleets.ts';
import type { SupervisorConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Aborts } from '../scope/aborts.ts';
import type { Observers } from './observers.ts';
import type { Queue, Waiting } from './queue.ts';

/** A request that has ended. */
export interface Ended {
  readonly id: string;
  /** The longest a stop may take to end it. Milliseconds. */
  readonly boundMs: number;
}

/** What all requests of one supervisor share. */
export interface RequestHost {
  readonly config: SupervisorConfig;
  readonly actors: ActorTree;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  readonly observers: Observers;
  readonly aborts: Aborts;
  readonly queue: Queue<Waiting & Asking>;
  /** Whether a request may wait for this lane. `held`: the places in the queue that it has already. */
  admit(lane: Lane, held: 0 | 1): Admission;
  onResult(request: Ended, result: RunResult): void;
}
