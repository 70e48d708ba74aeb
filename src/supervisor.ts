/**
 * Supervisor: the queue, the isolates and a root scope, joined.
 *
 * Invariants: nothing is shared between two supervisors; `close` settles within its bound and says what did not end; an idle
 * supervisor holds nothing open. Deliberately absent: signal handlers, `process.exit`, and anything global.
 */
import { admit, refusalIn } from './decide/admission.ts';
import { stopBoundMs } from './decide/bounds.ts';
import { kindOf } from './decide/lanes.ts';
import { Impairments } from './impairments.ts';
import { ActorTree } from './isolate/actor-tree.ts';
import { type Asking, Fleets } from './isolate/fleets.ts';
import type { TenureSource } from './isolate/tenure.ts';
import type { PreparedExecution, PreparedRun, Validation } from './model/control-shapes.ts';
import { mintId } from './model/ids.ts';
import { durationOr, optionsObject, refuseUnknown } from './model/option-checks.ts';
import type { RunOptions, ScopeOptions, SupervisorOptions } from './model/option-shapes.ts';
import { DEFAULTS, parseSupervisorOptions, type SupervisorConfig } from './model/options.ts';
import type { RecoveryReport } from './model/recovery.ts';
import type { RunResult } from './model/result.ts';
import { STATUSES, type Status } from './model/stop.ts';
import { settlesWithin } from './model/time.ts';
import type { Tool } from './model/tool.ts';
import { Opening } from './opening.ts';
import { createRedactor } from './output/redaction.ts';
import { Readiness } from './readiness.ts';
import { memoryBlobStore } from './record/memory-blob-store.ts';
import { memoryEventLog } from './record/memory-event-log.ts';
import type { CloseReport, Statistics } from './reports.ts';
import type { Group } from './run/groups.ts';
import { Observers } from './run/observers.ts';
import { Queue, type Waiting } from './run/queue.ts';
import { RequestDesk } from './run/request-desk.ts';
import type { Ended } from './run/request-host.ts';
import { Aborts } from './scope/aborts.ts';
import type { ScopeStop } from './scope/child.ts';
import type { ClaimOptions } from './scope/desk.ts';
import { RunScope, type ScopeHost } from './scope/run-scope.ts';
import type { RunScope as ScopeHandle } from './scope/scope-handle.ts';

/** What `close` keeps back of its bound to see isolates end. Milliseconds, at most a quarter of the bound. */
const CLOSE_RESERVE_MS = 250;

export class Supervisor implements AsyncDisposable {
  readonly #config: SupervisorConfig;
  readonly #actors: ActorTree;
  readonly #fleets: Fleets;
  readonly #queue: Queue<Waiting & Asking>;
  readonly #observers: Observers;
  readonly #root: RunScope;
  readonly #desk: RequestDesk;
  readonly #impairments: Impairments;
  readonly #opening: Opening;
  readonly #readiness = new Readiness();
  readonly #ended: Record<Status, number>;
  #violations = 0;
  #closing: Promise<CloseReport> | null = null;
  #atClose: { settled: number; interrupted: number } | null = null;
  #worstCaseStopMs: number;

