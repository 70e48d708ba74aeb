/**
 * The message that begins an attempt's work, by what its tool is.
 *
 * Invariant: a command's plan is made here, once per attempt, before anything has started. Deliberately absent: posting it
 * (`hold.ts`).
 */
import type { CommandRun, InlineRun } from '../isolate/tenure.ts';
import type { HostCalls, RunMessage, WireContext } from '../wire/protocol.ts';
import type { AttemptSetting } from './attempt-setting.ts';

/** @throws what the plan of a command throws: the application's own error. */
export function runMessage(
  { tool, input, bounds, host, names }: AttemptSetting,
  seq: number,
  ctx: WireContext,
  calls: HostCalls,
): RunMessage | CommandRun | InlineRun {
  const { work, effects } = tool;
  switch (work.kind) {
    case 'module':
      return { t: 'run', seq, module: work.module, exportName: work.exportName, effects, input, ctx };
    case 'command':
      return { t: 'command', seq, plan: { ...work.plan(input), drain: work.drain }, graceMs: bounds.graceMs };
    case 'inline': {
      const authorizeHop: InlineRun['authorizeHop'] = (hop) => host.authorizeHop(hop, names.attempt);
      return { t: 'inline', seq, serve: work.serve, input, ctx, calls, authorizeHop };
    }
  }
}
