/**
 * Which bounds hold for a request, and how long a stop may take under them.
 *
 * Invariants: the request's, then the tool's, then the supervisor's; the answer is known before anything runs.
 * Deliberately absent: the defaults (`model/options.ts`).
 */
import type { Bounds } from '../model/option-shapes.ts';
import type { Work } from '../model/work.ts';

type Said = { readonly [K in 'runTimeoutMs' | 'graceMs' | 'queueTimeoutMs']?: number | null };

/** The cap of the output drain after a kill. Milliseconds. */
export const POST_KILL_MS = 500;

/** `defaults` itself when neither the tool nor the request says anything. */
export function boundsOf(defaults: Bounds, tool: Said, request: Said): Bounds {
  const runTimeoutMs = request.runTimeoutMs ?? tool.runTimeoutMs ?? null;
  const graceMs = request.graceMs ?? tool.graceMs ?? null;
  const queueTimeoutMs = request.queueTimeoutMs ?? null;
  if (runTimeoutMs === null && graceMs === null && queueTimeoutMs === null) return defaults;
  return {
    ...defaults,
    runTimeoutMs: runTimeoutMs ?? defaults.runTimeoutMs,
    graceMs: graceMs ?? defaults.graceMs,
    queueTimeoutMs: queueTimeoutMs ?? defaults.queueTimeoutMs,
  };
}

/** The longest a request may take from a stop to its result. Milliseconds. `work`: what its tool does. */
export function stopBoundMs(bounds: Bounds, work?: Work): number {
  const { graceMs, killMs, sweepMs, resetMs, healthMs } = bounds;
  const drainMs = work?.kind === 'command' ? work.drain.maxMs + POST_KILL_MS : 0;
  return graceMs + killMs + POST_KILL_MS + sweepMs + resetMs + healthMs + drainMs;
}

/** How long an isolate may look at what a run left, after the run has answered. Milliseconds. */
export function looksBoundMs({ graceMs, sweepMs }: Bounds, work: Work): number {
  // A command's pipes are drained meanwhile, and what is left of its group gets the rest of its grace.
  return work.kind === 'command' ? graceMs + work.drain.maxMs + POST_KILL_MS + sweepMs : sweepMs;
}
