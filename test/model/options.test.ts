/** Options of a supervisor, a request and a scope: defaults, refusals, frozen forms. */
import { describe, expect, it } from 'vitest';
import {
  DEFAULTS,
  forkOptions,
  parseRunOptions,
  parseScopeOptions,
  parseSupervisorOptions,
} from '../../src/model/options.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';

const supervisor = (options: object) => () => parseSupervisorOptions(options);
const run = (options: object) => () => parseRunOptions(options);
const scope = (options: object) => () => parseScopeOptions(options);
const withCode = (code: string) => expect.objectContaining({ code: `ERR_LEASEHOLD_${code}` });

function unfrozenIn(x: unknown, path = 'config'): string[] {
  if (typeof x !== 'object' || x === null) return [];
  const own = Object.isFrozen(x) ? [] : [path];
  return [...own, ...Object.entries(x).flatMap(([key, value]) => unfrozenIn(value, `${path}.${key}`))];
}

describe('parseSupervisorOptions', () => {
  it('completes everything from the defaults, deeply frozen', () => {
    const config = parseSupervisorOptions();
    expect(config).toMatchObject({
      standby: 1,
      maxAbandoned: 4,
      limits: { process: 4, inline: 16 },
      queue: { capacity: 1_000 },
      defaults: DEFAULTS.bounds,
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 },
      share: 'tenant',
      recycle: { maxLeases: null, maxHeapMb: 192 },
      restart: { maxReplacements: 5, withinMs: 10_000 },
      health: { condemn: {}, full: 'sampled' },
      output: {
        stdoutBytes: 1_048_576,
        stderrBytes: 524_288,
        combinedBytes: 1_310_720,
        postKillBytes: 65_536,
        readBytes: 268_435_456,
      },
      authorize: null,
      eventLog: null,
      blobs: null,
      inspect: null,
    });
    expect(config.isolates).toBeGreaterThan(0);
    const { clock: _clock, ...rest } = config;
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.values(rest).flatMap((part) => unfrozenIn(part))).toEqual([]);
  });

  it('keeps what is given and completes the rest', () => {
    const observer = { onEvent: () => undefined };
    const config = parseSupervisorOptions({
      isolates: 2,
      standby: 0,
      queue: { capacity: 0 },
      defaults: { graceMs: 50 },
      resourceLimits: { maxOldGenerationSizeMb: 64, stackSizeMb: 2 },
      recycle: { maxLeases: 9 },
      health: { condemn: { 'env-changed': true }, full: 'every' },
      output: { stdoutBytes: 0 },
      redact: { values: ['hunter2'], keys: ['pin'] },
      observers: [observer],
      inspect: () => undefined,
    });
    expect(config).toMatchObject({
      isolates: 2,
      standby: 0,
      queue: { capacity: 0 },
      recycle: { maxLeases: 9, maxHeapMb: 48 },
    });
    expect(config.defaults).toEqual({ ...DEFAULTS.bounds, graceMs: 50 });
    expect(config.resourceLimits).toEqual({ maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 });
    expect(config.output).toEqual({ ...DEFAULTS.output, stdoutBytes: 0 });
    expect(config.observers).toEqual([observer]);
  });

  it('takes stores and an inspector by their methods', () => {
    const eventLog = memoryEventLog();
    const blobs = memoryBlobStore();
    const inspect = { next: () => undefined };
    expect(parseSupervisorOptions({ eventLog, blobs, inspect })).toMatchObject({ eventLog, blobs, inspect });
    expect(supervisor({ eventLog: {} })).toThrow(/Option "eventLog" must be an object with append\(\)/);
    expect(supervisor({ blobs: memoryEventLog() })).toThrow(/Option "blobs"/);
  });

  it('takes an authorizer, a bound for its answer, and limits one by one', () => {
    const authorize = () => ({ allow: true }) as const;
    const config = parseSupervisorOptions({
      authorize,
      defaults: { authorizeMs: 3_600_000 },
      limits: { process: 1 },
      output: { readBytes: 0 },
    });
    expect(config.authorize).toBe(authorize);
    expect(config.defaults).toEqual({ ...DEFAULTS.bounds, authorizeMs: 3_600_000 });
    expect(config.limits).toEqual({ process: 1, inline: 16 });
    expect(config.output).toEqual({ ...DEFAULTS.output, readBytes: 0 });
  });

  it('names an unknown option, also a nested one', () => {
    expect(supervisor({ isolate: 4 })).toThrow(/Unknown option "isolate" of createSupervisor; known are isolates/);
    expect(supervisor({ defaults: { timeoutMs: 4 } })).toThrow(/Unknown option "timeoutMs" of defaults/);
    expect(supervisor({ limits: { thread: 4 } })).toThrow(
      /Unknown option "thread" of limits; known are process, inline/,
    );
    expect(supervisor({ queue: { size: 4 } })).toThrow(/Unknown option "size" of queue/);
    expect(supervisor({ health: { condemn: { boredom: true } } })).toThrow(
      /Unknown option "boredom" of health.condemn/,
    );
  });

  it.each([
    ['isolates', { isolates: 0 }],
    ['isolates', { isolates: 1.5 }],
    ['standby', { standby: -1 }],
    ['limits', { limits: () => undefined }],
    ['limits.process', { limits: { process: 0 } }],
    ['limits.process', { limits: { process: 1_025 } }],
    ['limits.inline', { limits: { inline: 1.5 } }],
    ['limits.inline', { limits: { inline: Number.POSITIVE_INFINITY } }],
    ['authorize', { authorize: { allow: true } }],
    ['authorize', { authorize: null }],
    ['defaults.authorizeMs', { defaults: { authorizeMs: 0 } }],
    ['defaults.authorizeMs', { defaults: { authorizeMs: Number.POSITIVE_INFINITY } }],
    ['queue.capacity', { queue: { capacity: Number.POSITIVE_INFINITY } }],
    ['queue', { queue: 7 }],
    ['defaults.graceMs', { defaults: { graceMs: 0 } }],
    ['defaults.killMs', { defaults: { killMs: Number.POSITIVE_INFINITY } }],
    ['defaults.runTimeoutMs', { defaults: { runTimeoutMs: Number.NaN } }],
    ['defaults.bootMs', { defaults: { bootMs: '5' } }],
    ['resourceLimits.stackSizeMb', { resourceLimits: { stackSizeMb: -1 } }],
    ['resourceLimits.stackSizeMb', { resourceLimits: { stackSizeMb: 0.1 } }],
    ['inspect', { inspect: 5 }],
    ['share', { share: 'all' }],
    ['recycle.maxLeases', { recycle: { maxLeases: 0 } }],
    ['restart.withinMs', { restart: { withinMs: 0 } }],
    ['health.full', { health: { full: 'never' } }],
    ['health.condemn.killed', { health: { condemn: { killed: 'no' } } }],
    ['output.stderrBytes', { output: { stderrBytes: -1 } }],
    ['output.readBytes', { output: { readBytes: -1 } }],
    ['output.readBytes', { output: { readBytes: Number.POSITIVE_INFINITY } }],
    ['redact.values', { redact: { values: [7] } }],
    ['redact.keys', { redact: { keys: 'pin' } }],
    ['observers', { observers: [{}] }],
    ['clock', { clock: {} }],
    ['inspect', { inspect: 'yes' }],
  ])('refuses a bad %s by its name: %j', (name, options) => {
    expect(supervisor(options)).toThrow(new RegExp(`^Option "${name.replaceAll('.', '\\.')}" must be `));
    expect(supervisor(options)).toThrow(withCode('INVALID_OPTION'));
  });
});

