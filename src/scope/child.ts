/**
 * What lives in a scope: its children as the scope sees them, and how each of them ended.
 *
 * Invariant: a child leaves its scope exactly once, with its end. Deliberately absent: what a child does.
 */
import type { PendingStop } from '../decide/precedence.ts';
import type { FindingKind, LeaseRecord, RunResult } from '../model/result.ts';

/** A stop on its way from a scope to what lives in it. `atMs` is an instant of the clock. */
export interface ScopeStop extends PendingStop {
  readonly kind: 'cancel' | 'parent-deadline' | 'shutdown';
  readonly scope: string;
  /** No grace. */
  readonly force?: boolean;
  /** The instant by which everything is to have ended. */
  readonly hurryBy?: number;
}

export interface ScopeChild {
  readonly name: string;
  /** The longest a stop may take to end it. Milliseconds. */
  readonly boundMs: number;
  stop(stop: ScopeStop): void;
  /** The same for what holds no isolate; the rest goes on. */
  stopIfWaiting(stop: ScopeStop): void;
  /** The scope waits for it no longer. */
  giveUp(): void;
  /** The names of what has not ended: its own, or for an inner scope those of its children. */
  leftovers(): readonly string[];
}

/** How a child ended. `killed`: by ending its isolate. `abandoned`: it may still run. */
export type ChildFate = 'completed' | 'aborted' | 'killed' | 'abandoned';

export interface ChildEnd {
  readonly name: string;
  readonly error?: unknown;
}

/** What the result of a request makes of it as a child. */
export function fateOf({ status, lease, request }: RunResult): ChildFate {
  const has = (record: LeaseRecord | null, found: FindingKind) => record?.findings.some(({ kind }) => kind === found);
  // An isolate that an earlier attempt left behind may still run.
  if (request.attempts.some((attempt) => has(attempt.lease, 'abandoned'))) return 'abandoned';
  if (has(lease, 'killed')) return 'killed';
  return status === 'succeeded' || status === 'failed' || status === 'rejected' || status === 'denied'
    ? 'completed'
    : 'aborted';
}

/** How everything in a scope ended. */
export type ShutdownReport = Readonly<Record<ChildFate, readonly ChildEnd[]>>;

/** A scope as what is spawned in it sees it. */
export interface Home<Scope> {
  readonly id: string;
  readonly stopped: ScopeStop | null;
  readonly boundMs: number;
  /** A scope inside this one that lives as long as the child it is made for, and is told of by it. */
  inner(deadlineMs: number | null): Scope;
  cancel(reason: string): unknown;
  adopt(child: ScopeChild): void;
  release(child: ScopeChild, fate: ChildFate, error?: unknown): void;
  stop(stop: ScopeStop): void;
  stopIfWaiting(stop: ScopeStop): void;
  giveUp(): void;
  shutdown(): Promise<ShutdownReport>;
}
