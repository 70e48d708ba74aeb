/**
 * Request: one call of `runTool`, from the call to its one result.
 *
 * Invariants: it resolves exactly once and never rejects; one `request.started` and one `request.ended`, whatever happens;
 * nothing of it is admitted but after the authorizer's yes; every wait of its own also ends on a stop or its bound.
 * Deliberately absent: the lease and its stops (`attempt.ts`).
 */
import type { Admission } from '../decide/admission.ts';
import { type Lane, laneOf } from '../decide/lanes.ts';
import type { Asking } from '../isolate/fleets.ts';
import type { Isolate } from '../isolate/isolate.ts';
import { DeniedError } from '../model/errors.ts';
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
import { type Conclusion, conclude, type End, resultOf } from './conclusion.ts';
import { Early } from './early.ts';
import { Hops } from './hops.ts';
import { type Accepted, type Checked, Intake } from './intake.ts';
import { redactedLabels, startingLabels } from './labels.ts';
import { type Particulars, particularsOf, preparedOf } from './particulars.ts';
import { notifyPrepared } from './prepared.ts';
import type { Waiting } from './queue.ts';
import type { Past } from './report.ts';
import type { RequestHost } from './request-host.ts';
import { detached, type Serial, type Series, seriesOf } from './series.ts';
import { tellerOf } from './teller.ts';
import { ValueCheck } from './value-check.ts';