describe('parseRunOptions', () => {
  it('gives calls without options one shared frozen config', () => {
    expect(parseRunOptions()).toBe(parseRunOptions(undefined));
    expect(unfrozenIn(parseRunOptions())).toEqual([]);
    expect(parseRunOptions({})).toEqual(parseRunOptions());
  });

  it.each([
    [250, 250],
    [2 ** 40, 2 ** 40],
    [0, null],
    [-5, null],
    [Number.POSITIVE_INFINITY, null],
    [Number.NEGATIVE_INFINITY, null],
    [undefined, null],
  ])('an operationTimeoutMs of %s selects %s', (given, selected) => {
    expect(parseRunOptions({ operationTimeoutMs: given as number }).operationTimeoutMs).toBe(selected);
  });

  it('keeps what is given', () => {
    const given = {
      signal: new AbortController().signal,
      runTimeoutMs: 10,
      graceMs: 20,
      queueTimeoutMs: 30,
      onPrepared: () => undefined,
      onProgress: () => undefined,
      onOutput: () => undefined,
      lateResults: 'discard',
      transfer: [new ArrayBuffer(2)],
      idempotencyKey: 'order-7',
      labels: { colour: 'blue' },
      observers: [{ onEvent: () => undefined }],
    } as const;
    expect(parseRunOptions(given)).toEqual({
      group: null,
      operationTimeoutMs: null,
      retry: null,
      repair: null,
      ...given,
    });
  });

  it('captures labels and callbacks, so that later changes have no effect', () => {
    const labels: Record<string, string> = { colour: 'blue' };
    const observers = [{ onEvent: () => undefined }];
    const config = parseRunOptions({ labels, observers });
    labels['colour'] = 'red';
    observers.pop();
    expect(config.labels).toEqual({ colour: 'blue' });
    expect(config.observers).toHaveLength(1);
  });

  it.each([
    ['operationTimeoutMs', { operationTimeoutMs: Number.NaN }],
    ['operationTimeoutMs', { operationTimeoutMs: '7' }],
    ['runTimeoutMs', { runTimeoutMs: Number.POSITIVE_INFINITY }],
    ['graceMs', { graceMs: -1 }],
    ['queueTimeoutMs', { queueTimeoutMs: null }],
    ['signal', { signal: {} }],
    ['signal', { signal: { aborted: false, addEventListener: 1 } }],
    ['signal', { signal: { aborted: false, addEventListener: () => undefined } }],
    ['signal', { signal: { aborted: false, addEventListener: () => undefined, removeEventListener: 1 } }],
    ['onPrepared', { onPrepared: 7 }],
    ['lateResults', { lateResults: 'maybe' }],
    ['transfer', { transfer: [new Uint8Array(1)] }],
    ['idempotencyKey', { idempotencyKey: '' }],
    ['labels', { labels: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`l${i}`, ''])) }],
    ['labels.colour', { labels: { colour: 7 } }],
    ['observers', { observers: [null] }],
    ['options', 7 as unknown as object],
  ])('refuses a run with a bad %s (%#)', (name, options) => {
    expect(run(options)).toThrow(new RegExp(`^Option "${name}" must be `));
  });

  it('names an option it does not know', () => {
    expect(run({ timeout: 5 })).toThrow(/Unknown option "timeout" of runTool/);
  });
});

