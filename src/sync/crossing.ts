/**
 * Crossing: what the caller's thread and the supervisor's say to each other, and a tool as plain parts.
 *
 * Invariants: everything here survives a structured clone; a tool that came across does what the first would do with this one
 * input, and accepts everything, since its schemas stay with the caller. Deliberately absent: who waits, and for how long.
 */
import type { MessagePort } from 'node:worker_threads';
import { z } from 'zod';
import { LeaseholdError } from '../model/errors.ts';
import type { RunOptions, SupervisorOptions } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import type { OutputRules, Tool } from '../model/tool.ts';
import type { CommandWork, ModuleWork } from '../model/work.ts';
import type { CloseReport } from '../reports.ts';
import { type Failure, toFailure } from '../wire/failure.ts';

/** Words of the shared memory: how often the supervisor's thread has told something, and whether it has gone. */
export const TOLD = 0;
export const GONE = 1;
export const SYNC_WORDS = 2;

/** What the supervisor's thread is started with. */
export interface ThreadSetting {
  readonly port: MessagePort;
  readonly words: Int32Array;
  readonly options: SupervisorOptions;
}

export type ToThread =
  | {
      readonly t: 'call';
      readonly call: number;
      readonly tool: PlainTool;
      readonly input: unknown;
      readonly options: RunOptions;
    }
  | { readonly t: 'close'; readonly withinMs: number };

export type FromThread =
  | { readonly t: 'ready' }
  /** `uncloneable`: the value of a succeeded result could not be sent, and why. */
  | {
      readonly t: 'result';
      readonly call: number;
      readonly result: RunResult;
      readonly uncloneable: string | null;
    }
  /** The call was refused as a mistake of the caller. */
  | { readonly t: 'refused'; readonly call: number; readonly message: string }
  | { readonly t: 'closed'; readonly report: CloseReport };

/** A plan that was made in the caller's thread, or why there is none. */
type Planned = { readonly plan: ReturnType<CommandWork['plan']> } | { readonly failure: Failure };
interface PlainCommand extends Omit<CommandWork, 'plan'> {
  readonly planned: Planned;
}

export interface PlainTool
  extends Pick<Tool, 'name' | 'effects' | 'isolation' | 'permissions' | 'runTimeoutMs' | 'graceMs'> {
  readonly work: ModuleWork | PlainCommand;
  readonly outputRules: Omit<OutputRules, 'readStderr'>;
  readonly secrets: readonly string[];
}

/**
 * The parts of a tool for one accepted input, and whatever of the input is still needed there.
 * Inline work never comes here. @throws LeaseholdError `ERR_LEASEHOLD_NOT_AVAILABLE` for a stream as standard input
 */
export function plainTool(tool: Tool, input: unknown, secrets: readonly string[]): [PlainTool, unknown] {
  const { name, work, effects, isolation, permissions, runTimeoutMs, graceMs, outputRules } = tool;
  const { readStderr: _, ...rules } = outputRules;
  const parts = { name, effects, isolation, permissions, runTimeoutMs, graceMs, outputRules: rules, secrets };
  if (work.kind !== 'command') return [{ ...parts, work: work as ModuleWork }, input];
  const planned = planOf(work, input);
  if ('plan' in planned && typeof planned.plan.stdin === 'object' && planned.plan.stdin !== null) {
    if (!(planned.plan.stdin instanceof Uint8Array))
      throw new LeaseholdError('NOT_AVAILABLE', `The standard input of "${name}" is a stream, which cannot cross.`);
  }
  // The plan holds all there is to know of the input.
  return [{ ...parts, work: { kind: 'command', drain: work.drain, planned } }, null];
}

/** The tool as the supervisor's thread runs it. */
export function revivedTool({ secrets, outputRules, work, ...parts }: PlainTool): Tool {
  return Object.freeze<Tool>({
    ...parts,
    work: work.kind === 'module' ? work : { kind: 'command', drain: work.drain, plan: () => planIn(work.planned) },
    input: z.unknown(),
    output: null,
    outputRules: { ...outputRules, readStderr: null },
    secrets: secrets.length === 0 ? null : () => secrets,
  });
}

function planOf(work: CommandWork, input: unknown): Planned {
  try {
    return { plan: work.plan(input) };
  } catch (error) {
    return { failure: toFailure(error, 'TOOL_ERROR') };
  }
}

function planIn(planned: Planned): ReturnType<CommandWork['plan']> {
  if ('plan' in planned) return planned.plan;
  const { name, message, stack } = planned.failure;
  throw Object.assign(new Error(message), { name, ...(stack !== undefined && { stack }) });
}
