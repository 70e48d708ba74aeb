/**
 * Which idle isolate a request gets.
 *
 * Invariant: two that may not meet never get the same isolate, since module state is invisible to every probe.
 * Deliberately absent: who is next (strict arrival order), and booting.
 */
import type { Share } from '../model/option-shapes.ts';

/** An idle isolate, and whom it served last. */
export interface IdleIsolate {
  readonly id: string;
  /** Null before its first lease. */
  readonly tenant: string | null;
  readonly tool: string | null;
  /** An instant of the clock, in milliseconds. */
  readonly idleSince: number;
  /** How many it served. */
  readonly leases: number;
}
/** Use it; or retire it, so that a fresh one can take its place; or wait. */
export type Placement = { readonly use: string } | { readonly retire: string } | null;

/**
 * Prefers an isolate that may serve the request and has served before (of those one with the same tool, then the one
 * used last, since it is warm), then a fresh one; else names the one unused for longest.
 */
export function place(
  request: { readonly tenant: string; readonly tool: string },
  idle: readonly IdleIsolate[],
  share: Share,
): Placement {
  let match: IdleIsolate | null = null;
  let fresh: IdleIsolate | null = null;
  let oldest: IdleIsolate | null = null;
  for (const isolate of idle) {
    if (isolate.leases === 0) fresh ??= isolate;
    else if (mayMeet(request, isolate, share) && (match === null || warmer(request, isolate, match))) match = isolate;
    if (oldest === null || isolate.idleSince < oldest.idleSince) oldest = isolate;
  }
  const chosen = match ?? fresh;
  if (chosen !== null) return { use: chosen.id };
  return oldest === null ? null : { retire: oldest.id };
}

function mayMeet(request: { tenant: string; tool: string }, isolate: IdleIsolate, share: Share): boolean {
  if (share === 'any') return true;
  if (share === 'none' || isolate.tenant !== request.tenant) return false;
  return share === 'tenant' || isolate.tool === request.tool;
}

function warmer(request: { tool: string }, isolate: IdleIsolate, than: IdleIsolate): boolean {
  const same = isolate.tool === request.tool;
  return same === (than.tool === request.tool) ? isolate.idleSince > than.idleSince : same;
}