export class Request implements AttemptHost, ScopeChild, Waiting, Asking, Serial {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly definition: Tool;
  readonly boundMs: number;
  readonly lane: Lane;
  readonly result: Promise<RunResult>;
  readonly #host: RequestHost;
  readonly #scope: RunScope;
  #fixed: Particulars;
  readonly #emit: (event: BareEvent) => void;
  readonly #budget: Budget;
  readonly #intake: Intake;
  /** Null: there is one attempt. */
  readonly #series: Series | null;
  readonly #early: Early;
  #redactor: Redactor;
  #labels: Readonly<Record<string, string>>;
  #input: unknown = undefined;
  #arrivedAt: number;
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
    this.id = this.#fixed.names.requestId;
    this.name = tool.name;
    this.tenant = ctx.tenant;
    this.definition = tool;
    this.boundMs = this.#fixed.boundMs;
    this.#redactor = host.redactor;
    this.#labels = redactedLabels(options.labels, host.redactor);
    const { clock, startedAt } = this.#fixed;
    this.#budget = new Budget(clock, startedAt, options.operationTimeoutMs, scope.deadline);
    this.#early = new Early(this.#budget);
    this.#arrivedAt = startedAt;
    this.#intake = new Intake(this.#fixed, this.#budget, host.config.authorize, this.#early);
    this.#series = seriesOf(this, host.config.retry, this.#fixed, this.#budget, this.#early, this.#intake);
    const hearers = host.observers.with(scope.observers, options);
    this.#emit = tellerOf(host.observers, hearers, this.#fixed, (message) => this.#note(message));
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    // Here and not when it starts: a signal that throws is the caller's error, and nothing knows of the request yet.
    this.#listen();
  }

  get since(): number {
    return this.#arrivedAt;
  }

  /**
   * Begins. Everything up to the post to an isolate happens within this call, unless a schema or the authorizer takes its time.
   * `accepted`: what a schema has accepted before stands for the input.
   */
  start(input: unknown, accepted: Accepted | null = null): void {
    this.#scope.adopt(this);
    this.#host.actors.tell({ type: 'REQUEST', request: this.id });
    this.#emit({ type: 'request.started', labels: startingLabels(this.definition, this.#labels) });
    const admission = this.admission(0);
    if (admission !== 'ok') {
      this.#finish({ rejected: admission });
      return;
    }
    this.#host.queue.expect();
    const receive = (checked: Checked) => this.#receive(checked);
    if (accepted === null) this.#intake.check(input, this.#redactor, receive);
    else this.#intake.admit(accepted, this.#redactor, receive);
  }

  stop(stop: ScopeStop | IncomingStop): void {
    if (this.#check?.isGoingOn === true) this.#check.enter(stop);
    else if (this.#attempt === null || this.#isBetween) this.#early.stop(stop);
    else this.#attempt.stop(stop);
    this.#budget.wake();
  }

  /** Its own bounds end it. */
  giveUp(): void {}

  leftovers(): readonly string[] {
    return [this.name];
  }

  stopIfWaiting(stop: ScopeStop): void {
    if (this.#attempt === null || this.#isBetween || this.#attempt.lease.state === 'queued') this.stop(stop);
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

  async authorizeHop(hop: Hop, attempt: number): Promise<void> {
    if (this.#hops === null || attempt !== this.#number)
      throw new DeniedError('DENIED', 'The attempt that this hop belongs to is over.');
    await this.#hops.authorize(hop);
  }

  onEnded(): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    const { refusal, answer } = attempt;
    const denied = this.#hops?.denial ?? null;
    if (refusal !== null) this.#finish({ refusal });
    else if (denied !== null) this.#finish({ denied });
    else if (answer === null) this.#finish({});
    else if (answer.ok) this.#check?.run(this.definition.output, answer.value, (end) => this.#finish(end));
    else this.#finish({ outcome: { kind: 'exception', code: answer.failure.code, ofStop: answer.failure.ofStop } });
  }

  #note(message: string): void {
    if (this.#reported) this.#host.observers.leave(this.#redactor.text(message, { end: true }));
    else if (this.#attempt === null || this.#isBetween) this.#early.notes.push(message);
    else this.#attempt.capture.note('OBSERVER_THREW', message);
  }

  admission(held: 0 | 1): Admission {
    return this.#scope.closed ? 'CLOSED' : this.#host.admit(this.lane, held);
  }

  /** An attempt has ended, and whether another one follows is not decided, or that one has not begun. */
  get #isBetween(): boolean {
    return this.#series !== null && this.#attempt?.lease.ended === true;
  }
  get #number(): number {
    return this.#series?.number ?? 1;
  }

  #receive(checked: Checked): void {
    if (checked !== 'stopped') this.accept(checked);
    let end = checked === 'stopped' || checked.ok ? null : checked.end;
    if (end === null && this.#host.config.authorize !== null && this.#early.stops.length === 0) {
      // What held when the authorizer was asked may hold no more.
      const admission = this.admission(1);
      if (admission !== 'ok') end = { rejected: admission };
    }
    if (end === null) this.enqueue();
    else {
      this.#host.queue.giveUp();
      this.#finish(end);
    }
  }

  accept({ input, redactor, transfer }: Pick<Accepted, 'redactor' | 'transfer'> & { readonly input?: unknown }): void {
    // What was copied for the authorizer has its own buffers to be moved.
    if (transfer !== undefined) this.#fixed = { ...this.#fixed, transfer };
    this.#input = this.#series === null ? input : detached(this.#fixed, input);
    this.#redactor = redactor;
    this.#labels = redactedLabels(this.#labels, redactor);
  }

  /** Gets in line, unless a stop came before: then it only ends. */
  enqueue(): void {
    const { clock, bounds } = this.#fixed;
    const input = this.#input;
    if (this.#attempt !== null) this.#arrivedAt = clock.now();
    const attempt = this.#makeAttempt(input);
    const { journal, capture } = attempt;
    this.#attempt = attempt;
    this.#check = new ValueCheck(attempt, this.#budget, bounds.validateMs);
    if (this.definition.work.kind === 'inline')
      this.#hops = new Hops(attempt, clock, this.#redactor, (...asked) => this.#intake.ask(input, ...asked));
    this.#early.noteIn(capture);
    const hasSecrets = this.#redactor !== this.#host.redactor;
    const prepared = preparedOf(this.#fixed, { input, labels: this.#labels, hasSecrets }, this.#redactor);
    void journal.tryWrite('prepared', prepared, capture);
    void journal.tryWrite('admitted', {}, capture);
    attempt.enqueue();
    for (const stop of this.#early.take()) attempt.stop(stop);
    if (attempt.lease.ended) this.#host.queue.giveUp();
    else {
      this.#host.queue.enter(this);
      attempt.awaitGrant();
    }
  }

  #makeAttempt(input: unknown): Attempt {
    const { options, names, eventLog } = this.#fixed;
    const { onPrepared } = options;
    const known = { ...this.#fixed, input, labels: this.#labels, redactor: this.#redactor };
    const isTold = onPrepared === null || this.#series?.wasGranted === true;
    return new Attempt({
      ...known,
      host: this,
      names: this.#number === 1 ? names : { ...names, attempt: this.#number },
      eventLog: this.#series?.watched(eventLog) ?? eventLog,
      arrivedAt: this.#arrivedAt,
      deadlines: this.#budget.deadlines,
      emit: this.#emit,
      notifyPrepared: isTold ? null : () => notifyPrepared(onPrepared, known),
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
    if (this.#series === null) this.#unlisten();
    for (const message of this.#host.observers.takeLeft()) this.#note(message);
    const circumstances = {
      particulars: this.#fixed,
      labels: this.#labels,
      attempt: this.#attempt,
      past: this.#series?.past ?? null,
      arrivedAt: this.#arrivedAt,
      notes: this.#early.notes,
      redactor: this.#redactor,
    };
    conclude(end, circumstances, (conclusion) =>
      this.#series === null ? this.tell(conclusion) : this.#series.follow(conclusion),
    );
  }

  leaveBehind({ attempts }: Past): void {
    this.#host.queue.expect();
    this.#tellEnd(attempts);
  }

  #tellEnd(attempts: RunResult['request']['attempts']): void {
    const summary = attempts.at(-1);
    if (summary !== undefined) this.#emit({ type: 'attempt.ended', attempt: summary });
  }

  tell(conclusion: Conclusion): void {
    if (this.#series !== null) this.#unlisten();
    const result = resultOf(conclusion);
    this.#reported = true;
    this.#tellEnd(result.request.attempts);
    this.#host.actors.tell({ type: 'SETTLEMENT', request: this.id, status: result.status });
    this.#emit({ type: 'request.ended', result });
    this.#host.onResult(this, result);
    this.#scope.release(this, fateOf(result), result.error ?? undefined);
    this.#resolve(result);
  }
}
