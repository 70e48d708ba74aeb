/**
 * What an attempt is given: its bounds, its names, and whom it tells. Types only.
 *
 * Invariant: fixed when the attempt is made; nothing here changes during its life.
 * Deliberately absent: options as users write them (`model/options.ts`).
 */

import type { PendingStop } from '../decide/precedence.ts';
import type { ActorTree } from '../isolate/actor-tree.ts';
import type { OutputPiece, Progress, RequestEvent } from '../model/event.ts';
import type { Bounds, OutputLimits } from '../model/option-shapes.ts';
import type { FindingKind } from '../model/result.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';
import type { Clock } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import type { Hop } from '../model/work.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Ctx } from '../scope/ctx.ts';
import type { Failure } from '../wire/failure.ts';
import type { AttemptNames } from './journal.ts';

/** What the tool gave, or the failure that ended it. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly failure: Failure };

/** Why the tool did not run, where no stop says it. */
export interface Refusal {
  readonly code: 'ON_PREPARED' | 'NOT_CLONEABLE' | 'INTENT_REFUSED' | 'TOOL_ERROR';
  readonly error: unknown;
}

/** A stop on its way to the ledger. `atMs` is an instant of the clock. */
export interface IncomingStop extends PendingStop {
  /** No grace: kill at once. */
  readonly force?: boolean;
  /** The instant by which the attempt is to have ended, where that is sooner than its own bounds. */
  readonly hurryBy?: number;
}

type WithoutStamp<E> = E extends unknown
  ? Omit<E, 'seq' | 'at' | 'requestId' | 'tool' | 'tenant' | 'run' | 'branch'>
  : never;
/** An event of a request before it is stamped. */
export type BareEvent = WithoutStamp<RequestEvent>;

/** Whom an attempt tells about its place. */
export interface AttemptHost {
  /** Its isolate was lost before the tool ran: it waits again, at the head of the queue. */
  onLost(): void;
  /** Its lease has ended: it waits for nothing any more. */
  onLeaseEnded(): void;
  /** Its lease has ended and its record is complete. Told once. */
  onEnded(): void;
  /** Asks the authorizer for one more hop of the attempt's HTTP tool. @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_DENIED` */
  authorizeHop(hop: Hop, attempt: number): Promise<void>;
}

export interface AttemptSetting {
  readonly host: AttemptHost;
  readonly actors: ActorTree;
  readonly clock: Clock;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  /** The instant the request began, from which every `atMs` counts. */
  readonly startedAt: number;
  /** The instant from which this attempt waits: that of the request, or the end of the backoff before it. */
  readonly arrivedAt: number;
  readonly names: AttemptNames;
  readonly tool: Tool;
  readonly input: unknown;
  readonly transfer: readonly ArrayBuffer[];
  /** Its trace gets a child span for this attempt. */
  readonly ctx: Ctx;
  readonly idempotencyKey: string | null;
  readonly bounds: Bounds;
  readonly output: OutputLimits;
  readonly condemn: Readonly<Partial<Record<FindingKind, boolean>>>;
  /** Deadlines that hold from the start: the operation's and the scope's. */
  readonly deadlines: readonly PendingStop[];
  readonly emit: (event: BareEvent) => void;
  /** Calls the application's `onPrepared`; null without one. */
  readonly notifyPrepared: (() => void) | null;
  readonly onProgress: ((progress: Progress) => void) | null;
  readonly onOutput: ((piece: OutputPiece) => void) | null;
}
