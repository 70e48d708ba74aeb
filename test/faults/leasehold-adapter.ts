/**
 * Leasehold as the fault suite sees it.
 *
 * Invariant: what is told of a call comes from its own result. Deliberately absent: expectations.
 */
import { createSupervisor, defineTool, type RunResult } from 'leasehold';
import { z } from 'zod';
import type { Fate, FaultAdapter, Isolation, Settled, Work } from '../support/fault-adapter.ts';

/** A process begins once all of its input is there, and a busy machine copies 64 MB slowly. */
const START_MS = 10_000;

function fateOf(result: RunResult<unknown>): Fate {
  const lease = result.lease;
  if (lease === null || lease.isolate === null) return 'untouched';
  if (lease.end === 'completed') return 'kept';
  return lease.findings.some((finding) => finding.kind === 'abandoned') ? 'abandoned' : 'condemned';
}

function describe(result: RunResult<unknown>): Settled {
  const stop = result.cause ?? result.also[0] ?? null;
  return {
    status: result.status,
    code: result.error === null ? null : result.error.code.replace('ERR_LEASEHOLD_', ''),
    value: result.value,
    message: result.error?.message ?? '',
    boundMs: result.timing.boundMs,
    stoppedForMs: stop === null ? null : result.timing.totalMs - stop.atMs,
    fate: fateOf(result),
    isolate: result.lease?.isolate?.id ?? null,
    findings: result.lease?.findings.map((finding) => finding.kind) ?? [],
    exit: result.exit,
    stdout: result.output.stdout,
  };
}

const leaseholdIn = (isolation: Isolation): FaultAdapter => ({
  name: `leasehold, each tool in a ${isolation}`,
  isolation,
  async open(options) {
    const supervisor = createSupervisor({
      isolates: options.isolates,
      limits: { process: options.isolates },
      standby: options.standby,
      defaults: {
        graceMs: options.graceMs,
        killMs: options.killMs,
        runTimeoutMs: options.runTimeoutMs,
        ...(isolation === 'process' && { startMs: START_MS }),
      },
      resourceLimits: { maxOldGenerationSizeMb: options.maxOldGenerationSizeMb },
    });
    await supervisor.untilReady();
    return {
      async run(work: Work) {
        const tool = defineTool({
          name: 'fault',
          module: work.module,
          exportName: work.exportName,
          input: z.unknown(),
          effects: 'none',
          isolation,
        });
        const { signal, transfer, runTimeoutMs, graceMs } = work;
        return describe(
          await supervisor.runTool(tool, work.input, {
            ...(signal && { signal }),
            ...(transfer && { transfer: [...transfer] }),
            ...(runTimeoutMs !== undefined && { runTimeoutMs }),
            ...(graceMs !== undefined && { graceMs }),
          }),
        );
      },
      async close(withinMs) {
        const report = await supervisor.close({ withinMs });
        return { abandoned: report.abandoned.length };
      },
    };
  },
});

/** Leasehold with each isolation that has probes and outlives a run. */
export const leasehold: readonly FaultAdapter[] = [leaseholdIn('thread'), leaseholdIn('process')];
