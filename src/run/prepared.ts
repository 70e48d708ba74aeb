/**
 * Prepared: what is about to run, as the application may see it: redacted and detached.
 *
 * Invariant: changing it changes nothing else. Deliberately absent: budgets and callbacks.
 */
import type { Bounds, PreparedRun } from '../model/option-shapes.ts';
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
