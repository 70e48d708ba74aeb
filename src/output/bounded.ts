/**
 * The size limits of text in a result, and how a failure becomes its error within them.
 *
 * Invariant: redacted first, bounded after, so that no limit can cut a value into a piece nobody recognises.
 * Deliberately absent: the counting of what is over (`dropped`), which whoever holds the lists does.
 */
import { publicCode } from '../model/errors.ts';
import type { RunError } from '../model/result.ts';
import type { Failure } from '../wire/failure.ts';
import type { Redactor } from './redaction.ts';

/** Bytes of UTF-8, and numbers of entries. */
export const TEXT_LIMITS = Object.freeze({
  nameBytes: 128,
  messageBytes: 4 * 1024,
  reasonBytes: 1024,
  stackBytes: 16 * 1024,
  fieldsBytes: 4 * 1024,
  causes: 8,
  diagnostics: 64,
  logLines: 200,
  logLineBytes: 2 * 1024,
  findings: 16,
});

const encoder = new TextEncoder();
const ELLIPSIS = '…';
const ELLIPSIS_BYTES = 3;

/** `s` within `maxBytes` of UTF-8, cut at a character border and then ended by an ellipsis. */
export function boundText(s: string, maxBytes: number): string {
  if (s.length * 3 <= maxBytes) return s;
  // A string longer than this cannot fit, whatever its characters; looking at its beginning is enough.
  const start = s.length > maxBytes ? s.slice(0, maxBytes) : s;
  if (start === s && encoder.encode(s).length <= maxBytes) return s;
  const { read } = encoder.encodeInto(start, new Uint8Array(Math.max(0, maxBytes - ELLIPSIS_BYTES)));
  return maxBytes < ELLIPSIS_BYTES ? '' : s.slice(0, read) + ELLIPSIS;
}

/** Whether a text within `maxBytes` was cut to be so, as far as it shows. */
export function isBounded(s: string, maxBytes: number): boolean {
  // At the border of a character of four bytes, up to three stay unused.
  return s.endsWith(ELLIPSIS) && encoder.encode(s).length >= maxBytes - 3;
}

/** The error of a result, frozen. `codeSuffix` is a key of `ERROR_CODES`; causes keep the code they came with. */
export function runErrorFrom(failure: Failure, codeSuffix: string, redactor: Redactor): RunError {
  return errorAt(failure, codeSuffix, redactor, 0);
}

function errorAt(failure: Failure, codeSuffix: string, redactor: Redactor, depth: number): RunError {
  let truncated = failure.truncated;
  const cut = failure.truncated ? { end: true } : undefined;
  const bounded = (s: string, maxBytes: number): string => {
    const text = redactor.text(s, cut);
    const fitting = boundText(text, maxBytes);
    truncated ||= fitting !== text;
    return fitting;
  };
  const name = bounded(failure.name, TEXT_LIMITS.nameBytes);
  const message = bounded(failure.message, TEXT_LIMITS.messageBytes);
  const stack = failure.stack === undefined ? undefined : bounded(failure.stack, TEXT_LIMITS.stackBytes);
  let fields = failure.fields === undefined ? undefined : redactor.plain(failure.fields, cut);
  if (fields !== undefined && !isSmall(fields)) {
    fields = undefined;
    truncated = true;
  }
  const deeper = failure.cause !== undefined && depth < TEXT_LIMITS.causes;
  truncated ||= failure.cause !== undefined && !deeper;
  return Object.freeze<RunError>({
    code: publicCode(codeSuffix),
    name,
    message,
    ...(stack !== undefined && { stack }),
    ...(deeper && failure.cause && { cause: errorAt(failure.cause, failure.cause.code, redactor, depth + 1) }),
    ...(fields !== undefined && { fields: deepFrozen(fields) as Readonly<Record<string, unknown>> }),
    truncated,
  });
}

function isSmall(fields: unknown): fields is object {
  if (typeof fields !== 'object' || fields === null) return false;
  try {
    return JSON.stringify(fields).length <= TEXT_LIMITS.fieldsBytes;
  } catch {
    return false;
  }
}

/** Freezes plain data at every depth. */
export function deepFrozen<T>(x: T): T {
  if (typeof x === 'object' && x !== null) for (const value of Object.values(Object.freeze(x))) deepFrozen(value);
  return x;
}
