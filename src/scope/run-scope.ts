/**
 * RunScope: how long things may live, and the only way to start anything.
 *
 * Invariants: it ends after everything in it has ended or is reported abandoned; a deadline is only ever tightened, and in a
 * nest only the earliest arms, the outer one in a tie; no promise of it goes unhandled.
 * Deliberately absent: how a request runs. The supervisor gives that in as the `desk`.
 */
import type { PreparedExecution, PreparedRun, Validation } from '../model/control-shapes.ts';
import { ScopeClosedError } from '../model/errors.ts';
import type { Observer } from '../model/event.ts';
import { mintId } from '../model/ids.ts';
import type { RunOptions, ScopeOptions } from '../model/option-shapes.ts';
import { forkOptions, parseScopeOptions } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';
import { type Clock, settlesWithin, type Timer } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import type { Aborts } from './aborts.ts';
import type { ChildFate, ScopeChild, ScopeStop, ShutdownReport } from './child.ts';
import { Children } from './children.ts';
import { type CoordinateOptions, type Coordination, coordinate, type NextTurn, type Turn } from './coordinate.ts';
import { type Ctx, type CtxSource, type Deadline, NO_DEADLINE, ScopeCtx } from './ctx.ts';
import type { ClaimOptions, Desk } from './desk.ts';
import { reasonOf } from './reason.ts';
import type { RunScope as ScopeHandle } from './scope-handle.ts';
import { type Child, Spawned, type SpawnOptions } from './spawned.ts';

/** What all scopes of one supervisor share. */
export interface ScopeHost {
  readonly clock: Clock;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly aborts: Aborts;
  /** How long a scope waits for its children after a stop. Milliseconds. */
  readonly boundMs: number;
  readonly desk: Desk<RunScope>;
}

/** The deadline that holds in a scope. `atMs` is an instant of the clock. */
export interface ScopeDeadline {
  readonly kind: 'parent-deadline';
  readonly atMs: number;
  readonly scope: string;
  readonly depth: number;
}

export class RunScope implements ScopeHandle, ScopeChild, CtxSource {
  readonly id = mintId('scope');
  readonly name: string;
  readonly ctx: Ctx;
  readonly observers: readonly Observer[];
  readonly deadline: ScopeDeadline | null;
  readonly #host: ScopeHost;
  readonly #parent: RunScope | null;
  readonly #depth: number;
  readonly #embedded: boolean;
  readonly #children: Children;
  #unfollow: () => void = () => undefined;
  #stop: ScopeStop | null = null;
  #controller: AbortController | null = null;
  #timer: Timer | null = null;
  #ending: Promise<ShutdownReport> | null = null;
  #sealed = false;

