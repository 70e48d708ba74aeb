/**
 * Options, parsed once at the door: checked by hand, completed from `DEFAULTS`, frozen.
 *
 * Invariant: whoever reads a config finds every field present and valid; null means none. Deliberately absent: which
 * of a request's, a tool's and the supervisor's bounds holds (the request's, then the tool's), and Zod, since a request
 * pays for this.
 */
import { availableParallelism } from 'node:os';
import { type RetryConfig, retryOf } from './control-options.ts';
import { invalidOption } from './errors.ts';
import type { Observer } from './event.ts';
import {
  countOr,
  durationOr,
  functionOr,
  isString,
  listOf,
  nested,
  objectOr,
  observersOf,
  optionsObject,
  refuseUnknown,
  wordOr,
} from './option-checks.ts';
import type {
  Authorizer,
  Bounds,
  Inspector,
  OutputLimits,
  Share,
  SupervisorOptions,
  ThreadLimits,
} from './option-shapes.ts';
import type { Reconcile } from './recovery.ts';
import { FINDING_KINDS, type FindingKind } from './result.ts';
import type { BlobStore, EventLog } from './stores.ts';
import { type Clock, systemClock } from './time.ts';

export type { SupervisorOptions } from './option-shapes.ts';
export { forkOptions, parseRunOptions, parseScopeOptions, type RunConfig } from './request-options.ts';

const MIB = 1024 * 1024;

/** Every default, in milliseconds, bytes and counts. */
export const DEFAULTS = Object.freeze({
  standby: 1,
  maxAbandoned: 4,
  queueCapacity: 1_000,
  maxReplacements: 5,
  withinMs: 10_000,
  closeWithinMs: 10_000,
  processes: 4,
  inline: 16,
  bounds: Object.freeze<Bounds>({
    runTimeoutMs: 30_000,
    queueTimeoutMs: 600_000,
    graceMs: 2_000,
    killMs: 2_000,
    bootMs: 10_000,
    resetMs: 1_000,
    healthMs: 1_000,
    validateMs: 1_000,
    startMs: 1_000,
    sweepMs: 500,
    authorizeMs: 1_000,
    reconcileMs: 5_000,
  }),
  output: Object.freeze<OutputLimits>({
    stdoutBytes: MIB,
    stderrBytes: MIB / 2,
    combinedBytes: 1.25 * MIB,
    postKillBytes: 64 * 1024,
    readBytes: 256 * MIB,
  }),
  maxOldGenerationSizeMb: 256,
  maxYoungGenerationSizeMb: 16,
});

export interface SupervisorConfig {
  readonly isolates: number;
  readonly standby: number;
  readonly maxAbandoned: number;
  readonly limits: { readonly process: number; readonly inline: number };
  readonly queue: { readonly capacity: number };
  readonly defaults: Bounds;
  readonly resourceLimits: ThreadLimits;
  readonly share: Share;
  readonly recycle: { readonly maxLeases: number | null; readonly maxHeapMb: number };
  readonly restart: { readonly maxReplacements: number; readonly withinMs: number };
  readonly health: {
    readonly condemn: Readonly<Partial<Record<FindingKind, boolean>>>;
    readonly full: 'sampled' | 'every';
  };
  readonly output: OutputLimits;
  readonly redact: { readonly values: readonly string[]; readonly keys: readonly string[] };
  /** Null: every request is allowed. */
  readonly authorize: Authorizer | null;
  readonly retry: RetryConfig | null;
  /** Null: the one in memory. */
  readonly eventLog: EventLog | null;
  readonly blobs: BlobStore | null;
  /** By the name of an intent. */
  readonly reconcile: Readonly<Record<string, Reconcile>>;
  readonly observers: readonly Observer[];
  readonly clock: Clock;
  readonly inspect: Inspector | null;
}

const names = (...list: string[]): ReadonlySet<string> => new Set(list);

/** Checks each field of a record of equals and completes it from its defaults. */
function completed<T extends object>(
  name: string,
  value: Partial<T> | undefined,
  defaults: T,
  check: (name: string, value: unknown, fallback: number) => number,
): T {
  const given = nested<Partial<T>>(name, value, new Set(Object.keys(defaults))) as Partial<T>;
  const entries = Object.entries(defaults).map(([key, fallback]) => [
    key,
    check(`${name}.${key}`, given[key as keyof T], fallback as number),
  ]);
  return Object.freeze(Object.fromEntries(entries)) as T;
}

const SUPERVISOR = names(
  ...['isolates', 'standby', 'maxAbandoned', 'queue', 'defaults', 'resourceLimits', 'share', 'recycle', 'restart'],
  ...['limits', 'authorize', 'retry', 'health', 'output', 'redact', 'eventLog', 'blobs', 'observers', 'clock'],
  ...['inspect', 'reconcile'],
);
const THREAD_LIMITS = ['maxOldGenerationSizeMb', 'maxYoungGenerationSizeMb', 'codeRangeSizeMb', 'stackSizeMb'] as const;

/**
 * Completes the options of `createSupervisor`.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option, or `ERR_LEASEHOLD_NOT_AVAILABLE`
 */
