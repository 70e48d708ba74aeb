/**
 * `leasehold/sync`: tools for callers that cannot await.
 *
 * Invariant: what is not listed here is not public. The one thread that `runToolSync` shares is opened by its first call.
 * Deliberately absent: how a call is made (`runner.ts`).
 */
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import type { CloseReport } from '../reports.ts';
import type { SyncRunnerOptions, SyncRunOptions } from './door.ts';
import { SyncRunner as Runner } from './runner.ts';

export type { SyncAuthorizer, SyncRunnerOptions, SyncRunOptions } from './door.ts';

/** A supervisor in a thread of its own, asked synchronously. */
export interface SyncRunner {
  /** As the function of this name, on this runner's supervisor. */
  runToolSync<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: SyncRunOptions): RunResult<Out>;
  /**
   * Closes the supervisor, waiting at most `withinMs` (default 10 000) and a second; afterwards each call is `rejected`. Null
   * when its thread did not report in time, and was ended.
   * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`
   */
  close(options?: { readonly withinMs?: number }): CloseReport | null;
}

/**
 * A runner of its own. Its thread is opened by the first call, ended by `close`, and never holds the process open.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`, `ERR_LEASEHOLD_NOT_AVAILABLE` for an option that cannot cross
 */
export function createSyncRunner(options?: SyncRunnerOptions): SyncRunner {
  const runner = new Runner(options);
  return Object.freeze<SyncRunner>({
    runToolSync: (...call) => runner.runToolSync(...call),
    close: (...given) => runner.close(...given),
  });
}

let shared: SyncRunner | null = null;

/**
 * Runs a tool while the calling thread waits, and returns its result: the same statuses, errors and bounds as `runTool`. The
 * value comes as a structured clone; times count from when the supervisor's thread took the call.
 *
 * Scheduling model: blocking and strictly in the order of calls, one request at a time per runner. The calling thread runs nothing
 * else meanwhile, no timer, no I/O, no signal handler: a tool that waits for the calling thread waits for its deadline.
 * The supervisor, its queue and its isolates go on in their own threads, by the model of `createSupervisor`.
 * The wait ends after `operationTimeoutMs` (default 60 000; there is always one), `timing.boundMs` and a second at the latest;
 * a call that was sent and got no answer by then is `indeterminate`, or `interrupted` for a tool without effects.
 *
 * Input schema, `secrets`, authorizer, the plan of a command and the output schema run in the calling thread and must be synchronous.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`, `ERR_LEASEHOLD_NOT_AVAILABLE` for callbacks, signals, transfers,
 * asynchronous input schemas and inline tools (HTTP, files), `ERR_LEASEHOLD_ENTRY_MISSING`
 */
export function runToolSync<In, Out>(
  tool: Tool<In, Out>,
  input: NoInfer<In>,
  options?: SyncRunOptions,
): RunResult<Out> {
  shared ??= createSyncRunner();
  return shared.runToolSync(tool, input, options);
}