  /** `embedded`: it lives inside a child of its parent, which adopts, stops and tells of it. */
  constructor(host: ScopeHost, parent: RunScope | null, options: ScopeOptions | undefined, embedded = false) {
    const given = parseScopeOptions(options);
    this.#host = host;
    this.#parent = parent;
    this.#embedded = embedded;
    this.#depth = parent === null ? 0 : parent.#depth + 1;
    this.#children = new Children(parent !== null);
    this.observers = parent === null ? given.observers : [...parent.observers, ...given.observers];
    this.deadline = this.#tighter(given.deadlineMs);
    const { tenant, run, branch, trace } = given;
    this.ctx = new ScopeCtx(this, tenant, run ?? mintId('run'), branch, this.#deadlineView(), trace);
    this.name = this.ctx.branch;
    if (given.signal !== null) this.#unfollow = this.#follow(given.signal);
  }

  /** The stop that holds here: its own, an outer one, or a deadline that has passed. */
  get stopped(): ScopeStop | null {
    const told = this.#stop ?? this.#parent?.stopped ?? null;
    return told ?? (this.deadline !== null && this.deadline.atMs <= this.#host.clock.now() ? this.deadline : null);
  }
  get eventLog(): EventLog {
    return this.#host.eventLog;
  }
  get blobs(): BlobStore {
    return this.#host.blobs;
  }
  get closed(): boolean {
    return this.#sealed || this.#ending !== null || this.#parent?.closed === true;
  }

  runTool<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<RunResult<Out>> {
    return this.#host.desk.submit(this, this.ctx, tool, input, options) as Promise<RunResult<Out>>;
  }

  validateRequest<In, Out>(tool: Tool<In, Out>, input: unknown, options?: RunOptions): Validation {
    return this.#host.desk.validate(tool, input, options);
  }
  prepare<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: RunOptions): Promise<PreparedRun> {
    return this.#host.desk.describe(this, this.ctx, tool, input, options);
  }
  prepareExecution<In, Out>(
    tool: Tool<In, Out>,
    input: NoInfer<In>,
    options?: RunOptions,
  ): Promise<PreparedExecution<Out>> {
    return this.#host.desk.prepare(this, this.ctx, tool, input, options) as Promise<PreparedExecution<Out>>;
  }
  runPrepared<Out>(handle: PreparedExecution<Out>, options?: ClaimOptions): Promise<RunResult<Out>> {
    return this.#host.desk.claim(this, handle, options) as Promise<RunResult<Out>>;
  }

  /** For a request under a run of its own. */
  ctxOfOwnRun(): Ctx {
    const { tenant, branch, deadline } = this.ctx;
    return new ScopeCtx(this, tenant, mintId('run'), branch, deadline, null);
  }
  isWithin(outer: RunScope): boolean {
    return this === outer || this.#parent?.isWithin(outer) === true;
  }

  spawn<T>(name: string, body: (inner: RunScope) => Promise<T>, options: SpawnOptions = {}): Child<T> {
    this.#refuseWhenClosed(`"${name}" was not started`);
    return new Spawned<T, RunScope>(this, this.#host.clock, this.#host.boundMs, name, body, options);
  }

  coordinate<In, Out, Value>(
    first: Turn<In, Out>,
    next: NextTurn<Value, RunScope>,
    options?: CoordinateOptions,
  ): Promise<Coordination<Value>> {
    return coordinate<Value, RunScope>(this, first, next, options);
  }

  /**
   * A child scope under the same run. It may only tighten the deadline.
   * @throws ScopeClosedError after `shutdown`, LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`
   */
  fork(options?: Omit<ScopeOptions, 'tenant' | 'run'>): RunScope {
    this.#refuseWhenClosed('it cannot be forked');
    const { tenant, run, branch, trace } = this.ctx;
    const given = forkOptions(options);
    const inherited = { tenant, run, branch: given.branch ?? branch, trace: given.trace ?? trace };
    return new RunScope(this.#host, this, { ...given, ...inherited });
  }

  /** */
  inner(deadlineMs: number | null): RunScope {
    const { tenant, run, branch, trace } = this.ctx;
    const deadline = deadlineMs === null ? {} : { deadlineMs };
    return new RunScope(this.#host, this, { tenant, run, branch, trace, ...deadline }, true);
  }

  /** A scope of another run inside this one. */
  open(options: ScopeOptions | undefined): RunScope {
    return new RunScope(this.#host, this, options);
  }

  cancel(reason?: string, { force = false }: { readonly force?: boolean } = {}): { accepted: boolean } {
    const accepted = this.stopped === null;
    const words = reason === undefined ? {} : { reason: String(reason) };
    const { id: scope } = this;
    this.stop({ kind: 'cancel', atMs: this.#host.clock.now(), scope, depth: this.#depth, ...words, force });
    return { accepted };
  }

  untilEnded(): Promise<void> {
    return this.#children.untilEmpty();
  }

  shutdown(): Promise<ShutdownReport> {
    if (this.#ending === null) {
      this.#ending = this.#end();
      if (this.stopped === null) this.cancel('the scope was shut down');
    }
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  /** Hears a stop, its own or an outer one. */
  stop(stop: ScopeStop): void {
    this.#stop ??= this.stopped ?? stop;
    this.#disarm();
    this.#unfollow();
    this.#controller?.abort(reasonOf(this.#stop));
    this.#children.stop(stop);
  }

  /** Stops what waits in it; what runs goes on. */
  stopIfWaiting(stop: ScopeStop): void {
    this.#children.stopIfWaiting(stop);
  }

  /** Nothing new may start; what runs goes on. */
  seal(): void {
    this.#sealed = true;
  }

  /** A child begins to live here. */
  adopt(child: ScopeChild): void {
    if (this.#children.add(child) && !this.#embedded) this.#parent?.adopt(this);
  }

  /** A child has ended; `fate` is null for an inner scope. */
  release(child: ScopeChild, fate: ChildFate | null, error?: unknown): void {
    const left = this.#children.remove(child, fate, error);
    if (this.#embedded || left === 'unknown') return;
    if (fate !== null) this.#parent?.remember(fate, child.name, error);
    if (left === 'emptied') this.#parent?.release(this, null);
  }

  /** The end of a child of an inner scope. */
  remember(fate: ChildFate, name: string, error?: unknown): void {
    this.#children.remember(fate, name, error);
    if (!this.#embedded) this.#parent?.remember(fate, name, error);
  }

  giveUp(): void {
    this.#children.giveUp();
  }

  get boundMs(): number {
    return this.#children.boundMs;
  }

  leftovers(): readonly string[] {
    return this.#children.leftovers();
  }

  async #end(): Promise<ShutdownReport> {
    const { clock, boundMs } = this.#host;
    // What runs under a longer grace than the supervisor's is waited for as long as it may take.
    const longestMs = Math.max(boundMs, this.boundMs);
    if (this.#children.size > 0) await settlesWithin(clock, longestMs, this.#children.untilEmpty());
    this.giveUp();
    this.#unfollow();
    this.#disarm();
    if (this.#parent !== null) this.#parent.#children.unlisten(this);
    return this.#children.report();
  }

  #refuseWhenClosed(consequence: string): void {
    if (this.closed) throw new ScopeClosedError('SCOPE_CLOSED', `The scope is closed; ${consequence}.`);
  }

  #tighter(deadlineMs: number | null): ScopeDeadline | null {
    const outer = this.#parent?.deadline ?? null;
    if (deadlineMs === null) return outer;
    const atMs = this.#host.clock.now() + deadlineMs;
    if (outer !== null && outer.atMs <= atMs) return outer;
    return Object.freeze({ kind: 'parent-deadline', atMs, scope: this.id, depth: this.#depth });
  }

  #deadlineView(): Deadline {
    const { deadline } = this;
    if (deadline === null) return NO_DEADLINE;
    const { clock } = this.#host;
    return Object.freeze({ scope: deadline.scope, remainingMs: () => Math.max(0, deadline.atMs - clock.now()) });
  }

  /** Made on demand; from then on the scope hears stops although nothing may run in it. */
  get signal(): AbortSignal {
    if (this.#controller !== null) return this.#controller.signal;
    this.#controller = new AbortController();
    const { stopped, deadline } = this;
    if (stopped !== null) this.#controller.abort(reasonOf(stopped));
    else {
      this.#listenToParent();
      if (deadline !== null) {
        const { clock } = this.#host;
        // The signal alone holds nothing open: whoever waits for it is held by what it does.
        this.#timer = clock.setTimeout(() => this.stop(deadline), Math.max(0, deadline.atMs - clock.now()), false);
      }
    }
    return this.#controller.signal;
  }

  #listenToParent(): void {
    if (this.#parent !== null && !this.#embedded) this.#parent.#children.listen(this);
  }

  #disarm(): void {
    if (this.#timer !== null) this.#host.clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #follow(signal: AbortSignal): () => void {
    // Also when nothing runs in it, an outer stop ends the following.
    this.#listenToParent();
    return this.#host.aborts.follow(signal, (reason) => void this.cancel(reason));
  }
}
