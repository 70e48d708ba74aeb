/**
 * The options of one request and of one scope, parsed: checked by hand, completed, frozen.
 *
 * Invariants: null means none; a call without options gets one shared config, so it pays nothing. Deliberately absent:
 * the bounds that hold where a request gives none (the tool's, then the supervisor's).
 */
import { type RepairConfig, type RetryConfig, repairOf, retryOf } from './control-options.ts';
import { invalidOption } from './errors.ts';
import type { Observer } from './event.ts';
import {
  durationOr,
  functionOr,
  isString,
  listOf,
  nested,
  observersOf,
  optionsObject,
  refuseUnknown,
  signalOr,
  textOr,
  wordOr,
} from './option-checks.ts';
import type { RunOptions, ScopeOptions, Trace } from './option-shapes.ts';

export interface RunConfig {
  readonly signal: AbortSignal | null;
  readonly operationTimeoutMs: number | null;
  readonly runTimeoutMs: number | null;
  readonly graceMs: number | null;
  readonly queueTimeoutMs: number | null;
  readonly onPrepared: NonNullable<RunOptions['onPrepared']> | null;
  readonly onProgress: NonNullable<RunOptions['onProgress']> | null;
  readonly onOutput: NonNullable<RunOptions['onOutput']> | null;
  /** Null: the supervisor's. */
  readonly retry: RetryConfig | null;
  readonly repair: RepairConfig | null;
  readonly lateResults: 'keep' | 'discard';
  readonly transfer: readonly ArrayBuffer[];
  readonly idempotencyKey: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly group: string | null;
  readonly observers: readonly Observer[];
}

const MAX_LABELS = 16;
const RUN: ReadonlySet<string> = new Set([
  ...['signal', 'operationTimeoutMs', 'runTimeoutMs', 'graceMs', 'queueTimeoutMs', 'onPrepared', 'onProgress'],
  ...['onOutput', 'retry', 'repair', 'lateResults', 'transfer', 'idempotencyKey', 'labels', 'group', 'observers'],
]);
const SCOPE: ReadonlySet<string> = new Set(['tenant', 'run', 'branch', 'deadlineMs', 'signal', 'trace', 'observers']);
const FORK: ReadonlySet<string> = new Set([...SCOPE].filter((name) => name !== 'tenant' && name !== 'run'));
const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});

const isBuffer = (x: unknown): x is ArrayBuffer => Object.prototype.toString.call(x) === '[object ArrayBuffer]';
const LATE_RESULTS = ['keep', 'discard'] as const;

/**
 * Completes the options of `runTool`.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option, or `ERR_LEASEHOLD_NOT_AVAILABLE`
 */
export function parseRunOptions(options?: RunOptions): RunConfig {
  return options === undefined ? UNSAID : complete(options);
}

function complete(options: RunOptions): RunConfig {
  const given = optionsObject<RunOptions>('options', options);
  refuseUnknown(given, RUN, 'runTool');
  return Object.freeze<RunConfig>({
    signal: signalOr('signal', given.signal),
    operationTimeoutMs: operationTimeout(given.operationTimeoutMs),
    runTimeoutMs: durationOr('runTimeoutMs', given.runTimeoutMs, null),
    graceMs: durationOr('graceMs', given.graceMs, null),
    queueTimeoutMs: durationOr('queueTimeoutMs', given.queueTimeoutMs, null),
    onPrepared: functionOr('onPrepared', given.onPrepared),
    onProgress: functionOr('onProgress', given.onProgress),
    onOutput: functionOr('onOutput', given.onOutput),
    retry: retryOf(given.retry),
    repair: repairOf(given.repair),
    lateResults: wordOr('lateResults', given.lateResults, LATE_RESULTS, 'keep'),
    transfer: listOf('transfer', given.transfer, isBuffer, 'ArrayBuffers'),
    idempotencyKey: textOr('idempotencyKey', given.idempotencyKey, null),
    labels: labelsOf(given.labels),
    group: textOr('group', given.group, null),
    observers: observersOf(given.observers),
  });
}
/** Unlike every other duration: what is not positive, and infinity, select none, so that a computed rest can be passed. */
function operationTimeout(value: unknown): number | null {
  if (value === undefined) return null;
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw invalidOption(
      'operationTimeoutMs',
      value,
      'a number of milliseconds; zero, negative and Infinity select none',
    );
  }
  return value > 0 && value < Number.POSITIVE_INFINITY ? value : null;
}

function labelsOf(value: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  if (value === undefined) return NO_LABELS;
  const entries = Object.entries(optionsObject('labels', value)).filter(([, label]) => label !== undefined);
  if (entries.length > MAX_LABELS) throw invalidOption('labels', value, `an object of at most ${MAX_LABELS} strings`);
  for (const [name, label] of entries) {
    if (!isString(label) || label.length > 256 || name.length > 256) {
      throw invalidOption(`labels.${name.slice(0, 40)}`, label, 'a string of at most 256 characters');
    }
  }
  return Object.freeze(Object.fromEntries(entries)) as Readonly<Record<string, string>>;
}

const UNSAID = complete({});

export interface ScopeConfig {
  readonly tenant: string;
  /** Null: to be minted. */
  readonly run: string | null;
  readonly branch: string;
  readonly deadlineMs: number | null;
  readonly signal: AbortSignal | null;
  /** Null: to be generated. */
  readonly trace: Trace | null;
  readonly observers: readonly Observer[];
}

/** Completes the options of `openScope`; throws as `parseRunOptions` does. */
export function parseScopeOptions(options?: ScopeOptions): ScopeConfig {
  const given = optionsObject<ScopeOptions>('options', options);
  refuseUnknown(given, SCOPE, 'openScope');
  return Object.freeze<ScopeConfig>({
    tenant: textOr('tenant', given.tenant, 'default'),
    run: textOr('run', given.run, null),
    branch: textOr('branch', given.branch, 'main'),
    deadlineMs: durationOr('deadlineMs', given.deadlineMs, null),
    signal: signalOr('signal', given.signal),
    trace: traceOf(given.trace),
    observers: observersOf(given.observers),
  });
}

/** The options of `fork` as they were given; throws as `parseRunOptions` does, also for `tenant` and `run`. */
export function forkOptions(options?: Omit<ScopeOptions, 'tenant' | 'run'>): Omit<ScopeOptions, 'tenant' | 'run'> {
  const given = optionsObject<Omit<ScopeOptions, 'tenant' | 'run'>>('options', options);
  refuseUnknown(given, FORK, 'fork');
  return given;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

function traceOf(value: Trace | undefined): Trace | null {
  if (value === undefined) return null;
  const { traceparent, tracestate } = nested<Trace>('trace', value, TRACE);
  if (!isString(traceparent) || !TRACEPARENT.test(traceparent)) {
    throw invalidOption('trace.traceparent', traceparent, 'a W3C traceparent such as 00-<32 hex>-<16 hex>-01');
  }
  if (tracestate !== undefined && !isString(tracestate))
    throw invalidOption('trace.tracestate', tracestate, 'a string');
  return Object.freeze({ traceparent, ...(tracestate !== undefined && { tracestate }) });
}
