/**
 * Every code the library can answer with, the errors that carry them, and how a result becomes a throw.
 *
 * Invariants: a code stands in `ERROR_CODES` or does not exist; an error is known by its brand, so two copies of the
 * library in one process recognise each other's. Deliberately absent: which code a failure gets (`decide/classify.ts`),
 * and any loading of Zod, since the far side imports this file too.
 */
import type { IntentRecord, LeaseRecord, RunError, RunResult } from './result.ts';
import { STATUSES, type Stop } from './stop.ts';

type ThrownBy =
  | 'LeaseholdError'
  | 'ToolError'
  | 'CancelledError'
  | 'DeadlineError'
  | 'OperationTimeoutError'
  | 'InterruptedError'
  | 'IndeterminateError'
  | 'DeniedError'
  | 'RefusedError'
  | 'ScopeClosedError';

/** One row of the table. */
export interface ErrorCodeEntry {
  /** True when another try may end differently, provided that nothing outside has happened yet. */
  readonly retrySafe: boolean;
  /** The class `unwrap` or the library throws. A `rejected` result always throws a `RefusedError`. */
  readonly thrownBy: ThrownBy;
  readonly meaning: string;
}
const row = (retrySafe: boolean, thrownBy: ThrownBy, meaning: string): ErrorCodeEntry =>
  Object.freeze({ retrySafe, thrownBy, meaning });

/** All codes, by suffix. In public each is prefixed with `ERR_LEASEHOLD_`. */
export const ERROR_CODES = Object.freeze({
  TOOL_ERROR: row(false, 'ToolError', 'The tool threw.'),
  TOOL_LOAD: row(false, 'ToolError', "The tool's module is missing, broken, or lacks the export."),
  NOT_CLONEABLE: row(false, 'ToolError', 'The input or the value cannot be cloned between threads.'),
  INVALID_INPUT: row(false, 'RefusedError', 'The input schema refused the input.'),
  INVALID_OUTPUT: row(false, 'ToolError', 'The output schema refused the value.'),
  ISOLATE_EXITED: row(true, 'ToolError', 'The isolate ended while the tool ran.'),
  UNCAUGHT: row(true, 'ToolError', 'An error nothing caught; it may stem from an earlier request in the same isolate.'),
  OUT_OF_MEMORY: row(true, 'ToolError', 'The isolate exhausted its heap.'),
  SPAWN_FAILED: row(true, 'ToolError', 'The process could not be started.'),
  EXIT_CODE: row(false, 'ToolError', 'The process ended with an exit code that is not accepted.'),
  OUTPUT_LIMIT: row(false, 'ToolError', 'The tool wrote more than its limit, which stops it.'),
  ON_PREPARED: row(false, 'ToolError', 'The onPrepared callback threw; the tool did not run.'),
  CANCELLED: row(true, 'CancelledError', 'The request was cancelled.'),
  RUN_TIMEOUT: row(true, 'DeadlineError', 'The tool ran longer than runTimeoutMs.'),
  QUEUE_TIMEOUT: row(true, 'DeadlineError', 'No isolate was free within queueTimeoutMs.'),
  PARENT_DEADLINE: row(false, 'DeadlineError', 'The deadline of an enclosing scope passed.'),
  OPERATION_TIMEOUT: row(true, 'OperationTimeoutError', 'The request took longer than operationTimeoutMs.'),
  SHUTDOWN: row(true, 'InterruptedError', 'The supervisor was closed.'),
  HEALTH: row(true, 'InterruptedError', 'The isolate was found unfit while the tool ran.'),
  LEASE_UNAVAILABLE: row(true, 'InterruptedError', 'No isolate could be given to the request; the tool did not run.'),
  HOST_LOST: row(true, 'InterruptedError', 'The host ended before the request did.'),
  INDETERMINATE: row(false, 'IndeterminateError', 'An outside effect may or may not have happened.'),
  DENIED: row(false, 'DeniedError', 'The authorizer said no.'),
  AUTHORIZER_FAILED: row(true, 'DeniedError', 'The authorizer failed or did not answer in time.'),
  QUEUE_FULL: row(true, 'RefusedError', 'The queue is full.'),
  CLOSED: row(false, 'RefusedError', 'The supervisor is closed or closing, or the scope is closed.'),
  DEGRADED: row(true, 'RefusedError', 'Isolates or the event log failed; admission is refused until they heal.'),
  PREPARED_NOT_CLAIMABLE: row(false, 'RefusedError', 'The prepared request is foreign, used or discarded.'),
  SCOPE_CLOSED: row(false, 'ScopeClosedError', 'The scope is closed; nothing can be started in it.'),
  NEXT_FAILED: row(false, 'LeaseholdError', 'The next callback of a coordination threw; its error is the cause.'),
  MAX_TURNS: row(false, 'LeaseholdError', 'A coordination did not end within maxTurns.'),
  INVALID_OPTION: row(false, 'LeaseholdError', 'An option is unknown, or its value is out of range.'),
  NOT_AVAILABLE: row(false, 'LeaseholdError', 'The option or facility is not available in this version or place.'),
  ENTRY_MISSING: row(false, 'LeaseholdError', 'The file that isolates run, a part of this package, is missing.'),
  INTENT_REFUSED: row(
    true,
    'LeaseholdError',
    'The effect was not let go: it could not be recorded, or a stop came first.',
  ),
  LOG_ORDER: row(false, 'LeaseholdError', 'The entry would break the order of the event log; it was not recorded.'),
  LOG_ENTRY: row(false, 'LeaseholdError', 'The entry is too large, or not plain; it was not recorded.'),
  LOG_LOCKED: row(true, 'LeaseholdError', 'Another process or connection has the event log, or took it over.'),
  LOG_UNREADABLE: row(false, 'LeaseholdError', 'The file is no event log that can be read: foreign, newer or damaged.'),
  LOG_WRITE_FAILED: row(true, 'LeaseholdError', 'The event log cannot write, or is closed; nothing was recorded.'),
  BLOB_NOT_FOUND: row(false, 'LeaseholdError', 'The tenant has no blob of this digest.'),
  BLOB_TOO_LARGE: row(false, 'LeaseholdError', 'The blob would pass the limit of the store.'),
  BLOB_CORRUPT: row(false, 'LeaseholdError', 'What is stored is not what the digest names; it is not handed out.'),
});
/** The suffix of a code: `ERR_LEASEHOLD_${ErrorCode}` in public. */
export type ErrorCode = keyof typeof ERROR_CODES;

