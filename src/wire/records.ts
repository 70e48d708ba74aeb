/**
 * Which records from a port are an isolate's own.
 *
 * Invariant: total; what passes has the isolate's nonce and every field its tag promises, to every depth the host reads,
 * since user code can reach the port and post what it likes.
 * Deliberately absent: what the records mean. Hand-written because each lease pays for it.
 */
import { FINDING_KINDS } from '../model/result.ts';
import { FAILURE_CODES, MOST_CAUSES } from './failure.ts';
import type { IsolateMessage, WireFinding } from './protocol.ts';

type Fields = Readonly<Record<string, unknown>>;
type Check = (x: unknown) => boolean;
const isPlain = (x: unknown): x is Fields => typeof x === 'object' && x !== null;
const isText = (x: unknown): boolean => typeof x === 'string';
const isFlag = (x: unknown): boolean => typeof x === 'boolean';
const isCount = (x: unknown): boolean => Number.isSafeInteger(x) && (x as number) >= 0;
/** Milliseconds, as a clock measured them. */
const isSpan = (x: unknown): boolean => Number.isFinite(x) && (x as number) >= 0;
const isAbsentOr = (x: unknown, check: Check): boolean => x === undefined || check(x);
const isNullOr = (x: unknown, check: Check): boolean => x === null || check(x);
const isOneOf = (words: readonly unknown[]): Check => {
  const known = new Set(words);
  return (x) => known.has(x);
};

const isCode = isOneOf(FAILURE_CODES);
const isStream = isOneOf(['stdout', 'stderr']);
const isLevel = isOneOf(['debug', 'info', 'warn', 'error']);
const isDrainEnd = isOneOf(['eof', 'quiet', 'cap']);
const isKind = isOneOf(FINDING_KINDS);

/** With no more causes in a row than an isolate tells: reading them is a recursion. */
function isFailure(x: unknown): boolean {
  for (let [failure, depth] = [x, 0]; ; depth += 1) {
    if (!isPlain(failure) || depth > MOST_CAUSES || !isCode(failure.code)) return false;
    const { name, message, stack, cause, fields, ofStop, truncated } = failure;
    if (!isText(name) || !isText(message) || !isAbsentOr(stack, isText)) return false;
    if (!isAbsentOr(fields, isPlain) || !isFlag(ofStop) || !isFlag(truncated)) return false;
    if (cause === undefined) return true;
    failure = cause;
  }
}
const isExit = (x: unknown): boolean =>
  isPlain(x) && isNullOr(x.code, Number.isSafeInteger) && isNullOr(x.signal, isText);
const isFinding = (x: unknown): boolean => isPlain(x) && isKind(x.kind) && isAbsentOr(x.detail, isText);
const isList = (x: unknown, check: Check): boolean => Array.isArray(x) && x.every(check);

/** Whether these are findings, as an answer to a hook promises. */
export function areFindings(x: unknown): x is readonly WireFinding[] {
  return isList(x, isFinding);
}

const FITS: Readonly<Record<IsolateMessage['t'], (record: Fields) => boolean>> = {
  started: (r) => isCount(r.seq),
  settled: (r) =>
    isCount(r.seq) &&
    isSpan(r.ranMs) &&
    isFlag(r.clean) &&
    isFlag(r.reset) &&
    isFlag(r.healthCheck) &&
    (r.ok === true ? r.failure === undefined : r.ok === false && isFailure(r.failure)) &&
    isAbsentOr(r.recalled, isFlag) &&
    isAbsentOr(r.exit, isExit),
  looked: (r) => isCount(r.seq) && areFindings(r.findings) && isNullOr(r.heapBytes, isCount),
  output: (r) =>
    isCount(r.seq) &&
    isStream(r.stream) &&
    r.bytes instanceof Uint8Array &&
    isCount(r.omittedBytes) &&
    isCount(r.credit) &&
    isAbsentOr(r.postKill, isFlag),
  drained: (r) =>
    isCount(r.seq) &&
    isDrainEnd(r.ended) &&
    isSpan(r.ms) &&
    isList(r.holders, isText) &&
    isFlag(r.stdoutEof) &&
    isFlag(r.stderrEof),
  progress: (r) =>
    isCount(r.seq) &&
    isNullOr(r.value, (x) => typeof x === 'number') &&
    isAbsentOr(r.note, isText) &&
    isCount(r.credit),
  log: (r) =>
    isCount(r.seq) &&
    isText(r.message) &&
    isLevel(r.level) &&
    isNullOr(r.fields, isText) &&
    isCount(r.dropped) &&
    isCount(r.credit),
  fatal: (r) => isCount(r.seq) && isFailure(r.failure),
  // Neither the host's own group nor everything may ever be meant by one.
  child: (r) => isCount(r.pid) && (r.pid as number) > 1 && isFlag(r.alive),
  call: (r) => isPlain(r.d),
  hook: (r) => isPlain(r.d),
};

/** Whether `record` is a record of the isolate that holds `nonce`. */
export function isIsolateMessage(record: unknown, nonce: string): record is IsolateMessage {
  if (!isPlain(record) || record.n !== nonce || typeof record.t !== 'string') return false;
  return Object.hasOwn(FITS, record.t) && FITS[record.t as IsolateMessage['t']](record);
}
