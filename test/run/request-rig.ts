/**
 * Requests on a fake host: what was asked, and the results that have come.
 *
 * Invariant: a result that has not come is not in the list, so no test waits for one. Deliberately absent: expectations.
 */
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { SupervisorOptions } from '../../src/model/options.ts';
import type { RunResult } from '../../src/model/result.ts';
import type { Tool } from '../../src/model/tool.ts';
import type { RunScope } from '../../src/scope/run-scope.ts';
import { settle } from '../support/fake-clock.ts';
import { openFakeHost } from '../support/fake-host.ts';
import type { FakeTenure, Far } from '../support/fake-tenure.ts';

/** One isolate, and none beside it unless the options say so. */
export async function requestRig(far: Far = {}, options: Partial<SupervisorOptions> = {}) {
  const host = await openFakeHost(far, { standby: 0, ...options });
  const ended: RunResult[] = [];
  /** Asks, and lets everything happen that needs no time. */
  const run = async (
    tool: Tool,
    input: unknown = 'hang',
    runOptions: RunOptions = {},
    within: Pick<RunScope, 'runTool'> = host.supervisor,
  ): Promise<void> => {
    void within.runTool(tool, input, runOptions).then((result) => ended.push(result));
    await settle();
  };
  /** The thread that is leased. */
  const leased = (): FakeTenure => {
    const found = host.tenures.alive.find(({ held }) => held);
    if (found === undefined) throw new Error('no thread is leased');
    return found;
  };
  /** How many runs have begun. */
  const runs = (): number => host.tenures.all.reduce((sum, tenure) => sum + tenure.runs, 0);
  return { ...host, ended, run, leased, runs };
}
