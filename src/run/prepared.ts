/**
 * Prepared: what is about to run, told to the application once an isolate is held and before the tool starts.
 *
 * Invariants: redacted and detached: changing it changes nothing else; the callback is synchronous.
 * Deliberately absent: budgets and callbacks in what is told.
 */
import type { PreparedRun } from '../model/control-shapes.ts';
import type { Bounds, RunOptions } from '../model/option-shapes.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Ctx } from '../scope/ctx.ts';

export interface Preparation {
  readonly tool: Tool;
  readonly input: unknown;
  readonly ctx: Ctx;
  readonly bounds: Bounds;
  readonly labels: Readonly<Record<string, string>>;
  readonly redactor: Redactor;
}

/** @throws what the callback throws, and a TypeError when it returns a promise. */
export function notifyPrepared(onPrepared: NonNullable<RunOptions['onPrepared']>, preparation: Preparation): void {
  const returned: unknown = onPrepared(preparation.ctx, describePrepared(preparation));
  if (typeof returned === 'object' && returned !== null && 'then' in returned) {
    // The refusal tells of it; how it settles interests nobody.
    Promise.resolve(returned).catch(() => undefined);
    throw new TypeError('onPrepared must be synchronous; it returned a promise.');
  }
}

/** What is about to run, without anything that must not be seen. */
export function describePrepared({ tool, input, ctx, bounds, labels, redactor }: Preparation): PreparedRun {
  const { tenant, run, branch } = ctx;
  const { runTimeoutMs, graceMs, queueTimeoutMs } = bounds;
  return {
    tool: tool.name,
    input: redactor.plain(input),
    tenant,
    run,
    branch,
    effects: tool.effects,
    isolation: tool.isolation,
    limits: { runTimeoutMs, graceMs, queueTimeoutMs },
    labels: { ...labels },
  };
}
