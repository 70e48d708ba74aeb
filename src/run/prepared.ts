/**
 * Prepared: what is about to run, as the application hears of it: before the tool starts, or by a handle it keeps.
 *
 * Invariants: redacted and detached: changing it changes nothing else; the callback is synchronous; a handle holds what it tells and
 * nothing that could run. Deliberately absent: budgets and callbacks in what is told, and what a handle stands for (`request-desk.ts`).
 */
import { classify } from '../decide/classify.ts';
import type { PreparedExecution, PreparedRun } from '../model/control-shapes.ts';
import { mintId } from '../model/ids.ts';
import type { Bounds, RunOptions } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import type { Clock } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Ctx } from '../scope/ctx.ts';
import { report, wordedError } from './report.ts';

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

export class Handle implements PreparedExecution {
  readonly id = mintId('prepared');
  readonly #details: PreparedRun;
  readonly #kept: WeakMap<object, unknown>;

  /** `kept`: what handles stand for. */
  constructor(details: PreparedRun, kept: WeakMap<object, unknown>) {
    this.#details = details;
    this.#kept = kept;
    Object.freeze(this);
  }

  details(): PreparedRun {
    return structuredClone(this.#details);
  }

  discard(): boolean {
    return this.#kept.delete(this);
  }

  /** Those of a handle of any supervisor of this copy of the library. */
  static detailsOf(x: unknown): PreparedRun | null {
    return typeof x === 'object' && x !== null && #details in x ? x.#details : null;
  }
}

/** The result for what cannot be claimed. Nothing was started, so nobody is told of it. */
export function unclaimable(handle: unknown, ctx: Ctx, clock: Clock): RunResult {
  const { tool, tenant, run, branch } = Handle.detailsOf(handle) ?? {
    tool: '',
    tenant: ctx.tenant,
    run: ctx.run,
    branch: ctx.branch,
  };
  const code = 'PREPARED_NOT_CLAIMABLE';
  const never = { outcome: null, stops: [], intents: [], discardLate: false };
  return report({
    verdict: classify({ rejected: code, denied: null, ...never }),
    error: wordedError(code, 'RefusedError', 'The handle is foreign, used or discarded: there is nothing to run.'),
    value: undefined,
    request: { id: mintId('req'), tool, tenant, run, branch, labels: Object.freeze({}) },
    attempt: null,
    intents: [],
    startedWall: clock.wall(),
    totalMs: 0,
    boundMs: 0,
    durability: 'none',
  });
}