describe('forkOptions', () => {
  it.each(['tenant', 'run'])('refuses a %s by its name: both are those of the scope', (name) => {
    expect(() => forkOptions({ [name]: 'x' })).toThrow(
      new RegExp(`Unknown option "${name}" of fork; known are branch`),
    );
    expect(() => forkOptions({ [name]: undefined })).not.toThrow();
  });
});

describe('parseScopeOptions', () => {
  it('names tenant and branch where nobody does', () => {
    expect(parseScopeOptions()).toEqual({
      tenant: 'default',
      run: null,
      branch: 'main',
      deadlineMs: null,
      signal: null,
      trace: null,
      observers: [],
    });
  });

  it('takes a W3C trace context and refuses any other', () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'x=1' };
    expect(parseScopeOptions({ trace }).trace).toEqual(trace);
    expect(scope({ trace: { traceparent: '00-xyz' } })).toThrow(/Option "trace.traceparent"/);
    expect(scope({ trace: { ...trace, tracestate: 7 } })).toThrow(/Option "trace.tracestate"/);
  });

  it('refuses empty and endless names, and deadlines that are none', () => {
    expect(scope({ tenant: '' })).toThrow(/Option "tenant" must be a string of 1 to 256 characters/);
    expect(scope({ run: 'r'.repeat(257) })).toThrow(/Option "run"/);
    expect(scope({ deadlineMs: 0 })).toThrow(/Option "deadlineMs"/);
    expect(scope({ name: 'x' })).toThrow(/Unknown option "name" of openScope/);
  });
});
