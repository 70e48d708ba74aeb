/**
 * Report: the one place where a result is made, from what an attempt left behind.
 *
 * Invariants: deep-frozen except `value`; every word comes from the verdict and the record, none is decided here.
 * Deliberately absent: the verdict (`decide/classify.ts`) and redaction (already done where text came in).
 */
import type { Verdict } from '../decide/classify.ts';
import { publicCode } from '../model/errors.ts';
import type { Attempt, Diagnostic, IntentRecord, LeaseRecord, RunError, RunResult, Timing } from '../model/result.ts';
import type { LeaseState } from '../model/stop.ts';
import { isoTime } from '../model/time.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import { EMPTY_OUTPUT } from '../output/capture-limits.ts';
import type { Attempt as LiveAttempt } from './attempt.ts';

/** What the attempts before the last one left behind. */
export interface Past {
  readonly attempts: readonly Attempt[];
  readonly diagnostics: readonly Diagnostic[];
  readonly dropped: RunResult['dropped'];
  /** Of all of them, as known now. */
  readonly intents: readonly IntentRecord[];
  /** The error of the last of them. */
  readonly error: RunError | null;
  /** Whether the log took the end of each. */
  readonly isLogged: boolean;
}

export interface ReportParts {
  readonly verdict: Verdict;
  readonly error: RunError | null;
  /** Only when succeeded. */
  readonly value: unknown;
  readonly request: Omit<RunResult['request'], 'attempts'>;
  /** Null when none was made. */
  readonly attempt: LiveAttempt | null;
  readonly past?: Past | null;
  /** From the begin of the request until this attempt arrived: 0 for the first. */
  readonly beforeMs?: number;
  /** Diagnostics of a request without an attempt. */
  readonly notes?: readonly string[];
  readonly intents: readonly IntentRecord[];
  readonly startedWall: number;
  readonly totalMs: number;
  readonly boundMs: number;
  readonly durability: RunResult['durability'];
}

type TimingParts = Pick<ReportParts, 'attempt' | 'startedWall' | 'totalMs' | 'boundMs' | 'beforeMs'>;

const NONE: readonly never[] = Object.freeze([]);
const NOTHING_DROPPED = Object.freeze({ diagnostics: 0, logLines: 0, lateEvents: 0 });
const NOTHING_SPENT: Readonly<Record<LeaseState, number>> = Object.freeze({
  queued: 0,
  acquired: 0,
  running: 0,
  terminating: 0,
  draining: 0,
  completed: 0,
  quarantined: 0,
});

/** One attempt, as its request tells of it. */
export function summaryOf(
  number: number,
  { status, cause }: Verdict,
  lease: LeaseRecord | null,
  timing: Timing,
): Attempt {
  return Object.freeze({ number, status, cause, lease, timing });
}

export function report<T>(parts: ReportParts): RunResult<T> {
  const { verdict, attempt, request, past = null } = parts;
  const { status, cause } = verdict;
  const lease = attempt === null ? null : leaseOf(attempt);
  const timing = timingOf(parts);
  const also = verdict.also.length === 0 ? NONE : Object.freeze([...verdict.also]);
  const before = past?.attempts ?? NONE;
  const attempts: readonly Attempt[] =
    attempt === null ? NONE : Object.freeze([...before, summaryOf(before.length + 1, verdict, lease, timing)]);
  // The verdict makes `status`, `ok`, `value` and `error` agree: a code stands exactly where nothing succeeded.
  return Object.freeze({
    status,
    ok: status === 'succeeded',
    ...(status === 'succeeded' ? { value: parts.value as T } : {}),
    error: parts.error,
    cause,
    also,
    late: status === 'succeeded' || status === 'failed' ? (attempt?.late ?? null) : null,
    request: Object.freeze({ ...request, attempts }),
    lease,
    timing: before.length === 0 ? timing : wholeTiming(before, timing, parts),
    exit: attempt?.exit ? Object.freeze({ code: attempt.exit.code, signal: attempt.exit.signal ?? null }) : null,
    output: attempt === null ? EMPTY_OUTPUT : attempt.capture.output(isOutputWhole(attempt), isCutOff(attempt)),
    intents:
      parts.intents.length === 0 ? NONE : Object.freeze(parts.intents.map((intent) => Object.freeze({ ...intent }))),
    durability: parts.durability,
    diagnostics: attempt === null ? diagnosticsOf(parts.notes ?? NONE) : toldOf(attempt, past),
    logs: attempt?.capture.logs ?? NONE,
    dropped: attempt === null ? droppedOf(parts.notes ?? NONE) : droppedIn(attempt, past),
  }) as RunResult<T>;
}

