/**
 * Request: one call of `runTool`, from the call to its one result.
 *
 * Invariants: it resolves exactly once and never rejects; one `request.started` and one `request.ended`, whatever happens;
 * every wait of its own also ends on a stop or its bound. Deliberately absent: the lease and its stops (`attempt.ts`).
 */
import { boundsOf, stopBoundMs } from '../decide/bounds.ts';
import type { Isolate } from '../isolate/isolate.ts';
import { mintId } from '../model/ids.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { RunConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import type { Hop } from '../model/work.ts';
import type { Redactor } from '../output/redaction.ts';
import { Budget } from '../scope/budget.ts';
import { fateOf, type ScopeChild, type ScopeStop } from '../scope/child.ts';
import type { Ctx } from '../scope/ctx.ts';
import type { RunScope } from '../scope/run-scope.ts';
import { Attempt } from './attempt.ts';
import type { AttemptHost, BareEvent, IncomingStop } from './attempt-setting.ts';
import { silent } from './capture.ts';
import { conclude, type End } from './conclusion.ts';
import type { Complaint } from './explain.ts';
import { redactedLabels } from './labels.ts';
import { brokenObserver } from './observers.ts';
import { notifyPrepared } from './prepared.ts';
import type { Waiting } from './queue.ts';
import type { RequestHost } from './request-host.ts';
import { redactorFor } from './secrets.ts';
import { unvalidated, type Validated, validate } from './validate.ts';
import { ValueCheck } from './value-check.ts';

export class Request implements AttemptHost, ScopeChild, Waiting {
  readonly id = mintId('req');
  readonly result: Promise<RunResult>;
  readonly #host: RequestHost;
  readonly #scope: RunScope;
  readonly #ctx: Ctx;
  readonly #tool: Tool;
  readonly #options: RunConfig;
  readonly #bounds: Bounds;
  readonly #startedAt: number;
  readonly #startedWall: number;
  readonly #emit: (event: BareEvent) => void;
  readonly #budget: Budget;
  #redactor: Redactor;
  #labels: Readonly<Record<string, string>>;
  #attempt: Attempt | null = null;
  /** What came before there was an attempt to take it. */
  readonly #early: { readonly stops: IncomingStop[]; readonly notes: string[] } = { stops: [], notes: [] };
  #check: ValueCheck | null = null;
  /** The result is made: nothing can be told in it any more. */
  #reported = false;
  #resolve!: (result: RunResult) => void;
  #unlisten: () => void = () => undefined;