const PREFIX = 'ERR_LEASEHOLD_';
const BRAND = Symbol.for('leasehold.error');

/** The public form of a code. */
export function publicCode(code: string): string {
  return PREFIX + code;
}

/** What an error may carry beside its code and message. */
export interface LeaseholdErrorOptions {
  readonly cause?: unknown;
  readonly result?: RunResult;
  /** Default: what `ERROR_CODES` says. */
  readonly retrySafe?: boolean;
}

/** The base of every error this library throws. Recognise one by `isLeaseholdError`, never by `instanceof`. */
export class LeaseholdError extends Error {
  override name = 'LeaseholdError';
  readonly code: string;
  readonly leaseholdCode: string;
  readonly retrySafe: boolean;
  /** The result it was made from, if any. */
  readonly result?: RunResult;
  constructor(code: ErrorCode, message: string, options: LeaseholdErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = publicCode(code);
    this.leaseholdCode = this.code;
    this.retrySafe = options.retrySafe ?? ERROR_CODES[code].retrySafe;
    if (options.result) this.result = options.result;
  }
}

/** The tool's own failure. `name`, `message`, `fields` and `cause` are those of what the tool threw. */
export class ToolError extends LeaseholdError {
  override name = 'ToolError';
  fields?: Readonly<Record<string, unknown>>;
}
export class CancelledError extends LeaseholdError {
  override name = 'AbortError';
}
export class DeadlineError extends LeaseholdError {
  override name = 'TimeoutError';
}
export class InterruptedError extends LeaseholdError {
  override name = 'InterruptedError';
}
/** Never `retrySafe`. */
export class IndeterminateError extends LeaseholdError {
  override name = 'IndeterminateError';
}
export class DeniedError extends LeaseholdError {
  override name = 'DeniedError';
}
export class RefusedError extends LeaseholdError {
  override name = 'RefusedError';
}
export class ScopeClosedError extends LeaseholdError {
  override name = 'ScopeClosedError';
}
/**
 * The request's own `operationTimeoutMs` passed. A `DOMException` named `TimeoutError`, as the platform's timeouts are;
 * its `code` is therefore the platform's number, and the string code is `leaseholdCode`.
 */
export class OperationTimeoutError extends DOMException {
  readonly leaseholdCode: string;
  readonly retrySafe: boolean;
  readonly result?: RunResult;
  declare readonly cause?: unknown;
  constructor(code: ErrorCode, message: string, options: LeaseholdErrorOptions = {}) {
    super(message, 'TimeoutError');
    this.leaseholdCode = publicCode(code);
    this.retrySafe = options.retrySafe ?? ERROR_CODES[code].retrySafe;
    if (options.result) this.result = options.result;
    if ('cause' in options) Object.defineProperty(this, 'cause', { value: options.cause, configurable: true });
  }
}
for (const { prototype } of [LeaseholdError, OperationTimeoutError]) {
  Object.defineProperty(prototype, BRAND, { value: true });
}

/** True for an error of any copy of this library. Never throws. */
export function isLeaseholdError(x: unknown): x is LeaseholdError | OperationTimeoutError {
  try {
    return typeof x === 'object' && x !== null && (x as Record<symbol, unknown>)[BRAND] === true;
  } catch {
    return false;
  }
}