/** An error that comes from the library's own words. */
export function wordedError(code: string, name: string, message: string, more: Partial<RunError> = {}): RunError {
  const text = boundText(message, TEXT_LIMITS.messageBytes);
  const truncated = more.truncated === true || text !== message;
  return Object.freeze({ ...more, code: publicCode(code), name, message: text, truncated });
}

function diagnosticsOf(notes: readonly string[]): RunResult['diagnostics'] {
  return Object.freeze(
    notes
      .slice(0, TEXT_LIMITS.diagnostics)
      .map((message) => Object.freeze({ code: 'OBSERVER_THREW', message, atMs: 0 })),
  );
}

function droppedOf({ length }: readonly string[]): RunResult['dropped'] {
  const diagnostics = Math.max(0, length - TEXT_LIMITS.diagnostics);
  return diagnostics === 0 ? NOTHING_DROPPED : Object.freeze({ ...NOTHING_DROPPED, diagnostics });
}

/** Those of all attempts, the last one's last. */
export function toldOf({ capture }: LiveAttempt, past: Past | null): RunResult['diagnostics'] {
  if (past === null) return capture.diagnostics;
  return Object.freeze([...past.diagnostics, ...capture.diagnostics].slice(0, TEXT_LIMITS.diagnostics));
}

export function droppedIn({ capture }: LiveAttempt, past: Past | null): RunResult['dropped'] {
  if (past === null) return Object.freeze(capture.dropped);
  const { diagnostics, logLines, lateEvents } = capture.dropped;
  const over = past.diagnostics.length + capture.diagnostics.length - TEXT_LIMITS.diagnostics;
  return Object.freeze({
    diagnostics: past.dropped.diagnostics + diagnostics + Math.max(0, over),
    logLines: past.dropped.logLines + logLines,
    lateEvents: past.dropped.lateEvents + lateEvents,
  });
}

export function leaseOf({ lease, isolate, findings }: LiveAttempt): LeaseRecord {
  return Object.freeze({
    id: lease.id,
    isolate: isolate === null ? null : Object.freeze({ id: isolate.id, kind: isolate.kind }),
    path: Object.freeze(lease.path),
    end: lease.state === 'quarantined' ? ('quarantined' as const) : ('completed' as const),
    findings,
  });
}

/** An abandoned thread may still write, and one that ended may have held output back: what was read is a lower bound then. */
export function isOutputWhole({ findings, hasSettled, isolate }: LiveAttempt): boolean {
  const lost = !hasSettled && isolate?.holdsOutput === true;
  return !lost && !findings.some(({ kind }) => kind === 'abandoned');
}

/** It was stopped, or ended by a signal, and may have been in the middle of a write. */
export function isCutOff({ ledger, exit }: LiveAttempt): boolean {
  return ledger.stops.length > 0 || (exit?.signal ?? null) !== null;
}

/** Of the attempt alone; of the whole request where it is the only one. */
export function timingOf({ attempt, startedWall, totalMs, boundMs, beforeMs = 0 }: TimingParts): Timing {
  const spent = attempt?.lease.spent ?? NOTHING_SPENT;
  return Object.freeze({
    startedAt: isoTime(startedWall + beforeMs),
    queuedMs: spent.queued,
    acquiredMs: spent.acquired,
    runningMs: spent.running,
    terminatingMs: spent.terminating,
    drainingMs: spent.draining,
    totalMs: totalMs - beforeMs,
    boundMs,
  });
}

/** States summed over attempts; the waits between them are in `totalMs` alone. */
function wholeTiming(before: readonly Attempt[], last: Timing, { startedWall, totalMs, boundMs }: TimingParts): Timing {
  const sum = (state: 'queuedMs' | 'acquiredMs' | 'runningMs' | 'terminatingMs' | 'drainingMs') =>
    before.reduce((ms, { timing }) => ms + timing[state], last[state]);
  return Object.freeze({
    startedAt: isoTime(startedWall),
    queuedMs: sum('queuedMs'),
    acquiredMs: sum('acquiredMs'),
    runningMs: sum('runningMs'),
    terminatingMs: sum('terminatingMs'),
    drainingMs: sum('drainingMs'),
    totalMs,
    boundMs,
  });
}
