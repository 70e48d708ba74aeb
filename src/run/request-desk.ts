/**
 * RequestDesk: requests as they are made, and those that are prepared and wait to be claimed.
 *
 * Invariants: a prepared request holds its own copy of everything and nothing that runs; it is claimed once, in one synchronous step,
 * and then, or when it is discarded, nothing here holds it any more. Deliberately absent: the way of a request (`request.ts`).
 */
import { boundsOf } from '../decide/bounds.ts';
import type { Issue, PreparedExecution, PreparedRun, Validation } from '../model/control-shapes.ts';
import { CancelledError, invalidOption, LeaseholdError, RefusedError } from '../model/errors.ts';
import { nested, signalOr } from '../model/option-checks.ts';
import type { RunOptions } from '../model/option-shapes.ts';
import { parseRunOptions, type RunConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import { Budget } from '../scope/budget.ts';
import type { Ctx } from '../scope/ctx.ts';
import type { ClaimOptions, Desk } from '../scope/desk.ts';
import { reasonOf } from '../scope/reason.ts';
import type { RunScope } from '../scope/run-scope.ts';
import { type Accepted, acceptance } from './intake.ts';
import { redactedLabels } from './labels.ts';
import { describePrepared, Handle, unclaimable } from './prepared.ts';
import { Request } from './request.ts';
import type { RequestHost } from './request-host.ts';
import { validate } from './validate.ts';

/** Everything a prepared request needs to run. */
interface Payload {
  readonly scope: RunScope;
  readonly ctx: Ctx;
  readonly tool: Tool;
  readonly options: RunConfig;
  readonly accepted: Accepted;
}

const CLAIM: ReadonlySet<string> = new Set(['signal']);

export class RequestDesk implements Desk<RunScope> {
  readonly #host: RequestHost;
  readonly #prepared = new WeakMap<object, Payload>();

  constructor(host: RequestHost) {
    this.#host = host;
  }

  submit(scope: RunScope, ctx: Ctx, tool: Tool, input: unknown, options?: RunOptions): Promise<RunResult> {
    let request: Request;
    try {
      request = new Request(this.#host, scope, ctx, checkedTool(tool), parseRunOptions(options));
    } catch (error) {
      return Promise.reject(error);
    }
    request.start(input);
    return request.result;
  }

  validate(tool: Tool, input: unknown, options?: RunOptions): Validation {
    const { defaults } = this.#host.config;
    const { validateMs } = boundsOf(defaults, checkedTool(tool), parseRunOptions(options));
    const validated = validate(tool.input, input, 'The input');
    if (validated instanceof Promise)
      throw new LeaseholdError('NOT_AVAILABLE', `The schema of ${tool.name} is asynchronous: prepare() waits for it.`);
    const accepted = acceptance(tool, validated, this.#host.redactor, validateMs);
    if (accepted.ok) return Object.freeze({ ok: true });
    const { message, fields } = accepted;
    const issues = (fields?.['issues'] ?? [{ path: '', code: 'custom', message }]) as readonly Issue[];
    return Object.freeze({ ok: false, issues: this.#host.redactor.plain(issues) as readonly Issue[] });
  }

  async describe(scope: RunScope, ctx: Ctx, tool: Tool, input: unknown, options?: RunOptions): Promise<PreparedRun> {
    const config = parseRunOptions(options);
    const accepted = await this.#accept(scope, checkedTool(tool), input, config);
    return this.#details(ctx, tool, accepted, config);
  }

  async prepare(
    scope: RunScope,
    ctx: Ctx,
    tool: Tool,
    input: unknown,
    options?: RunOptions,
  ): Promise<PreparedExecution> {
    const config = parseRunOptions(options);
    checkedTool(tool);
    // Before anything is awaited: what its owner does with it afterwards changes nothing.
    const own = detached(input, config.transfer);
    const accepted = await this.#accept(scope, tool, own.input, config);
    const handle = new Handle(this.#details(ctx, tool, accepted, config), this.#prepared);
    const kept = Object.freeze({ ...config, signal: null, transfer: own.transfer });
    this.#prepared.set(handle, { scope, ctx, tool, accepted, options: kept });
    return handle;
  }

  claim(scope: RunScope, handle: unknown, options?: ClaimOptions): Promise<RunResult> {
    let request: Request;
    try {
      const signal = signalOr('signal', nested<ClaimOptions>('options of runPrepared', options, CLAIM).signal);
      const payload = this.#prepared.get(handle as object);
      if (payload === undefined || !payload.scope.isWithin(scope))
        return Promise.resolve(unclaimable(handle, scope.ctx, this.#host.config.clock));
      // Claimed from here on, and without an await since the look.
      this.#prepared.delete(handle as object);
      const { ctx, tool, accepted } = payload;
      request = new Request(this.#host, payload.scope, ctx, tool, { ...payload.options, signal });
      request.start(null, accepted);
    } catch (error) {
      return Promise.reject(error);
    }
    return request.result;
  }

  /** @throws (rejects with) RefusedError for what may not run, and the error of the stop that came first. */
  async #accept(scope: RunScope, tool: Tool, input: unknown, config: RunConfig): Promise<Accepted> {
    const { clock, defaults } = this.#host.config;
    const { validateMs } = boundsOf(defaults, tool, config);
    refuseStopped(scope, config);
    const validated = validate(tool.input, input, 'The input');
    if (validated instanceof Promise) {
      const budget = new Budget(clock, clock.now(), null, scope.deadline);
      const unfollow = config.signal === null ? null : this.#host.aborts.follow(config.signal, () => budget.wake());
      const settled = await budget.within(validateMs, validated);
      unfollow?.();
      refuseStopped(scope, config);
      return this.#accepted(acceptance(tool, settled, this.#host.redactor, validateMs));
    }
    return this.#accepted(acceptance(tool, validated, this.#host.redactor, validateMs));
  }

  #accepted(accepted: ReturnType<typeof acceptance>): Accepted {
    if (accepted.ok) return accepted;
    const text = this.#host.redactor.text(accepted.message, { end: accepted.truncated === true });
    throw new RefusedError('INVALID_INPUT', boundText(text, TEXT_LIMITS.messageBytes));
  }

  #details(ctx: Ctx, tool: Tool, { input, redactor }: Accepted, config: RunConfig): PreparedRun {
    const bounds = boundsOf(this.#host.config.defaults, tool, config);
    return describePrepared({ tool, input, ctx, bounds, labels: redactedLabels(config.labels, redactor), redactor });
  }
}

/** A copy that shares nothing with `input`, and the buffers of it that are to be moved on; the given ones are empty afterwards. */
function detached(input: unknown, transfer: readonly ArrayBuffer[]): Pick<RunConfig, 'transfer'> & { input: unknown } {
  try {
    return structuredClone({ input, transfer: [...transfer] }, { transfer: [...transfer] });
  } catch (cause) {
    throw new RefusedError('NOT_CLONEABLE', 'The input cannot be cloned, and what is prepared is a copy.', { cause });
  }
}

function refuseStopped(scope: RunScope, { signal }: RunConfig): void {
  const { stopped } = scope;
  if (signal?.aborted === true)
    throw new CancelledError('CANCELLED', 'The preparation was cancelled.', { cause: signal.reason });
  if (stopped !== null) throw reasonOf(stopped);
  if (scope.closed) throw new RefusedError('CLOSED', 'The supervisor or the scope is closed.');
}

/** @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function checkedTool(tool: unknown): Tool {
  if (typeof tool === 'object' && tool !== null && 'work' in tool && 'outputRules' in tool && Object.isFrozen(tool))
    return tool as Tool;
  throw invalidOption('tool', tool, 'a tool made by defineTool');
}
