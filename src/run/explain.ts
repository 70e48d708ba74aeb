/**
 * Explain: the error of a result, in words, from its verdict.
 *
 * Invariant: an error names what ended the request and the bound that did, never argv, env, output or a value.
 * Deliberately absent: the choice of status and code (`decide/classify.ts`).
 */
import type { Verdict } from '../decide/classify.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { RunError } from '../model/result.ts';
import type { Stop } from '../model/stop.ts';
import { isBounded, runErrorFrom, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Failure } from '../wire/failure.ts';
import { toFailure } from '../wire/failure.ts';
import type { Attempt } from './attempt.ts';
import { exitText } from './exit-failure.ts';
import { wordedError } from './report.ts';

/** What a schema said against an input or a value, or the authorizer against the request, in words. */
export interface Complaint {
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Something of it was cut already. */
  readonly truncated?: boolean;
}

export interface Circumstances {
  readonly verdict: Verdict;
  readonly attempt: Attempt | null;
  readonly bounds: Bounds;
  readonly operationTimeoutMs: number | null;
  readonly redactor: Redactor;
  readonly complaint: Complaint | null;
}

/** Null when succeeded. */
export function explain(circumstances: Circumstances): RunError | null {
  const { verdict, attempt, redactor, complaint } = circumstances;
  const { code } = verdict;
  if (code === null) return null;
  if (code === 'INDETERMINATE') return indeterminate(circumstances);
  const complainant = OF_COMPLAINTS[code];
  if (complaint !== null && complainant !== undefined) return wordedFrom(code, complainant, complaint, redactor);
  const failure = failureOf(attempt);
  const stop = verdict.cause;
  if (stop !== null)
    return failure?.code === 'OUT_OF_MEMORY' && code === 'OUT_OF_MEMORY'
      ? exhausted()
      : ofStop(code, stop, circumstances);
  if (attempt?.refusal != null && attempt.refusal.code === code) {
    return runErrorFrom(toFailure(attempt.refusal.error, 'TOOL_ERROR'), code, redactor);
  }
  if (failure !== null) {
    if (code === 'OUT_OF_MEMORY') return exhausted();
    const error = runErrorFrom(failure as Failure, code, redactor);
    // Said after redaction, which hides the torn rest of a value at the end of what was cut.
    return code === 'UNCAUGHT' ? wordedError(code, error.name, `${error.message} ${UNCAUGHT}`, error) : error;
  }
  return wordedError(code, 'RefusedError', REFUSALS[code] ?? 'The request was refused.');
}

/** Codes that a complaint explains, and the name of the error. */
const OF_COMPLAINTS: Readonly<Record<string, string>> = {
  INVALID_INPUT: 'TypeError',
  NOT_CLONEABLE: 'DataCloneError',
  INVALID_OUTPUT: 'TypeError',
  DENIED: 'DeniedError',
  AUTHORIZER_FAILED: 'DeniedError',
};
const UNCAUGHT = '(uncaught; it may stem from an earlier request in this isolate)';

const REFUSALS: Readonly<Record<string, string>> = {
  QUEUE_FULL: 'The queue is full; untilCapacity() tells when there is room.',
  CLOSED: 'The supervisor or the scope is closed.',
  DEGRADED: 'The supervisor refuses requests until its isolates and its event log have healed.',
};

function failureOf(attempt: Attempt | null) {
  return attempt?.answer?.ok === false ? attempt.answer.failure : null;
}

function exhausted(): RunError {
  return wordedError('OUT_OF_MEMORY', 'Error', 'The isolate ran out of memory and was ended.');
}

function wordedFrom(
  code: string,
  name: string,
  { message, fields, truncated = false }: Complaint,
  redactor: Redactor,
): RunError {
  return runErrorFrom(
    { code: 'TOOL_ERROR', name, message, ...(fields === undefined ? {} : { fields }), ofStop: false, truncated },
    code,
    redactor,
  );
}

function ofStop(
  code: string,
  { kind, reason }: Stop,
  { attempt, bounds, operationTimeoutMs }: Circumstances,
): RunError {
  const because = reason === undefined ? '' : `: ${reason}`;
  const truncated = reason !== undefined && isBounded(reason, TEXT_LIMITS.reasonBytes);
  switch (kind) {
    case 'cancel':
      return wordedError(code, 'AbortError', `The request was cancelled${because}.`, { truncated });
    case 'run-timeout':
      return wordedError(code, 'TimeoutError', `The tool did not end within runTimeoutMs (${bounds.runTimeoutMs} ms).`);
    case 'queue-timeout':
      return wordedError(
        code,
        'TimeoutError',
        `No isolate was free within queueTimeoutMs (${bounds.queueTimeoutMs} ms).`,
      );
    case 'operation-timeout':
      return wordedError(
        code,
        'TimeoutError',
        `The request did not end within operationTimeoutMs (${operationTimeoutMs} ms).`,
      );
    case 'parent-deadline':
      return wordedError(code, 'TimeoutError', 'The deadline of the scope passed.');
    case 'isolate-exit':
      return wordedError(
        code,
        'Error',
        `The isolate ended while the tool ran, with ${attempt?.exit == null ? 'exit code unknown' : exitText(attempt.exit)}.`,
      );
    case 'shutdown':
      return wordedError(code, 'InterruptedError', 'The supervisor was closed before the request ended.');
    case 'lease-unavailable':
      return wordedError(code, 'InterruptedError', 'No isolate could be given: each was lost before the tool ran.');
    default:
      return wordedError(code, 'InterruptedError', `The request was ended by ${kind}${because}.`, { truncated });
  }
}

function indeterminate(circumstances: Circumstances): RunError {
  const { verdict, attempt, redactor } = circumstances;
  const failure = failureOf(attempt);
  const [first] = verdict.cause === null ? verdict.also : [verdict.cause];
  const cause =
    verdict.cause === null && failure !== null
      ? runErrorFrom(failure as Failure, failure.code, redactor)
      : first === undefined
        ? undefined
        : ofStop(CODE_OF_STOP[first.kind] ?? 'HOST_LOST', first, circumstances);
  return wordedError(
    'INDETERMINATE',
    'IndeterminateError',
    'An effect was let go and its end is not known: it may or may not have happened. Look before trying again.',
    cause === undefined ? {} : { cause },
  );
}

const CODE_OF_STOP: Readonly<Partial<Record<Stop['kind'], string>>> = {
  cancel: 'CANCELLED',
  'run-timeout': 'RUN_TIMEOUT',
  'queue-timeout': 'QUEUE_TIMEOUT',
  'operation-timeout': 'OPERATION_TIMEOUT',
  'parent-deadline': 'PARENT_DEADLINE',
  'isolate-exit': 'ISOLATE_EXITED',
  shutdown: 'SHUTDOWN',
  'health-failure': 'HEALTH',
  'lease-unavailable': 'LEASE_UNAVAILABLE',
  'output-limit': 'OUTPUT_LIMIT',
};
