/**
 * Particulars: what is fixed about a request from its call on.
 *
 * Invariant: nothing of it changes, and nothing of it depends on the input. Deliberately absent: what the request learns on
 * its way: the secrets of its input, stops, its attempt.
 */
import { boundsOf, stopBoundMs } from '../decide/bounds.ts';
import { mintId } from '../model/ids.ts';
import type { OutputLimits } from '../model/option-shapes.ts';
import type { RunConfig } from '../model/options.ts';
import type { RunResult } from '../model/result.ts';
import type { BlobStore } from '../model/stores.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import { type Keeping, type PreparedSubject, preparedBody } from '../record/entry-bodies.ts';
import type { Ctx } from '../scope/ctx.ts';
import type { AttemptSetting } from './attempt-setting.ts';
import type { RequestHost } from './request-host.ts';

type Learned = 'host' | 'redactor' | 'arrivedAt' | 'input' | 'deadlines' | 'emit' | 'notifyPrepared';

export interface Particulars extends Omit<AttemptSetting, Learned> {
  readonly options: RunConfig;
  /** The longest a stop may take to end it. Milliseconds. */
  readonly boundMs: number;
  /** When it began, as people tell time. */
  readonly startedWall: number;
  /** That of the log. */
  readonly durability: RunResult['durability'];
  /** Where what is too large for an entry goes; null when no store was given that could survive. */
  readonly keptIn: BlobStore | null;
}

export function particularsOf(
  { config, actors, eventLog, blobs }: RequestHost,
  ctx: Ctx,
  tool: Tool,
  options: RunConfig,
): Particulars {
  const { clock, defaults, output, health } = config;
  const { transfer, idempotencyKey, onProgress, onOutput } = options;
  const { tenant, run, branch } = ctx;
  const bounds = boundsOf(defaults, tool, options);
  return {
    actors,
    clock,
    eventLog,
    blobs,
    startedAt: clock.now(),
    names: { tenant, run, branch, requestId: mintId('req'), attempt: 1 },
    tool,
    transfer,
    ctx,
    idempotencyKey,
    bounds,
    output: outputOf(output, tool),
    condemn: health.condemn,
    onProgress,
    onOutput,
    options,
    boundMs: stopBoundMs(bounds, tool.work),
    startedWall: clock.wall(),
    durability: eventLog.durability,
    keptIn: config.blobs,
  };
}

/** How entries keep an input and a value; null where the log does not survive. */
export function keepingOf(
  { names, clock, bounds, durability, keptIn }: Particulars,
  redactor: Redactor,
): Keeping | null {
  if (durability === 'none') return null;
  // Half of what the log has for its acknowledgement, so that a store that hangs costs the copy and not the entry.
  return { tenant: names.tenant, redactor, blobs: keptIn, clock, withinMs: bounds.sweepMs / 2 };
}

/** The supervisor's limits completed by the tool's; themselves where the tool gives none. */
function outputOf(limits: OutputLimits, { outputRules }: Tool): OutputLimits {
  for (const _ in outputRules.limits) return { ...limits, ...outputRules.limits };
  return limits;
}

/** The body of the entry that begins the record. */
export function preparedOf(
  particulars: Particulars,
  known: Pick<PreparedSubject, 'input' | 'labels' | 'hasSecrets'>,
  redactor: Redactor,
): ReturnType<typeof preparedBody> {
  const { tool, idempotencyKey } = particulars;
  return preparedBody({ tool, idempotencyKey, ...known }, keepingOf(particulars, redactor));
}
