/**
 * Desk: where the scopes of one supervisor make, prepare and claim requests. Types only.
 *
 * Invariant: a scope hands itself and the ctx to run under; the desk decides nothing about scopes. Deliberately absent: the way of a
 * request (`run/`).
 */
import type { PreparedExecution, PreparedRun, Validation } from '../model/control-shapes.ts';
import type { RunOptions } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import type { Ctx } from './ctx.ts';

export interface Desk<Scope> {
  submit(scope: Scope, ctx: Ctx, tool: Tool, input: unknown, options: RunOptions | undefined): Promise<RunResult>;
  validate(tool: Tool, input: unknown, options: RunOptions | undefined): Validation;
  describe(scope: Scope, ctx: Ctx, tool: Tool, input: unknown, options: RunOptions | undefined): Promise<PreparedRun>;
  prepare(
    scope: Scope,
    ctx: Ctx,
    tool: Tool,
    input: unknown,
    options: RunOptions | undefined,
  ): Promise<PreparedExecution>;
  /** Runs what was prepared, in the scope that prepared it: `scope` itself or one inside it. */
  claim(scope: Scope, handle: unknown, options: ClaimOptions | undefined): Promise<RunResult>;
}

export interface ClaimOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal;
}