export function parseSupervisorOptions(options?: SupervisorOptions): SupervisorConfig {
  const given = optionsObject<SupervisorOptions>('options', options);
  refuseUnknown(given, SUPERVISOR, 'createSupervisor');
  const queue = nested<{ capacity?: number }>('queue', given.queue, names('capacity'));
  const recycle = nested<{ maxLeases?: number; maxHeapMb?: number }>(
    'recycle',
    given.recycle,
    names('maxLeases', 'maxHeapMb'),
  );
  const restart = nested<{ maxReplacements?: number; withinMs?: number }>(
    'restart',
    given.restart,
    names('maxReplacements', 'withinMs'),
  );
  const health = nested<NonNullable<SupervisorOptions['health']>>('health', given.health, names('condemn', 'full'));
  const redact = nested<NonNullable<SupervisorOptions['redact']>>('redact', given.redact, names('values', 'keys'));
  const limits = nested<NonNullable<SupervisorOptions['limits']>>('limits', given.limits, names('process', 'inline'));
  const resourceLimits = threadLimits(given.resourceLimits);
  const heapMb = Math.max(1, Math.floor(resourceLimits.maxOldGenerationSizeMb * 0.75));
  return Object.freeze<SupervisorConfig>({
    isolates: countOr('isolates', given.isolates, availableParallelism(), 1, 1_024),
    standby: countOr('standby', given.standby, DEFAULTS.standby, 0, 1_024),
    maxAbandoned: countOr('maxAbandoned', given.maxAbandoned, DEFAULTS.maxAbandoned, 0, 1_024),
    limits: Object.freeze({
      process: countOr('limits.process', limits.process, DEFAULTS.processes, 1, 1_024),
      inline: countOr('limits.inline', limits.inline, DEFAULTS.inline, 1, 1_024),
    }),
    queue: Object.freeze({ capacity: countOr('queue.capacity', queue.capacity, DEFAULTS.queueCapacity) }),
    defaults: completed<Bounds>('defaults', given.defaults, DEFAULTS.bounds, durationOr),
    resourceLimits,
    share: wordOr('share', given.share, ['any', 'tenant', 'tool', 'none'], 'tenant'),
    recycle: Object.freeze({
      maxLeases: countOr('recycle.maxLeases', recycle.maxLeases, null, 1),
      maxHeapMb: countOr('recycle.maxHeapMb', recycle.maxHeapMb, heapMb, 1),
    }),
    restart: Object.freeze({
      maxReplacements: countOr('restart.maxReplacements', restart.maxReplacements, DEFAULTS.maxReplacements),
      withinMs: durationOr('restart.withinMs', restart.withinMs, DEFAULTS.withinMs),
    }),
    health: Object.freeze({
      condemn: condemnPolicy(health.condemn),
      full: wordOr('health.full', health.full, ['sampled', 'every'], 'sampled'),
    }),
    output: completed<OutputLimits>('output', given.output, DEFAULTS.output, countOr),
    redact: Object.freeze({
      values: listOf('redact.values', redact.values, isString, 'strings'),
      keys: listOf('redact.keys', redact.keys, isString, 'strings'),
    }),
    authorize: functionOr('authorize', given.authorize),
    retry: retryOf(given.retry),
    eventLog: objectOr('eventLog', given.eventLog, ['append', 'read', 'openIntents']),
    blobs: objectOr('blobs', given.blobs, ['put', 'get']),
    reconcile: hooksOf(given.reconcile),
    observers: observersOf(given.observers),
    clock: objectOr('clock', given.clock, ['now', 'wall', 'setTimeout', 'clearTimeout']) ?? systemClock,
    inspect: inspectorOf(given.inspect),
  });
}

function threadLimits(value: Partial<ThreadLimits> | undefined): ThreadLimits {
  const given = nested<Partial<ThreadLimits>>('resourceLimits', value, new Set(THREAD_LIMITS));
  const { maxOldGenerationSizeMb, maxYoungGenerationSizeMb } = DEFAULTS;
  const limits: Record<string, number> = { maxOldGenerationSizeMb, maxYoungGenerationSizeMb };
  for (const name of THREAD_LIMITS) {
    if (given[name] === undefined) continue;
    limits[name] = megabytes(`resourceLimits.${name}`, given[name], LEAST_MB[name] ?? 0);
  }
  return Object.freeze(limits) as unknown as ThreadLimits;
}
/** With a smaller stack a thread cannot even report that it has none: it ends the whole process. */
const LEAST_MB: Readonly<Record<string, number>> = { stackSizeMb: 0.5 };

function megabytes(name: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value > 0 && value >= least && value < Number.POSITIVE_INFINITY) return value;
  throw invalidOption(name, value, `a finite number of MiB${least > 0 ? `, at least ${least}` : ' above 0'}`);
}

function condemnPolicy(value: Readonly<Partial<Record<FindingKind, boolean>>> | undefined) {
  const given = nested<Partial<Record<FindingKind, boolean>>>('health.condemn', value, new Set(FINDING_KINDS));
  for (const [kind, condemns] of Object.entries(given)) {
    if (condemns !== undefined && typeof condemns !== 'boolean') {
      throw invalidOption(`health.condemn.${kind}`, condemns, 'true or false');
    }
  }
  return Object.freeze({ ...given });
}

function hooksOf(value: SupervisorOptions['reconcile']): SupervisorConfig['reconcile'] {
  const given = value === undefined ? {} : optionsObject<Readonly<Record<string, unknown>>>('reconcile', value);
  for (const [name, hook] of Object.entries(given)) {
    if (typeof hook !== 'function') throw invalidOption(`reconcile.${name}`, hook, 'a function');
  }
  return Object.freeze({ ...given }) as SupervisorConfig['reconcile'];
}

function inspectorOf(value: Inspector | undefined): Inspector | null {
  if (typeof value === 'function' || value === undefined) return value ?? null;
  if (typeof value === 'object' && value !== null) return value;
  throw invalidOption('inspect', value, 'a function, or an object with next()');
}
