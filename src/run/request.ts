/**
 * Request: one call of `runTool`, from the call to its one result.
 *
 * Invariants: it resolves exactly once and never rejects; one `request.started` and one `request.ended`, whatever happens;
 * every wait of its own also ends on a stop or its bound. Deliberately absent: the lease and its stops (`attempt.ts`).
 */
import { type AttemptRecord, classify, type Outcome } from '../decide/classify.ts';
import type { Admission } from '../decide/admission.ts';
import { mintId } from '../model/ids.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { RunConfig, SupervisorConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { BlobStore, EventLog } from '../model/stores.ts';
import type { Timer } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import type { ActorTree } from '../isolate/actor-tree.ts';
import type { Isolate } from '../isolate/isolate.ts';
import type { ChildFate, ScopeChild, ScopeStop } from '../scope/child.ts';
import { type RunScope, wordsOf } from '../scope/run-scope.ts';
import type { Ctx } from '../scope/ctx.ts';
import { toFailure } from '../wire/failure.ts';
import { Attempt } from './attempt.ts';
import type { AttemptHost, BareEvent, IncomingStop } from './attempt-setting.ts';
import { silent } from './capture.ts';
import { explain } from './explain.ts';
import type { Observers } from './observers.ts';
import { describePrepared } from './prepared.ts';
import type { Queue, Waiting } from './queue.ts';
import { report } from './report.ts';
import { type Validated, validate } from './validate.ts';