  /** `tenures`: where threads come from; by default Piscina. */
  constructor(options: SupervisorOptions | undefined, tenures?: TenureSource) {
    const config = parseSupervisorOptions(options);
    this.#config = config;
    this.#worstCaseStopMs = stopBoundMs(config.defaults);
    this.#ended = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
    const violated = () => {
      this.#violations += 1;
    };
    this.#actors = new ActorTree(mintId('supervisor'), violated, config.inspect);
    this.#observers = new Observers(config.clock, config.observers);
    this.#impairments = new Impairments((reason) => this.#impair(reason));
    this.#fleets = new Fleets(config, tenures, this.#actors, {
      onCapacity: () => this.#onCapacity(),
      onViolation: violated,
      onIsolateEvent: (type, isolate) => this.#observers.tell({ type, isolate }),
      onImpairment: (reason) => this.#impairments.note('isolates', reason),
      isAwaited: () => this.#readiness.isAwaited,
      waiting: (lane) => this.#queue.waiting(lane),
      waitingBeside: (lane) => this.#queue.waitingElsewhere(lane, (other) => kindOf(other) === kindOf(lane)),
    });
    const { capacity } = config.queue;
    const hasRoomFor = (waiting: number) =>
      admit({ state: 'open', waiting, capacity, ahead: waiting, idle: this.#fleets.freeThreads }) === 'ok';
    this.#queue = new Queue(hasRoomFor, (asking) => (this.#opening.isOpen ? this.#fleets.acquire(asking) : null));
    const eventLog = config.eventLog ?? memoryEventLog();
    const blobs = config.blobs ?? memoryBlobStore();
    const redactor = createRedactor(config.redact);
    const aborts = new Aborts();
    this.#desk = new RequestDesk({
      config,
      actors: this.#actors,
      eventLog,
      blobs,
      redactor,
      observers: this.#observers,
      aborts,
      queue: this.#queue,
      admit: (lane, held) => {
        const { state } = this.#actors;
        const refusal = refusalIn(state) ?? (this.#fleets.isShut(lane) ? 'DEGRADED' : null);
        if (refusal !== null) return refusal;
        const waiting = this.#queue.depth - held;
        // Those that are on their way into the line may want the same isolates.
        const ahead = waiting - this.#queue.waitingElsewhere(lane);
        return admit({ state, waiting, capacity, ahead, idle: this.#fleets.free(lane) });
      },
      onResult: (request, result) => this.#onResult(request, result),
    });
    const boundMs = this.#worstCaseStopMs;
    const scopeHost: ScopeHost = { clock: config.clock, eventLog, blobs, aborts, boundMs, desk: this.#desk };
    this.#root = new RunScope(scopeHost, null, undefined);
    const onDecided = () => this.#onDecided();
    this.#opening = new Opening({ config, eventLog, blobs, redactor, impairments: this.#impairments, onDecided });
    this.#opening.begin();
    this.#fleets.fill();
  }

  /**
   * Resolves once the log is recovered and all isolates and the standby are booted; at once later on.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_DEGRADED` when isolates die at boot or the log fails, `ERR_LEASEHOLD_CLOSED`.
   */
  untilReady(): Promise<void> {
    const ready = this.#readiness.until();
    this.#fleets.hasten();
    this.#tellReady();
    return ready;
  }

  /**
   * What earlier hosts left open in the event log, and what became of it. It runs by itself at the start, before anything is
   * granted; this is its report. Where the log could not be read it is tried again.
   */
  recover(): Promise<RecoveryReport> {
    return this.#opening.recovered();
  }

  /** Resolves when the queue has room, or when the supervisor closes. */
  untilCapacity(): Promise<void> {
    return this.#closing === null ? this.#queue.untilCapacity() : Promise.resolve();
  }

  /**
   * Runs a tool in a scope of its own; the promise resolves for every way the request can end.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` or `ERR_LEASEHOLD_NOT_AVAILABLE` only.
   */
  runTool<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<RunResult<Out>> {
    return this.#desk.submit(this.#root, this.#root.ctxOfOwnRun(), tool, input, options) as Promise<RunResult<Out>>;
  }

  /** As `RunScope.validateRequest`. */
  validateRequest<In, Out>(tool: Tool<In, Out>, input: unknown, options?: RunOptions): Validation {
    return this.#desk.validate(tool, input, options);
  }

  /** As `RunScope.prepare`, under a run of its own. */
  prepare<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<PreparedRun> {
    return this.#desk.describe(this.#root, this.#root.ctxOfOwnRun(), tool, input, options);
  }

  /** As `RunScope.prepareExecution`, under a run of its own. */
  prepareExecution<In, Out>(
    tool: Tool<In, Out>,
    input: NoInfer<In>,
    options?: RunOptions,
  ): Promise<PreparedExecution<Out>> {
    const prepared = this.#desk.prepare(this.#root, this.#root.ctxOfOwnRun(), tool, input, options);
    return prepared as Promise<PreparedExecution<Out>>;
  }

  /** As `RunScope.runPrepared`, for what any scope of this supervisor prepared. */
  runPrepared<Out>(handle: PreparedExecution<Out>, options?: ClaimOptions): Promise<RunResult<Out>> {
    return this.#root.runPrepared(handle, options);
  }

  /** Opens a scope for one run. Dispose of it: `await using`. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
  openScope(options?: ScopeOptions): ScopeHandle {
    return this.#root.open(options);
  }

  /** The requests that joined a group by their option, as counts. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
  group(name: string): Group {
    return this.#observers.groups.named(name);
  }

  statistics(): Statistics {
    const { booting, idle, leased, resetting, quarantined, retiring, abandoned } = this.#fleets.count();
    const { oldestSince, depth } = this.#queue;
    const oldestMs = oldestSince === null ? 0 : this.#config.clock.now() - oldestSince;
    return Object.freeze({
      state: this.#actors.state,
      isolates: Object.freeze({ booting, idle, leased, resetting, quarantined: quarantined + retiring, abandoned }),
      queue: Object.freeze({ depth, oldestMs }),
      requests: Object.freeze({ ...this.#ended }),
      replacements: this.#fleets.replacements,
      protocolViolations: this.#violations,
      worstCaseStopMs: this.#worstCaseStopMs,
    });
  }

  /**
   * Refuses new requests, ends waiting ones, lets running ones finish as long as the bound allows, stops the rest, ends every
   * isolate, and reports. Settles within `withinMs` (default 10 000). Idempotent: one promise for all callers.
   * @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`
   */
  close(options: { readonly withinMs?: number } = {}): Promise<CloseReport> {
    try {
      const given = optionsObject<typeof options>('options', options);
      refuseUnknown(given, new Set(['withinMs']), 'close');
      const withinMs = durationOr('withinMs', given.withinMs, DEFAULTS.closeWithinMs);
      this.#closing ??= this.#close(withinMs);
      return this.#closing;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(withinMs: number): Promise<CloseReport> {
    const { clock } = this.#config;
    const closedAt = clock.now();
    const reserveMs = Math.min(CLOSE_RESERVE_MS, withinMs / 4);
    const hurryBy = closedAt + withinMs - reserveMs;
    const shutdown: ScopeStop = { kind: 'shutdown', atMs: closedAt, scope: this.#root.id, hurryBy };
    this.#actors.send({ type: 'DRAIN' });
    this.#opening.end();
    this.#root.seal();
    this.#queue.release();
    this.#tellReady();
    this.#atClose = { settled: 0, interrupted: 0 };
    this.#root.stopIfWaiting(shutdown);
    const patienceMs = hurryBy - closedAt - this.#worstCaseStopMs;
    const last = patienceMs > 0 ? clock.setTimeout(() => this.#root.stop(shutdown), patienceMs) : null;
    if (last === null) this.#root.stop(shutdown);
    await settlesWithin(clock, withinMs - reserveMs, this.#root.untilEnded());
    if (last !== null) clock.clearTimeout(last);
    this.#actors.send({ type: 'CLOSE' });
    // What is still here, a function of the host for one, is told and not waited for.
    this.#root.stop(shutdown);
    this.#root.giveUp();
    const abandoned = await this.#fleets.close(Math.max(0, closedAt + withinMs - clock.now()));
    this.#actors.send({ type: 'CLOSED' });
    return Object.freeze({ ...this.#atClose, abandoned: Object.freeze(abandoned) });
  }

  #onResult(request: Ended, { status, cause }: RunResult): void {
    this.#ended[status] += 1;
    this.#worstCaseStopMs = Math.max(this.#worstCaseStopMs, request.boundMs);
    // What was refused did not wait for the close.
    if (this.#atClose === null || status === 'rejected') return;
    this.#atClose[cause?.kind === 'shutdown' ? 'interrupted' : 'settled'] += 1;
  }

  #onCapacity(): void {
    this.#queue.dispatch();
    if (this.#readiness.isAwaited) this.#tellReady();
  }

  #onDecided(): void {
    if (this.#actors.state === 'opening') this.#actors.send({ type: 'OPENED' });
    this.#onCapacity();
  }

  #impair(reason: string | null): void {
    if (this.#closing !== null) return;
    this.#actors.send(reason === null ? { type: 'HEAL' } : { type: 'DEGRADE', reason });
    this.#observers.tell({ type: reason === null ? 'supervisor.healed' : 'supervisor.degraded' });
    this.#tellReady();
  }

  #tellReady(): void {
    const { state } = this.#actors;
    const refusal = admit({ state, waiting: 0, capacity: 1, ahead: 0, idle: 1 });
    if (refusal !== 'ok') this.#readiness.refuse(refusal, state);
    else if (this.#opening.isOpen && this.#fleets.isFull) this.#readiness.tell();
  }
}

/**
 * Opens a supervisor and starts to boot its isolates. Nothing of it is global.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`, `ERR_LEASEHOLD_NOT_AVAILABLE`, `ERR_LEASEHOLD_ENTRY_MISSING`
 */
export function createSupervisor(options?: SupervisorOptions): Supervisor {
  return new Supervisor(options);
}

/** The same with other threads: what tests use to be without any. @internal */
export function openSupervisor(
  options: SupervisorOptions | undefined,
  { tenures }: { readonly tenures: TenureSource },
): Supervisor {
  return new Supervisor(options, tenures);
}
