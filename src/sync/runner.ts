/**
 * SyncRunner: requests for a caller that cannot await, one at a time, on a supervisor in a thread of its own.
 *
 * Invariants: the caller's thread never waits longer than the operation's budget, the bound of a stop and a second; a thread
 * that did not answer is given up and the next call has another; idle it holds nothing open. Deliberately absent: what
 * decides at the door (`door.ts`), the words of a result (`answers.ts`), and anything asynchronous.
 */
import { boundsOf, stopBoundMs } from '../decide/bounds.ts';
import { LeaseholdError } from '../model/errors.ts';
import { mintId } from '../model/ids.ts';
import { durationOr, functionOr, optionsObject, refuseUnknown } from '../model/option-checks.ts';
import type { SupervisorOptions } from '../model/option-shapes.ts';
import { DEFAULTS, parseSupervisorOptions, type RunConfig, type SupervisorConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import { systemClock } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import { createRedactor, type Redactor } from '../output/redaction.ts';
import type { CloseReport } from '../reports.ts';
import { redactedLabels } from '../run/labels.ts';
import { checkedTool } from '../run/request-desk.ts';
import { toFailure } from '../wire/failure.ts';
import { type Asked, type Ending, handedOver, ownResult } from './answers.ts';
import { type FromThread, plainTool } from './crossing.ts';
import {
  accept,
  denialOf,
  parseSyncRunOptions,
  refuseUnsendable,
  type SyncAuthorizer,
  type SyncRunnerOptions,
  type SyncRunOptions,
} from './door.ts';
import { Link, type SyncLink } from './link.ts';

/** The budget of a call that gives none: a synchronous wait has an end. Milliseconds. */
export const DEFAULT_OPERATION_MS = 60_000;
/** What an answer may take to come, beyond everything that bounds a request. Milliseconds. */
const ANSWER_MS = 1_000;

export class SyncRunner {
  readonly #options: Omit<SyncRunnerOptions, 'authorize'>;
  readonly #config: SupervisorConfig;
  readonly #authorizer: SyncAuthorizer | null;
  readonly #redactor: Redactor;
  readonly #open: (options: SupervisorOptions) => SyncLink;
  #link: SyncLink | null = null;
  #calls = 0;
  #isClosed = false;

  /** `open`: where its thread comes from. */
  constructor(options: SyncRunnerOptions = {}, open = (given: SupervisorOptions): SyncLink => new Link(given)) {
    const { authorize: authorizer, ...sent } = optionsObject<SyncRunnerOptions>('options', options);
    refuseUnsendable(sent);
    this.#open = open;
    this.#authorizer = functionOr('authorize', authorizer);
    this.#options = structuredClone({ isolates: 1, ...sent });
    this.#config = parseSupervisorOptions(this.#options);
    this.#redactor = createRedactor(this.#config.redact);
  }

  runToolSync<In, Out>(tool: Tool<In, Out>, input: NoInfer<In>, options?: SyncRunOptions): RunResult<Out> {
    const config = parseSyncRunOptions(options);
    // Copied at the door: what the authorizer or a schema does to them has no effect.
    return this.#run(checkedTool(tool), input, config, structuredClone(options ?? {})) as RunResult<Out>;
  }

  close(options: { readonly withinMs?: number } = {}): CloseReport | null {
    const given = optionsObject<typeof options>('options', options);
    refuseUnknown(given, new Set(['withinMs']), 'close');
    const withinMs = durationOr('withinMs', given.withinMs, DEFAULTS.closeWithinMs);
    this.#isClosed = true;
    const link = this.#link;
    this.#link = null;
    if (link === null) return NOTHING_TO_CLOSE;
    const read = (message: FromThread) => (message.t === 'closed' ? message.report : null);
    link.post({ t: 'close', withinMs });
    const report = link.receive(read, withinMs + ANSWER_MS);
    link.giveUp();
    return report;
  }

  #run(tool: Tool, input: unknown, config: RunConfig, options: SyncRunOptions): RunResult {
    const startedAt = systemClock.now();
    const asked = this.#asked(tool, config);
    const { operationTimeoutMs, bounds } = asked;
    const spentMs = () => systemClock.now() - startedAt;
    const end = (ending: Ending, of: Asked = asked) => ownResult(of, ending, spentMs());

    if (this.#isClosed) return end({ rejected: 'CLOSED' });
    const accepted = accept(tool, input, this.#redactor);
    if ('complaint' in accepted) return end({ rejected: 'INVALID_INPUT', complaint: accepted.complaint });
    const { redactor, secrets } = accepted;
    const told: Asked = { ...asked, redactor, labels: redactedLabels(asked.labels, redactor) };
    const denial = denialOf(this.#authorizer, asked.names, tool, accepted.input, config.labels);
    if (denial !== null) return end({ denied: denial.code, complaint: denial }, told);
    // The authorizer may have closed it.
    if (this.#isClosed) return end({ rejected: 'CLOSED' }, told);
    const [plain, sendable] = plainTool(tool, accepted.input, secrets);

    const link = this.#opened();
    const isReady = link.isReadyWithin(Math.max(0, Math.min(bounds.bootMs, operationTimeoutMs - spentMs())));
    const leftMs = operationTimeoutMs - spentMs();
    if (leftMs <= 0) return end({ stop: { kind: 'operation-timeout' } }, told);
    if (!isReady) {
      this.#drop(link);
      return end({ stop: { kind: 'lease-unavailable' } }, told);
    }
    this.#calls += 1;
    const call = this.#calls;
    try {
      link.post({ t: 'call', call, tool: plain, input: sendable, options: { ...options, operationTimeoutMs: leftMs } });
    } catch (error) {
      return end({ rejected: 'NOT_CLONEABLE', complaint: toFailure(error, 'NOT_CLONEABLE') }, told);
    }
    const mine = (message: FromThread) => ('call' in message && message.call === call ? message : null);
    const answer = link.receive(mine, leftMs + asked.boundMs + ANSWER_MS);
    if (answer === null) {
      this.#drop(link);
      return end({ stop: { kind: 'host-lost', reason: UNANSWERED }, wasSent: true }, told);
    }
    if (answer.t === 'refused') throw new LeaseholdError('INVALID_OPTION', answer.message);
    return handedOver(told, answer.result, answer.uncloneable);
  }

  #asked(tool: Tool, config: RunConfig): Asked {
    const bounds = boundsOf(this.#config.defaults, tool, config);
    return {
      names: { requestId: mintId('req'), tenant: 'default', run: mintId('run'), branch: 'main' },
      tool,
      labels: redactedLabels(config.labels, this.#redactor),
      group: config.group,
      redactor: this.#redactor,
      bounds,
      operationTimeoutMs: config.operationTimeoutMs ?? DEFAULT_OPERATION_MS,
      startedWall: systemClock.wall(),
      boundMs: stopBoundMs(bounds, tool.work),
    };
  }

  #opened(): SyncLink {
    if (this.#link?.isAlive !== true) this.#link = this.#open(this.#options);
    return this.#link;
  }

  #drop(link: SyncLink): void {
    link.giveUp();
    if (this.#link === link) this.#link = null;
  }
}

const UNANSWERED = "the supervisor's thread ended, or did not answer in time";
const NOTHING_TO_CLOSE: CloseReport = Object.freeze({ settled: 0, interrupted: 0, abandoned: Object.freeze([]) });
