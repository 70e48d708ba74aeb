/**
 * What is said of a command: its records, the failure of one that did not end well, and what was found after it.
 *
 * Invariant: a program is named by its last part; arguments are told only where the plan says that they are public, and
 * environment and output never. Deliberately absent: when any of it is said (`command-life.ts`).
 */
import type { CommandPlan } from '../model/work.ts';
import type { RunningProcess, SpawnFailure, Survivor } from '../process/backend.ts';
import type { DrainEnd } from '../process/drain.ts';
import { programOf } from '../process/spawn-failure.ts';
import { namesOf, type SweepReport } from '../process/sweep.ts';
import { type Failure, toPlain } from '../wire/failure.ts';
import type {
  DrainedMessage,
  LookedMessage,
  OutputMessage,
  SettledMessage,
  StartedMessage,
  WireFinding,
} from '../wire/protocol.ts';

type Unstamped<M> = Omit<M, 'n' | 'seq'>;
/** A record of a command, before it is stamped. */
export type CommandRecord =
  | Unstamped<StartedMessage>
  | Unstamped<SettledMessage>
  | Unstamped<OutputMessage>
  | Unstamped<DrainedMessage>
  | Unstamped<LookedMessage>;

/** Who hears of it. Called from within its methods too. */
export interface CommandHearer {
  onRecord(record: CommandRecord): void;
  /** Nothing is left of it. Only after `kill`. */
  onGone(exit: ProcessExit): void;
}

/** How a process ended, as the system gave it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The exit of a process whose end was not seen, or that never began. */
export const NEVER_ENDED: ProcessExit = Object.freeze({ code: null, signal: null });

/** What an answer says beside its failure. */
export type Told = Partial<Pick<SettledMessage, 'exit' | 'recalled' | 'clean'>>;

/** The answer of a command; without a failure its value is how it ended. */
export function answer(failure: Failure | null, ranMs: number, told: Told): CommandRecord {
  const { code: exitCode, signal } = told.exit ?? NEVER_ENDED;
  return {
    ...{ t: 'settled', ok: failure === null, clean: false, reset: false, healthCheck: false, ranMs },
    ...(failure === null ? { value: { exitCode, signal } } : { failure }),
    ...told,
  };
}

/** Nothing more is read. */
export function drained(
  ended: DrainEnd,
  ms: number,
  holders: readonly string[],
  isAtEnd: RunningProcess['isAtEnd'],
): CommandRecord {
  return { t: 'drained', ended, ms, holders, stdoutEof: isAtEnd.stdout, stderrEof: isAtEnd.stderr };
}

/** The process was never started. */
export function failureOfStart(plan: CommandPlan, { reason, errno, message }: SpawnFailure): Failure {
  const { fields, truncated } = fieldsOf(plan, null);
  return {
    ...{ code: 'SPAWN_FAILED', name: 'Error', message, ofStop: false, truncated },
    fields: { ...fields, reason, errno },
  };
}

/** It ended after it was told to, or killed: whatever its code, that is no value. */
export function failureOfStop(plan: CommandPlan, exit: ProcessExit): Failure {
  const message = `"${programOf(plan.file)}" ended after it was told to stop.`;
  return { code: 'EXIT_CODE', name: 'AbortError', message, ofStop: true, ...fieldsOf(plan, exit) };
}

/** It ended by itself; null when its exit code is one of those that count as success. */
export function failureOfExit(plan: CommandPlan, exit: ProcessExit): Failure | null {
  const { code, signal } = exit;
  if (code !== null && plan.okExitCodes.includes(code)) return null;
  const how = signal === null ? `with exit code ${code}` : `by signal ${signal}`;
  const message = `"${programOf(plan.file)}" ended ${how}.`;
  return { code: 'EXIT_CODE', name: 'Error', message, ofStop: false, ...fieldsOf(plan, exit) };
}

/** It ended well, but did not end all it had started. */
export function failureOfOrphans(plan: CommandPlan, exit: ProcessExit): Failure {
  const message = `Processes outlived "${programOf(plan.file)}".`;
  return { code: 'EXIT_CODE', name: 'Error', message, ofStop: false, ...fieldsOf(plan, exit) };
}

function fieldsOf(
  plan: CommandPlan,
  exit: ProcessExit | null,
): Pick<Failure, 'truncated'> & Required<Pick<Failure, 'fields'>> {
  const { plain, truncated } = plan.publicArgs ? toPlain(plan.args) : { plain: plan.args.length, truncated: false };
  const { code: exitCode, signal } = exit ?? NEVER_ENDED;
  return { fields: { program: programOf(plan.file), arguments: plain, exitCode, signal }, truncated };
}

/** What a sweep came to. `orphans`: those that were alive after the command had ended by itself; null when unknown. */
export function findingsOf(report: SweepReport, orphans: readonly Survivor[] | null): WireFinding[] {
  const findings: WireFinding[] = [];
  const ended = new Set([...report.killed, ...(orphans ?? []).map(({ pid }) => pid)]);
  if (ended.size > 0) findings.push({ kind: 'orphans-killed', detail: counted(ended.size) });
  if (report.verdict === 'unverified') {
    findings.push({ kind: 'unverified', detail: 'there is no way to look for processes that are left' });
  } else if (report.reason !== null) findings.push({ kind: 'contaminated', detail: report.reason });
  return findings;
}

/** Whether processes outlived the command. What nobody could verify is no claim that they did. */
export function hasLeft({ verdict }: SweepReport, orphans: readonly Survivor[] | null): boolean {
  return orphans === null || orphans.length > 0 || verdict === 'swept' || verdict === 'contaminated';
}

/** What is left to itself, as the plan allows. Null: nobody could look. */
export function findingOfRest(left: readonly Survivor[] | null): WireFinding {
  if (left === null || left.length === 0) return { kind: 'orphans-left', detail: 'not seen' };
  return { kind: 'orphans-left', detail: `${counted(left.length)}: ${namesOf(left)}` };
}

function counted(number: number): string {
  return number === 1 ? '1 process' : `${number} processes`;
}
