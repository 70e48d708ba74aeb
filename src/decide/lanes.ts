/**
 * Which isolates can serve a tool: those of one lane and no others.
 *
 * Invariants: two tools share a lane only where an isolate of it is right for both; what was declared is never weakened: a
 * process with permissions serves the very set it was started with. Deliberately absent: tenants (`placement.ts`).
 */
import type { Tool } from '../model/tool.ts';
import type { Isolation } from '../model/work.ts';

/** `'thread'` is the lane of all tools in threads; the others are booted when they are first needed. */
export type Lane = string;

export function laneOf({ work, isolation, permissions }: Pick<Tool, 'work' | 'isolation' | 'permissions'>): Lane {
  if (work.kind === 'command') return 'command';
  if (work.kind === 'inline') return work.occupiesPool ? 'disk' : 'network';
  if (isolation === 'thread') return 'thread';
  // The permissions name the files that may be read, the module's own among them.
  return permissions === null ? 'process' : `process ${JSON.stringify([work.module, permissions])}`;
}

/** What the isolates of a lane are. */
export function kindOf(lane: Lane): Isolation {
  if (lane === 'thread') return 'thread';
  return lane === 'disk' || lane === 'network' ? 'inline' : 'process';
}