/** The error for an option whose value is not accepted. Long or nested values are described, not shown. */
export function invalidOption(name: string, got: unknown, range: string): LeaseholdError {
  return new LeaseholdError('INVALID_OPTION', `Option "${name}" must be ${range}; got ${describe(got)}.`);
}
function describe(got: unknown): string {
  if (typeof got === 'string') return got.length <= 40 ? JSON.stringify(got) : `a string of ${got.length} characters`;
  if (typeof got === 'number' || typeof got === 'boolean' || got == null) return String(got);
  return Array.isArray(got) ? 'an array' : `a value of type ${typeof got}`;
}

const CLASSES = {
  LeaseholdError,
  ToolError,
  CancelledError,
  DeadlineError,
  OperationTimeoutError,
  InterruptedError,
  IndeterminateError,
  DeniedError,
  RefusedError,
  ScopeClosedError,
};

/** Rebuilds a plain error as an `Error`, for `cause`. */
function revive(error: RunError): Error {
  const revived = new Error(error.message, error.cause ? { cause: revive(error.cause) } : undefined);
  revived.name = error.name;
  if (error.stack !== undefined) revived.stack = error.stack;
  return Object.assign(revived, { leaseholdCode: error.code, ...(error.fields && { fields: error.fields }) });
}

/**
 * The value of a succeeded result.
 * @throws the error class that `ERROR_CODES` names for `result.error.code`. `retrySafe` is true only when no intent of
 * the request may have taken effect. Its stack shows the tool's frames first.
 */
export function unwrap<T>(result: RunResult<T>): T {
  if (result.status === 'succeeded') return result.value as T;
  const error = result.error ?? {
    code: publicCode('HOST_LOST'),
    name: 'Error',
    message: 'no error was recorded',
    truncated: false,
  };
  const suffix = error.code.slice(PREFIX.length);
  const code: ErrorCode = Object.hasOwn(ERROR_CODES, suffix) ? (suffix as ErrorCode) : 'TOOL_ERROR';
  const entry = ERROR_CODES[code];
  const untouched = result.intents.every((intent) => intent.state === 'not-applied');
  const options = {
    result,
    retrySafe: entry.retrySafe && untouched,
    ...(error.cause && { cause: revive(error.cause) }),
  };
  const thrown = new CLASSES[result.status === 'rejected' ? 'RefusedError' : entry.thrownBy](
    code,
    error.message,
    options,
  );
  if (thrown instanceof ToolError) {
    if (code === 'TOOL_ERROR' || code === 'UNCAUGHT') thrown.name = error.name;
    if (error.fields) thrown.fields = error.fields;
    if (error.stack !== undefined) thrown.stack = `${error.stack}\n    -- unwrapped --\n${framesOf(thrown)}`;
  }
  throw thrown;
}
function framesOf(error: Error): string {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

/** True when `x` has the shape of a result, from this copy, another, or JSON. `runResultSchema` checks every field. */
export function isRunResult(x: unknown): x is RunResult {
  if (typeof x !== 'object' || x === null) return false;
  const { status, ok, request, timing, output, intents } = x as Partial<Record<keyof RunResult, unknown>>;
  return (
    STATUSES.some((known) => known === status) &&
    ok === (status === 'succeeded') &&
    [request, timing, output].every((part) => typeof part === 'object' && part !== null) &&
    Array.isArray(intents)
  );
}

/** A result without what differs between two equal runs: times, ids, keys and stacks. For assertions. */
export function stableResult(result: RunResult): Record<string, unknown> {
  const { request, timing: _timing, error, cause, also, lease, output, intents, diagnostics, logs, ...rest } = result;
  const { id: _id, run: _run, attempts, ...named } = request;
  const { ms: _ms, ...drain } = output.drain;
  return {
    ...rest,
    error: error && stableError(error),
    cause: cause && stableStop(cause),
    also: also.map(stableStop),
    request: {
      ...named,
      attempts: attempts.map((attempt) => ({
        number: attempt.number,
        status: attempt.status,
        cause: attempt.cause && stableStop(attempt.cause),
        lease: attempt.lease && stableLease(attempt.lease),
      })),
    },
    lease: lease && stableLease(lease),
    output: { ...output, drain },
    intents: intents.map(({ name, state }: IntentRecord) => ({ name, state })),
    diagnostics: diagnostics.map(({ atMs: _at, ...told }) => told),
    logs: logs.map(({ atMs: _at, ...told }) => told),
  };
}
function stableError({ stack: _stack, cause, ...rest }: RunError): Record<string, unknown> {
  return { ...rest, ...(cause && { cause: stableError(cause) }) };
}
function stableStop({ kind, state, reason }: Stop): Record<string, unknown> {
  return { kind, state, ...(reason !== undefined && { reason }) };
}
function stableLease({ isolate, path, end, findings }: LeaseRecord): Record<string, unknown> {
  return { isolate: isolate && { kind: isolate.kind }, path, end, findings };
}
