/**
 * Which stops are recorded, in which order, when one arrives.
 *
 * Invariants: due time beats arrival; at the very same instant the tie order of `STOP_KINDS` decides, an outer scope
 * before an inner one. Deliberately absent: the ledger itself, and reading the port first, which its owner does.
 */
import { STOP_KINDS, type Stop, type StopKind } from '../model/stop.ts';

/** A stop before it is recorded. */
export interface PendingStop extends Pick<Stop, 'kind' | 'atMs' | 'scope' | 'reason'> {
  /** How deep the scope that owns a deadline is; the outermost is 0. Default 0. */
  readonly depth?: number;
}

const RANK = new Map<StopKind, number>(STOP_KINDS.map((kind, rank) => [kind, rank]));

/** Negative when `a` is recorded before `b`, both being due at the same instant. */
export function orderOfTie(a: PendingStop, b: PendingStop): number {
  return (RANK.get(a.kind) ?? 0) - (RANK.get(b.kind) ?? 0) || (a.depth ?? 0) - (b.depth ?? 0);
}

/** What to record for `incoming`: it, and before or after it the deadlines of `due` that have come, each at its own instant. */
export function stopsToRecord(incoming: PendingStop, due: readonly PendingStop[]): PendingStop[] {
  if (due.length === 0) return [incoming];
  const come = due.filter((deadline) => deadline.atMs <= incoming.atMs);
  return [incoming, ...come].sort((a, b) => a.atMs - b.atMs || orderOfTie(a, b));
}