  constructor(host: RequestHost, scope: RunScope, ctx: Ctx, tool: Tool, options: RunConfig) {
    const { clock, defaults } = host.config;
    this.#host = host;
    this.#scope = scope;
    this.#ctx = ctx;
    this.#tool = tool;
    this.#options = options;
    this.#redactor = host.redactor;
    this.#labels = redactedLabels(options.labels, host.redactor);
    this.#startedAt = clock.now();
    this.#startedWall = clock.wall();
    this.#bounds = boundsOf(defaults, tool, options);
    this.#budget = new Budget(clock, this.#startedAt, options.operationTimeoutMs, scope.deadline);
    const hearers = host.observers.with(scope.observers, options.observers);
    const { tenant, run, branch } = ctx;
    const names = { requestId: this.id, tool: tool.name, tenant, run, branch };
    const told = (event: BareEvent) =>
      host.observers.tellAll(hearers, { ...names, ...event }, (error) => this.#note(brokenObserver(error)));
    this.#emit = hearers.length === 0 ? silent : told;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    // Here and not when it starts: a signal that throws is the caller's error, and nothing knows of the request yet.
    this.#listen();
  }

  get name(): string {
    return this.#tool.name;
  }
  get tenant(): string {
    return this.#ctx.tenant;
  }
  get tool(): string {
    return this.#tool.name;
  }
  get since(): number {
    return this.#startedAt;
  }
  get boundMs(): number {
    return stopBoundMs(this.#bounds);
  }

  /** Begins. Everything up to the post to an isolate happens within this call, unless a schema is asynchronous. */
  start(input: unknown): void {
    const { queue, actors } = this.#host;
    this.#scope.adopt(this);
    actors.tell({ type: 'REQUEST', request: this.id });
    this.#emit({ type: 'request.started', labels: this.#labels });
    const admission = this.#scope.closed ? 'CLOSED' : this.#host.admit();
    if (admission !== 'ok') {
      this.#finish({ rejected: admission });
      return;
    }
    queue.expect();
    const validated = validate(this.#tool.input, input, 'The input');
    if (validated instanceof Promise) {
      void this.#budget.within(this.#bounds.validateMs, validated).then((settled) => this.#proceed(settled));
    } else this.#proceed(validated);
  }

  stop(stop: ScopeStop | IncomingStop): void {
    if (this.#attempt === null) this.#early.stops.push(stop);
    else if (this.#check?.isGoingOn === true) this.#check.enter(stop);
    else this.#attempt.stop(stop);
    this.#budget.wake();
  }

  /** Its own bounds end it. */
  giveUp(): void {}

  leftovers(): readonly string[] {
    return [this.name];
  }

  stopIfWaiting(stop: ScopeStop): void {
    if (this.#attempt === null || this.#attempt.lease.state === 'queued') this.stop(stop);
  }

  grant(isolate: Isolate): void {
    if (this.#attempt?.lease.ended === false) this.#attempt.grant(isolate);
  }

  onLost(): void {
    this.#host.queue.enterAgain(this);
    this.#attempt?.awaitGrant();
  }

  onLeaseEnded(): void {
    this.#host.queue.leave(this);
  }

  authorizeHop(_hop: Hop): Promise<void> {
    return Promise.resolve();
  }

  onEnded(): void {
    const { answer = null, refusal = null } = this.#attempt ?? {};
    if (refusal !== null) this.#finish({ refusal });
    else if (answer === null) this.#finish({});
    else if (!answer.ok)
      this.#finish({ outcome: { kind: 'exception', code: answer.failure.code, ofStop: answer.failure.ofStop } });
    else if (this.#check !== null) this.#check.run(this.#tool.output, answer.value, (end) => this.#finish(end));
  }

  #note(message: string): void {
    if (this.#reported) this.#host.observers.leave(this.#redactor.text(message, { end: true }));
    else if (this.#attempt !== null) this.#attempt.capture.note('OBSERVER_THREW', message);
    else this.#early.notes.push(message);
  }

  #proceed(validated: Validated | null): void {
    if (validated === null && this.#early.stops.length === 0 && this.#budget.due === null)
      this.#reject(unvalidated('The input', this.#bounds.validateMs));
    // Stopped before its input was accepted: that input is neither shown nor asked for its secrets.
    else if (validated === null) this.#enqueue(undefined);
    else if (!validated.ok) this.#reject(validated);
    else {
      const redactor = redactorFor(this.#tool, validated.value, this.#redactor);
      if ('message' in redactor) this.#reject(redactor);
      else {
        this.#redactor = redactor;
        this.#labels = redactedLabels(this.#labels, redactor);
        this.#enqueue(validated.value);
      }
    }
  }

  #reject(complaint: Complaint): void {
    this.#host.queue.giveUp();
    this.#finish({ rejected: 'INVALID_INPUT', complaint });
  }

  #enqueue(input: unknown): void {
    const attempt = this.#makeAttempt(input);
    const { journal, capture } = attempt;
    this.#attempt = attempt;
    this.#check = new ValueCheck(attempt, this.#budget, this.#bounds.validateMs);
    for (const message of this.#early.notes) this.#note(message);
    void journal.tryWrite('prepared', { tool: this.#tool.name, effects: this.#tool.effects }, capture);
    void journal.tryWrite('admitted', {}, capture);
    attempt.enqueue();
    const { due } = this.#budget;
    for (const stop of due === null ? this.#early.stops : [...this.#early.stops, due]) attempt.stop(stop);
    if (attempt.lease.ended) this.#host.queue.giveUp();
    else {
      this.#host.queue.enter(this);
      attempt.awaitGrant();
    }
  }

  #makeAttempt(input: unknown): Attempt {
    const { config, actors, eventLog, blobs } = this.#host;
    const { onPrepared, onProgress, onOutput, transfer, idempotencyKey } = this.#options;
    const ctx = this.#ctx;
    const { tenant, run, branch } = ctx;
    const [bounds, labels, redactor] = [this.#bounds, this.#labels, this.#redactor];
    const preparation = { tool: this.#tool, input, ctx, bounds, labels, redactor };
    return new Attempt({
      host: this,
      actors,
      clock: config.clock,
      eventLog,
      blobs,
      redactor,
      startedAt: this.#startedAt,
      names: { tenant, run, branch, requestId: this.id, attempt: 1 },
      tool: this.#tool,
      input,
      transfer,
      ctx,
      idempotencyKey,
      bounds,
      output: config.output,
      condemn: config.health.condemn,
      deadlines: this.#budget.deadlines,
      emit: this.#emit,
      notifyPrepared: onPrepared === null ? null : () => notifyPrepared(onPrepared, preparation),
      onProgress,
      onOutput,
    });
  }

  /** Follows the caller's signal and what already holds in the scope. */
  #listen(): void {
    const { signal } = this.#options;
    const { stopped } = this.#scope;
    if (stopped !== null && stopped.kind !== 'parent-deadline')
      this.#early.stops.push({ ...stopped, atMs: this.#startedAt });
    if (signal === null) return;
    const { clock } = this.#host.config;
    this.#unlisten = this.#host.aborts.follow(signal, (reason) =>
      this.stop({ kind: 'cancel', atMs: clock.now(), reason }),
    );
  }

  #finish(end: End): void {
    this.#unlisten();
    for (const message of this.#host.observers.takeLeft()) this.#note(message);
    const { config, eventLog } = this.#host;
    const { tenant, run, branch } = this.#ctx;
    const { operationTimeoutMs, lateResults } = this.#options;
    conclude(
      end,
      {
        clock: config.clock,
        request: { id: this.id, tool: this.name, tenant, run, branch, labels: this.#labels },
        attempt: this.#attempt,
        notes: this.#early.notes,
        bounds: this.#bounds,
        boundMs: this.boundMs,
        operationTimeoutMs,
        redactor: this.#redactor,
        discardLate: lateResults === 'discard',
        startedAt: this.#startedAt,
        startedWall: this.#startedWall,
        durability: eventLog.durability,
      },
      (result) => this.#tell(result),
    );
  }

  #tell(result: RunResult): void {
    this.#reported = true;
    const [summary] = result.request.attempts;
    if (summary !== undefined) this.#emit({ type: 'attempt.ended', attempt: summary });
    this.#host.actors.tell({ type: 'SETTLEMENT', request: this.id, status: result.status });
    this.#emit({ type: 'request.ended', result });
    this.#host.onResult(this, result);
    this.#scope.release(this, fateOf(result), result.error ?? undefined);
    this.#resolve(result);
  }
}
