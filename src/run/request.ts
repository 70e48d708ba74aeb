/**
 * Request: one call of `runTool`, from the call to its one result.
 *
 * Invariants: it resolves exactly once and never rejects; one `request.started` and one `request.ended`, whatever happens;
 * nothing of it is admitted but after the authorizer's yes; every wait of its own also ends on a stop or its bound.
 * Deliberately absent: the lease and its stops (`attempt.ts`).
 */
import { authorize, unanswered } from '../authorize/authorize.ts';
import type { Admission } from '../decide/admission.ts';
import { type Lane, laneOf } from '../decide/lanes.ts';
import type { Asking } from '../isolate/fleets.ts';
import type { Isolate } from '../isolate/isolate.ts';
import { CancelledError, DeniedError } from '../model/errors.ts';
import type { RunConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import { ALLOWED, type Ruling } from '../model/ruling.ts';
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
import { Early } from './early.ts';
import { Hops } from './hops.ts';
import { redactedLabels } from './labels.ts';
import { brokenObserver } from './observers.ts';
import { type Particulars, particularsOf } from './particulars.ts';
import { notifyPrepared } from './prepared.ts';
import type { Waiting } from './queue.ts';
import type { RequestHost } from './request-host.ts';
import { redactorFor } from './secrets.ts';
import { unvalidated, type Validated, validate } from './validate.ts';
import { ValueCheck } from './value-check.ts';

export class Request implements AttemptHost, ScopeChild, Waiting, Asking {
  readonly lane: Lane;
  readonly result: Promise<RunResult>;
  readonly #host: RequestHost;
  readonly #scope: RunScope;
  readonly #fixed: Particulars;
  readonly #emit: (event: BareEvent) => void;
  readonly #budget: Budget;
  readonly #early: Early;
  #redactor: Redactor;
  #labels: Readonly<Record<string, string>>;
  #attempt: Attempt | null = null;
  #hops: Hops | null = null;
  #check: ValueCheck | null = null;
  /** The result is made: nothing can be told in it any more. */
  #reported = false;
  #resolve!: (result: RunResult) => void;
  #unlisten: () => void = () => undefined;

  constructor(host: RequestHost, scope: RunScope, ctx: Ctx, tool: Tool, options: RunConfig) {
    this.lane = laneOf(tool);
    this.#host = host;
    this.#scope = scope;
    this.#fixed = particularsOf(host, ctx, tool, options);
    this.#redactor = host.redactor;
    this.#labels = redactedLabels(options.labels, host.redactor);
    const { clock, startedAt } = this.#fixed;
    this.#budget = new Budget(clock, startedAt, options.operationTimeoutMs, scope.deadline);
    this.#early = new Early(this.#budget);
    const hearers = host.observers.with(scope.observers, options);
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

  get id(): string {
    return this.#fixed.names.requestId;
  }
  get name(): string {
    return this.definition.name;
  }
  get tenant(): string {
    return this.#fixed.names.tenant;
  }
  get definition(): Tool {
    return this.#fixed.tool;
  }
  get since(): number {
    return this.#fixed.startedAt;
  }
  get boundMs(): number {
    return this.#fixed.boundMs;
  }

  /** Begins. Everything up to the post to an isolate happens within this call, unless a schema or the authorizer takes its time. */
  start(input: unknown): void {
    const { queue, actors } = this.#host;
    this.#scope.adopt(this);
    actors.tell({ type: 'REQUEST', request: this.id });
    this.#emit({ type: 'request.started', labels: this.#labels });
    const admission = this.#admission(0);
    if (admission !== 'ok') {
      this.#finish({ rejected: admission });
      return;
    }
    queue.expect();
    const validated = validate(this.definition.input, input, 'The input');
    if (validated instanceof Promise) {
      void this.#budget.within(this.#fixed.bounds.validateMs, validated).then((settled) => this.#proceed(settled));
    } else this.#proceed(validated);
  }

  stop(stop: ScopeStop | IncomingStop): void {
    if (this.#attempt === null) this.#early.stop(stop);
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
    this.#budget.wake();
  }

  async authorizeHop(hop: Hop): Promise<void> {
    if (this.#hops === null) throw new DeniedError('DENIED', 'Only inline work goes through hops.');
    await this.#hops.authorize(hop);
  }

  onEnded(): void {
    const { answer = null, refusal = null } = this.#attempt ?? {};
    const denied = this.#hops?.denial ?? null;
    if (refusal !== null) this.#finish({ refusal });
    else if (denied !== null) this.#finish({ denied });
    else if (answer === null) this.#finish({});
    else if (!answer.ok)
      this.#finish({ outcome: { kind: 'exception', code: answer.failure.code, ofStop: answer.failure.ofStop } });
    else if (this.#check !== null) this.#check.run(this.definition.output, answer.value, (end) => this.#finish(end));
  }

  #note(message: string): void {
    if (this.#reported) this.#host.observers.leave(this.#redactor.text(message, { end: true }));
    else if (this.#attempt !== null) this.#attempt.capture.note('OBSERVER_THREW', message);
    else this.#early.notes.push(message);
  }

  #admission(held: 0 | 1): Admission {
    return this.#scope.closed ? 'CLOSED' : this.#host.admit(this.definition, held);
  }

  #proceed(validated: Validated | null): void {
    const { validateMs } = this.#fixed.bounds;
    if (validated === null && this.#early.stops.length === 0)
      this.#refuse({ rejected: 'INVALID_INPUT', complaint: unvalidated('The input', validateMs) });
    // Stopped before its input was accepted: that input is neither shown nor asked for its secrets.
    else if (validated === null) this.#enqueue(undefined);
    else if (!validated.ok) this.#refuse({ rejected: 'INVALID_INPUT', complaint: validated });
    else {
      const redactor = redactorFor(this.definition, validated.value, this.#redactor);
      if ('message' in redactor) this.#refuse({ rejected: 'INVALID_INPUT', complaint: redactor });
      else {
        this.#redactor = redactor;
        this.#labels = redactedLabels(this.#labels, redactor);
        this.#authorize(validated.value);
      }
    }
  }

  #authorize(input: unknown): void {
    if (this.#host.config.authorize === null || this.#early.stops.length > 0) {
      this.#enqueue(input);
      return;
    }
    const ruling = this.#ask(input, null, Number.POSITIVE_INFINITY);
    if (ruling instanceof Promise) void ruling.then((settled) => this.#obey(settled, input));
    else this.#obey(ruling, input);
  }

  /** The one call of the authorizer. Whoever waits looks at the stops first: a wait that one of them ended says no here. */
  #ask(input: unknown, hop: Hop | null, leftMs: number): Ruling | Promise<Ruling> {
    const { authorize: authorizer } = this.#host.config;
    if (authorizer === null) return ALLOWED;
    const controller = new AbortController();
    const { names, tool, options, bounds } = this.#fixed;
    const question = { names, tool, input, labels: options.labels, hop };
    const ruling = authorize(authorizer, question, controller.signal);
    if (!(ruling instanceof Promise)) return ruling;
    return this.#budget.within(Math.min(leftMs, bounds.authorizeMs), ruling).then((settled) => {
      if (settled !== null) return settled;
      controller.abort(new CancelledError('CANCELLED', 'The answer of the authorizer is awaited no longer.'));
      return unanswered(bounds.authorizeMs);
    });
  }

  #obey(ruling: Ruling, input: unknown): void {
    if (this.#early.stops.length > 0) this.#enqueue(input);
    else if (!ruling.allowed) this.#refuse({ denied: ruling });
    else {
      // What held when it was asked may hold no more.
      const admission = this.#admission(1);
      if (admission === 'ok') this.#enqueue(input);
      else this.#refuse({ rejected: admission });
    }
  }

  #refuse(end: End): void {
    this.#host.queue.giveUp();
    this.#finish(end);
  }

  /** Gets in line, unless a stop came before: then it only ends. */
  #enqueue(input: unknown): void {
    const attempt = this.#makeAttempt(input);
    const { journal, capture } = attempt;
    this.#attempt = attempt;
    this.#check = new ValueCheck(attempt, this.#budget, this.#fixed.bounds.validateMs);
    if (this.definition.work.kind === 'inline')
      this.#hops = new Hops(attempt, this.#fixed.clock, this.#redactor, (...asked) => this.#ask(input, ...asked));
    for (const message of this.#early.notes) this.#note(message);
    void journal.tryWrite('prepared', { tool: this.definition.name, effects: this.definition.effects }, capture);
    void journal.tryWrite('admitted', {}, capture);
    attempt.enqueue();
    for (const stop of this.#early.stops) attempt.stop(stop);
    if (attempt.lease.ended) this.#host.queue.giveUp();
    else {
      this.#host.queue.enter(this);
      attempt.awaitGrant();
    }
  }

  #makeAttempt(input: unknown): Attempt {
    const { onPrepared } = this.#fixed.options;
    const known = { ...this.#fixed, input, labels: this.#labels, redactor: this.#redactor };
    return new Attempt({
      ...known,
      host: this,
      deadlines: this.#budget.deadlines,
      emit: this.#emit,
      notifyPrepared: onPrepared === null ? null : () => notifyPrepared(onPrepared, known),
    });
  }

  /** Follows the caller's signal and what already holds in the scope. */
  #listen(): void {
    const { clock, options, startedAt } = this.#fixed;
    const { stopped } = this.#scope;
    if (stopped !== null && stopped.kind !== 'parent-deadline') this.#early.stop({ ...stopped, atMs: startedAt });
    if (options.signal === null) return;
    this.#unlisten = this.#host.aborts.follow(options.signal, (reason) =>
      this.stop({ kind: 'cancel', atMs: clock.now(), reason }),
    );
  }

  #finish(end: End): void {
    this.#unlisten();
    for (const message of this.#host.observers.takeLeft()) this.#note(message);
    const [particulars, labels, redactor] = [this.#fixed, this.#labels, this.#redactor];
    const { notes } = this.#early;
    conclude(end, { particulars, labels, attempt: this.#attempt, notes, redactor }, (result) => this.#tell(result));
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
