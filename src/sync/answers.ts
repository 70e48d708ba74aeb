/**
 * Answers: the results that the caller's thread makes itself, and what it makes of those that the supervisor's thread sent.
 *
 * Invariants: every status comes from `classify`, here as there; a call whose answer did not come is never told as more, or less,
 * than what had been sent allows; deep-frozen except the value. Deliberately absent: waiting.
 */
import { type AttemptRecord, classify, type Verdict } from '../decide/classify.ts';
import { publicCode } from '../model/errors.ts';
import type { Bounds } from '../model/option-shapes.ts';
import type { IntentRecord, RunError, RunResult } from '../model/result.ts';
import type { Stop } from '../model/stop.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import { type Complaint, explain } from '../run/explain.ts';
import { report, wordedError } from '../run/report.ts';
import { validate } from '../run/validate.ts';

/** What is fixed about one synchronous call. */
export interface Asked {
  readonly names: Readonly<Record<'requestId' | 'tenant' | 'run' | 'branch', string>>;
  readonly tool: Tool;
  readonly labels: Readonly<Record<string, string>>;
  readonly group: string | null;
  readonly redactor: Redactor;
  readonly bounds: Bounds;
  readonly operationTimeoutMs: number;
  readonly startedWall: number;
  readonly boundMs: number;
}

/** How a call ended without an answer of the supervisor's thread. */
export interface Ending extends Partial<Pick<AttemptRecord, 'rejected' | 'denied'>> {
  readonly stop?: Pick<Stop, 'kind' | 'reason'>;
  /** It had been sent: its effects may have happened. */
  readonly wasSent?: boolean;
  readonly complaint?: Complaint;
}

const NOTHING: AttemptRecord = Object.freeze({
  rejected: null,
  denied: null,
  outcome: null,
  stops: [],
  intents: [],
  discardLate: false,
});

export function ownResult(asked: Asked, ending: Ending, totalMs: number): RunResult {
  const { names, tool, group, labels, startedWall, boundMs } = asked;
  const { rejected = null, denied = null, stop, wasSent = false, complaint = null } = ending;
  const stops: readonly Stop[] =
    stop === undefined ? [] : [Object.freeze({ ...stop, atMs: totalMs, state: wasSent ? 'running' : 'queued' })];
  // Whether an intent was let go is not known here: that one may have been is what the verdict has to allow for.
  const intents: readonly IntentRecord[] =
    wasSent && tool.effects !== 'none' ? [{ name: tool.name, key: '', state: 'dispatched', atMs: totalMs }] : [];
  const verdict = classify({ ...NOTHING, rejected, denied, stops, intents });
  const { requestId: id, tenant, run, branch } = names;
  return report({
    verdict,
    error: errorOf(asked, verdict, complaint),
    value: undefined,
    request: { id, tool: tool.name, tenant, run, branch, ...(group !== null && { group }), labels },
    attempt: null,
    intents: [],
    startedWall,
    totalMs,
    boundMs,
    durability: 'none',
  });
}

/** The sent result as the caller gets it. `uncloneable`: why its value did not come with it. */
export function handedOver(asked: Asked, sent: RunResult, uncloneable: string | null): RunResult {
  const { tool, names } = asked;
  const { requestId: id, run } = names;
  const stderr = readable(asked, sent.output.stderr);
  const told = { ...sent, request: { ...sent.request, id, run }, output: { ...sent.output, stderr } };
  if (!told.ok) return frozen({ ...told, error: reworded(asked, told) }) as RunResult;
  if (uncloneable !== null) {
    return unsucceeded(
      asked,
      told,
      { kind: 'exception', code: 'NOT_CLONEABLE', ofStop: false },
      { message: uncloneable },
    );
  }
  if (tool.output === null) return frozen(told) as RunResult;
  const validated = validate(tool.output, told.value, 'The value');
  if (validated instanceof Promise) {
    const message =
      'The value could not be validated: the output schema is asynchronous, and a synchronous call cannot wait.';
    return unsucceeded(asked, told, { kind: 'value', accepted: false }, { message });
  }
  if (!validated.ok) return unsucceeded(asked, told, { kind: 'value', accepted: false }, validated);
  return frozen({ ...told, value: validated.value }) as RunResult;
}

/** The same run under the verdict that its outcome has here. */
function unsucceeded(
  asked: Asked,
  sent: RunResult,
  outcome: AttemptRecord['outcome'],
  complaint: Complaint,
): RunResult {
  const { value: _, ...told } = sent;
  const verdict = classify({ ...NOTHING, outcome, stops: told.also, intents: told.intents });
  const { status, cause, also } = verdict;
  const attempts = told.request.attempts.map((attempt, index, { length }) =>
    index === length - 1 ? { ...attempt, status, cause } : attempt,
  );
  const late = status === 'failed' ? told.late : null;
  const error = errorOf(asked, verdict, complaint);
  const request = { ...told.request, attempts };
  return frozen({ ...told, status, ok: false, cause, also, late, error, request }) as RunResult;
}

function errorOf(
  { bounds, operationTimeoutMs, redactor }: Asked,
  verdict: Verdict,
  complaint: Complaint | null,
): RunError | null {
  if (verdict.code === 'NOT_CLONEABLE' && complaint !== null)
    return wordedError('NOT_CLONEABLE', 'DataCloneError', redactor.text(complaint.message, { end: true }));
  return explain({ verdict, attempt: null, bounds, operationTimeoutMs, redactor, complaint });
}

/** A passed budget, told as the caller gave it: what was sent was the rest of it. */
function reworded(
  { bounds, operationTimeoutMs, redactor }: Asked,
  { error, cause, status, also }: RunResult,
): RunError | null {
  if (error?.code !== publicCode('OPERATION_TIMEOUT')) return error;
  const verdict: Verdict = { status, cause, also, code: 'OPERATION_TIMEOUT' };
  const { message } =
    explain({ verdict, attempt: null, bounds, operationTimeoutMs, redactor, complaint: null }) ?? error;
  return { ...error, message };
}

/** Standard error as the tool's own reader has it, which could not cross. */
function readable({ tool, redactor }: Asked, stderr: RunResult['output']['stderr']): RunResult['output']['stderr'] {
  const { readStderr } = tool.outputRules;
  if (readStderr === null || stderr.text === '') return stderr;
  try {
    const read: unknown = readStderr(stderr.text);
    return typeof read === 'string' && read.length <= stderr.text.length
      ? { ...stderr, text: redactor.text(read) }
      : stderr;
  } catch {
    return stderr;
  }
}

/** Freezes what a structured clone has thawed: everything but the value and bytes. */
function frozen<T extends object>(plain: T): T {
  for (const [key, part] of Object.entries(plain)) {
    if (typeof part === 'object' && part !== null && key !== 'value' && !ArrayBuffer.isView(part)) frozen(part);
  }
  return Object.freeze(plain);
}