/** What all requests of one supervisor share. */
export interface RequestHost {
  readonly config: SupervisorConfig;
  readonly actors: ActorTree;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  readonly observers: Observers;
  readonly queue: Queue;
  readonly boundOf: (bounds: Bounds) => number;
  admit(): Admission;
  onResult(request: Request, result: RunResult): void;
}

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
  #redactor: Redactor;
  #attempt: Attempt | null = null;
  /** Stops that came before there was an attempt to end. */
  #early: IncomingStop[] = [];
  #wake: () => void = () => undefined;
  #resolve!: (result: RunResult) => void;
  #complaint: Extract<Validated, { ok: false }> | null = null;
  #onAbort: (() => void) | null = null;

  constructor(host: RequestHost, scope: RunScope, ctx: Ctx, tool: Tool, options: RunConfig) {
    const { clock, defaults } = host.config;
    this.#host = host;
    this.#scope = scope;
    this.#ctx = ctx;
    this.#tool = tool;
    this.#options = options;
    this.#redactor = host.redactor;
    this.#startedAt = clock.now();
    this.#startedWall = clock.wall();
    this.#bounds = boundsOf(defaults, tool, options);
    const hearers = host.observers.with(scope.observers, options.observers);
    const { tenant, run, branch } = ctx;
    const names = { requestId: this.id, tool: tool.name, tenant, run, branch };
    const onThrow = (error: unknown) =>
      this.#attempt?.capture.note('OBSERVER_THREW', `An observer threw and hears no more: ${toFailure(error, 'TOOL_ERROR').message}`);
    this.#emit = hearers.length === 0 ? silent : (event) => host.observers.tellAll(hearers, { ...names, ...event }, onThrow);
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
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
  /** Whether no isolate is held for it. */
  get isWaiting(): boolean {
    return this.#attempt === null || this.#attempt.lease.state === 'queued';
  }
  get boundMs(): number {
    return this.#host.boundOf(this.#bounds);
  }

  /** Begins. Everything up to the post to an isolate happens within this call, unless a schema is asynchronous. */
  start(input: unknown): void {
    const { queue, actors } = this.#host;
    this.#scope.adopt(this);
    actors.tell({ type: 'REQUEST', request: this.id });
    this.#emit({ type: 'request.started', labels: this.#options.labels });
    const admission = this.#scope.closed ? 'CLOSED' : this.#host.admit();
    if (admission !== 'ok') {
      this.#finish({ rejected: admission });
      return;
    }
    queue.expect();
    this.#listen();
    const validated = validate(this.#tool.input, input, 'The input');
    if (validated instanceof Promise) void this.#bounded(validated).then((settled) => this.#proceed(settled, input));
    else this.#proceed(validated, input);
  }

  stop(stop: ScopeStop | IncomingStop): void {
    if (this.#attempt === null) {
      this.#early.push(stop);
      this.#wake();
    } else {
      this.#attempt.stop(stop);
    }
  }

  grant(isolate: Isolate): void {
    this.#attempt?.grant(isolate);
  }

  onLost(): void {
    this.#host.queue.enterAgain(this);
  }

  onEnded(): void {
    this.#host.queue.leave(this);
    const { answer = null, refusal = null } = this.#attempt ?? {};
    if (refusal !== null) this.#finish({ refused: refusal.code });
    else if (answer === null) this.#finish({});
    else if (!answer.ok) this.#finish({ outcome: { kind: 'exception', code: answer.failure.code, ofStop: answer.failure.ofStop } });
    else this.#checkValue(answer.value);
  }

  #proceed(validated: Validated | null, input: unknown): void {
    if (validated === null && this.#early.length === 0 && !this.#isDue()) {
      this.#reject({ ok: false, message: `The input was not validated within validateMs (${this.#bounds.validateMs} ms).` });
      return;
    }
    if (validated?.ok === false) {
      this.#reject(validated);
      return;
    }
    const accepted = validated === null ? input : validated.value;
    try {
      const secrets = this.#tool.secrets?.(accepted) ?? [];
      if (secrets.length > 0) this.#redactor = this.#host.redactor.with(secrets);
    } catch (error) {
      // Without the secrets nothing of this request could be shown safely.
      this.#reject({ ok: false, message: `secrets() of the tool threw a ${toFailure(error, 'TOOL_ERROR').name}.` });
      return;
    }
    this.#enqueue(accepted);
  }

  #reject(complaint: Extract<Validated, { ok: false }>): void {
    this.#host.queue.giveUp();
    this.#complaint = complaint;
    this.#finish({ rejected: 'INVALID_INPUT' });
  }

  #enqueue(input: unknown): void {
    const attempt = this.#makeAttempt(input);
    this.#attempt = attempt;
    const { tool, effects } = { tool: this.#tool.name, effects: this.#tool.effects };
    this.#log(attempt, 'prepared', { tool, effects });
    this.#log(attempt, 'admitted', {});
    attempt.enqueue();
    for (const stop of this.#early) attempt.stop(stop);
    if (attempt.lease.ended) this.#host.queue.giveUp();
    else this.#host.queue.enter(this);
  }

  #makeAttempt(input: unknown): Attempt {
    const { config, actors, eventLog, blobs } = this.#host;
    const { onPrepared, operationTimeoutMs, onProgress, onOutput, transfer, idempotencyKey, labels } = this.#options;
    const { deadline } = this.#scope;
    const ctx = this.#ctx;
    const { tenant, run, branch } = ctx;
    const operation = operationTimeoutMs === null ? [] : [{ kind: 'operation-timeout' as const, atMs: this.#startedAt + operationTimeoutMs }];
    const prepared = { tool: this.#tool, input, ctx, bounds: this.#bounds, labels, redactor: this.#redactor };
    return new Attempt({
      host: this,
      actors,
      clock: config.clock,
      eventLog,
      blobs,
      redactor: this.#redactor,
      startedAt: this.#startedAt,
      names: { tenant, run, branch, requestId: this.id, attempt: 1 },
      tool: this.#tool,
      input,
      transfer,
      ctx,
      idempotencyKey,
      bounds: this.#bounds,
      output: config.output,
      condemn: config.health.condemn,
      deadlines: deadline === null ? operation : [deadline, ...operation],
      emit: this.#emit,
      notifyPrepared: onPrepared === null ? null : () => notify(onPrepared, ctx, describePrepared(prepared)),
      onProgress,
      onOutput,
    });
  }

  #checkValue(value: unknown): void {
    const { output } = this.#tool;
    if (output === null) {
      this.#finish({ outcome: { kind: 'value', accepted: true }, value });
      return;
    }
    const validated = validate(output, value, 'The value');
    if (!(validated instanceof Promise)) this.#judgeValue(validated);
    else void this.#bounded(validated).then((settled) => this.#judgeValue(settled));
  }

  #judgeValue(validated: Validated | null): void {
    if (validated?.ok === true) {
      this.#finish({ outcome: { kind: 'value', accepted: true }, value: validated.value });
      return;
    }
    const late = { ok: false as const, message: `The value was not validated within validateMs (${this.#bounds.validateMs} ms).` };
    this.#complaint = validated ?? late;
    this.#finish({ outcome: { kind: 'value', accepted: false } });
  }

  /** Null when the time is up or a stop came first. */
  #bounded(work: Promise<Validated>): Promise<Validated | null> {
    const { clock } = this.#host.config;
    const soonest = Math.min(this.#soonest() - clock.now(), this.#bounds.validateMs);
    return new Promise((resolve) => {
      const timer: Timer = clock.setTimeout(() => resolve(null), Math.max(0, soonest));
      this.#wake = () => resolve(null);
      void work.then(resolve).finally(() => clock.clearTimeout(timer));
    });
  }

  #soonest(): number {
    const { operationTimeoutMs } = this.#options;
    const operation = operationTimeoutMs === null ? Number.POSITIVE_INFINITY : this.#startedAt + operationTimeoutMs;
    return Math.min(operation, this.#scope.deadline?.atMs ?? Number.POSITIVE_INFINITY);
  }
  #isDue(): boolean {
    return this.#soonest() <= this.#host.config.clock.now() + 0.5;
  }

  /** Follows the caller's signal and what already holds in the scope. */
  #listen(): void {
    const { signal } = this.#options;
    const { stopped } = this.#scope;
    if (stopped !== null && stopped.kind !== 'parent-deadline') this.#early.push({ ...stopped, atMs: this.#startedAt });
    if (signal === null) return;
    const cancel = () => this.stop({ kind: 'cancel', atMs: this.#host.config.clock.now(), reason: wordsOf(signal.reason) });
    if (signal.aborted) cancel();
    else {
      signal.addEventListener('abort', cancel, { once: true });
      this.#onAbort = () => signal.removeEventListener('abort', cancel);
    }
  }

  #log(attempt: Attempt, kind: 'prepared' | 'admitted' | 'closed', body: Record<string, unknown>): void | Promise<void> {
    const failed = (error: unknown) =>
      attempt.capture.note('LOG_FAILED', `The entry "${kind}" was not recorded: ${toFailure(error, 'TOOL_ERROR').message}`);
    try {
      return attempt.journal.write(kind, '', body)?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #finish(end: { rejected?: string; refused?: string; outcome?: Outcome; value?: unknown }): void {
    const attempt = this.#attempt;
    const intents = attempt?.journal.intents() ?? [];
    const { refused } = end;
    const record: AttemptRecord = {
      rejected: end.rejected ?? (refused === 'NOT_CLONEABLE' ? refused : null),
      denied: null,
      outcome: end.outcome ?? (refused === undefined ? null : { kind: 'exception', code: refused, ofStop: false }),
      stops: attempt?.ledger.stops ?? [],
      intents,
      discardLate: this.#options.lateResults === 'discard',
    };
    const verdict = classify(record);
    const closing = attempt === null ? undefined : this.#log(attempt, 'closed', { status: verdict.status, cause: verdict.cause?.kind ?? null, code: verdict.code });
    const tell = () => this.#tell(verdict, end.value, intents);
    if (closing instanceof Promise) void closing.then(tell);
    else tell();
  }

  #tell(verdict: ReturnType<typeof classify>, value: unknown, intents: AttemptRecord['intents']): void {
    const { config, eventLog, actors } = this.#host;
    this.#onAbort?.();
    const { tenant, run, branch } = this.#ctx;
    const attempt = this.#attempt;
    const { operationTimeoutMs, labels } = this.#options;
    const circumstances = { verdict, attempt, bounds: this.#bounds, operationTimeoutMs, redactor: this.#redactor, complaint: this.#complaint };
    const result = report({
      verdict,
      error: explain(circumstances),
      value,
      request: { id: this.id, tool: this.#tool.name, tenant, run, branch, labels },
      attempt,
      intents,
      startedWall: this.#startedWall,
      totalMs: config.clock.now() - this.#startedAt,
      boundMs: this.boundMs,
      durability: eventLog.durability,
    });
    const [summary] = result.request.attempts;
    if (summary !== undefined) this.#emit({ type: 'attempt.ended', attempt: summary });
    actors.tell({ type: 'SETTLEMENT', request: this.id, status: result.status });
    this.#emit({ type: 'request.ended', result });
    this.#host.onResult(this, result);
    this.#scope.release(this, fateOf(result), result.error ?? undefined);
    this.#resolve(result);
  }
}

/** The request's bounds, then the tool's, then the supervisor's; these as they are when neither says anything. */
function boundsOf(defaults: Bounds, tool: Tool, options: RunConfig): Bounds {
  const runTimeoutMs = options.runTimeoutMs ?? tool.runTimeoutMs;
  const graceMs = options.graceMs ?? tool.graceMs;
  const { queueTimeoutMs } = options;
  if (runTimeoutMs === null && graceMs === null && queueTimeoutMs === null) return defaults;
  return {
    ...defaults,
    runTimeoutMs: runTimeoutMs ?? defaults.runTimeoutMs,
    graceMs: graceMs ?? defaults.graceMs,
    queueTimeoutMs: queueTimeoutMs ?? defaults.queueTimeoutMs,
  };
}

function notify(onPrepared: NonNullable<RunConfig['onPrepared']>, ...args: Parameters<NonNullable<RunConfig['onPrepared']>>): void {
  const returned: unknown = onPrepared(...args);
  if (typeof returned === 'object' && returned !== null && 'then' in returned) {
    throw new TypeError('onPrepared must be synchronous; it returned a promise.');
  }
}

function fateOf({ status, lease }: RunResult): ChildFate {
  const kinds = lease?.findings.map(({ kind }) => kind) ?? [];
  if (kinds.includes('abandoned')) return 'abandoned';
  if (kinds.includes('killed')) return 'killed';
  return status === 'succeeded' || status === 'failed' || status === 'rejected' || status === 'denied' ? 'completed' : 'aborted';
}
