/**
 * ScopeHandle: a run scope as applications see it, exported as `RunScope`.
 *
 * Invariant: nothing here lets anybody adopt, release or stop a child except by ending the scope.
 * Deliberately absent: behaviour (`run-scope.ts`).
 */
import type { PreparedExecution, PreparedRun, Validation } from '../model/control-shapes.ts';
import type { RunOptions, ScopeOptions } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import type { ShutdownReport } from './child.ts';
import type { CoordinateOptions, Coordination, NextTurn, Turn } from './coordinate.ts';
import type { Ctx } from './ctx.ts';
import type { ClaimOptions } from './desk.ts';
import type { Child, SpawnOptions } from './spawned.ts';

/** How long things may live, and the only way to start anything. Dispose of it: `await using`. */
export interface RunScope extends AsyncDisposable {
  readonly id: string;
  readonly ctx: Ctx;
  /**
   * Runs a tool in this scope; the promise resolves for every way the request can end.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` or `ERR_LEASEHOLD_NOT_AVAILABLE` only.
   */
  runTool<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<RunResult<Out>>;
  /**
   * Whether the schema accepts the input and the tool can tell its secrets. Nothing is asked, told or waited for.
   * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`; `ERR_LEASEHOLD_NOT_AVAILABLE` for an asynchronous schema.
   */
  validateRequest<In, Out>(tool: Tool<In, Out>, input: unknown, options?: RunOptions): Validation;
  /**
   * What would run, redacted; nothing is kept of it, and nobody is asked.
   * @throws (rejects with) RefusedError `ERR_LEASEHOLD_INVALID_INPUT` or `_CLOSED`; the error of the stop that came first: `options.signal`
   * and the scope's; LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`.
   */
  prepare<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<PreparedRun>;
  /**
   * Accepts an input now, to run it later. The input is a structured clone, made within this call; the buffers in
   * `options.transfer` are moved into it, and on when it runs. `options.signal` governs the preparation only; `operationTimeoutMs` counts from `runPrepared`,
   * which also asks the authorizer. @throws as `prepare`, and RefusedError `ERR_LEASEHOLD_NOT_CLONEABLE`
   */
  prepareExecution<In, Out>(
    tool: Tool<In, Out>,
    input: NoInfer<In>,
    options?: RunOptions,
  ): Promise<PreparedExecution<Out>>;
  /**
   * Runs what this scope, or one inside it, prepared, in the scope that prepared it. Claims it at once: of two calls one runs. For any other
   * handle the result is `rejected` with `ERR_LEASEHOLD_PREPARED_NOT_CLAIMABLE`, and nobody is told of it.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`; the handle is then as before.
   */
  runPrepared<Out>(handle: PreparedExecution<Out>, options?: ClaimOptions): Promise<RunResult<Out>>;
  /**
   * Starts a function of the host with a scope of its own. It cannot be killed: told to stop and not returning, it is
   * reported as abandoned. @throws ScopeClosedError after `shutdown`.
   */
  spawn<T>(name: string, body: (inner: RunScope) => Promise<T>, options?: SpawnOptions): Child<T>;
  /**
   * Runs turn after turn, each a request in a scope of its own; after each, `next` gets its result and this scope, and returns
   * the next turn or `{ done: value }`, at once or later. It ends with `done`, a throw of `next`, the end of this scope (its
   * signal tells an asynchronous `next`), or after `maxTurns`. No timer of its own: each turn has the budget of its options.
   * @throws (rejects with) CoordinationError, whose `turns` are the results so far: the scope's own error,
   * `ERR_LEASEHOLD_NEXT_FAILED` (its cause is what `next` threw), `_MAX_TURNS`, `_INVALID_OPTION`, `_SCOPE_CLOSED`.
   */
  coordinate<In, Out, Value>(
    first: Turn<In, Out>,
    next: NextTurn<Value, RunScope>,
    options?: CoordinateOptions,
  ): Promise<Coordination<Value>>;
  /** A child scope under the same run. It may only tighten the deadline. @throws ScopeClosedError after `shutdown`. */
  fork(options?: Omit<ScopeOptions, 'tenant' | 'run'>): RunScope;
  /** Tells everything in the scope to stop; `force`: without grace. `accepted` is false when it had been told before. */
  cancel(reason?: string, options?: { readonly force?: boolean }): { accepted: boolean };
  /** Resolves once nothing runs in the scope. Nothing is told to stop. */
  untilEnded(): Promise<void>;
  /** Cancels, waits for every end within the bound, and reports. Idempotent: one promise for all callers. */
  shutdown(): Promise<ShutdownReport>;
}
