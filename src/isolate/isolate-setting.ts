/**
 * What an isolate is made with, and who owns it.
 *
 * Invariant: an owner is told after the isolate has become what it is told of. Deliberately absent: the isolate, which
 * stands here as a type parameter so that neither file imports the other in a circle.
 */
import type { FindingKind } from '../model/result.ts';
import type { Clock } from '../model/time.ts';
import type { Isolation } from '../model/work.ts';
import type { ActorTree } from './actor-tree.ts';

/** Who owns an isolate. */
export interface KeeperOf<Isolate> {
  /** It became idle, condemned, abandoned or gone: capacity may have changed. */
  onIsolateChange(isolate: Isolate): void;
  /** It died before it served a lease, unasked. `error`: why it did not boot. */
  onUnusedDeath(error?: unknown): void;
  onProtocolViolation(): void;
}

export interface IsolateSetting<Isolate> {
  readonly kind: Isolation;
  readonly clock: Clock;
  readonly killMs: number;
  readonly actors: ActorTree;
  readonly keeper: KeeperOf<Isolate>;
  /** Whether a finding of this kind makes an isolate unfit. */
  readonly condemns: (kind: FindingKind) => boolean;
}
