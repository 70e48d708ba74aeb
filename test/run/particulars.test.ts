/** Particulars: whose limits and bounds hold for a request. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { OutputLimits } from '../../src/model/option-shapes.ts';
import { DEFAULTS, parseRunOptions, parseSupervisorOptions } from '../../src/model/options.ts';
import { particularsOf } from '../../src/run/particulars.ts';
import type { RequestHost } from '../../src/run/request-host.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { closeFake } from '../support/fake-host.ts';
import { attemptParts } from './attempt-parts.ts';
import { requestRig } from './request-rig.ts';

function toolWith(outputLimits: Partial<OutputLimits>) {
  return defineTool({
    name: 'fake',
    module: 'file:///fake/tool.mjs',
    input: z.unknown(),
    effects: 'none',
    outputLimits,
  });
}
function outputOf(limits: Partial<OutputLimits>, options: Partial<OutputLimits> = {}) {
  const { setting } = attemptParts();
  const config = parseSupervisorOptions({ output: options });
  const host = { ...setting, config } as unknown as RequestHost;
  const { output } = particularsOf(host, setting.ctx, toolWith(limits), parseRunOptions());
  return { output, config };
}

describe('the limits of output', () => {
  it("are the supervisor's own where the tool says nothing", () => {
    const { output, config } = outputOf({}, { stdoutBytes: 7 });
    expect(output).toBe(config.output);
  });

  it("are the tool's, field by field, above the supervisor's", () => {
    const { output } = outputOf({ stderrBytes: 0, readBytes: 9 }, { stdoutBytes: 7, stderrBytes: 8 });
    expect(output).toEqual({ ...DEFAULTS.output, stdoutBytes: 7, stderrBytes: 0, readBytes: 9 });
  });

  it('hold for what the tool writes', async () => {
    const far = {
      ...obedientFar,
      run: (...[tenure]: Parameters<NonNullable<typeof obedientFar.run>>) => {
        const bytes = new TextEncoder().encode('0123456789');
        tenure.emit({ t: 'output', seq: tenure.current?.seq, stream: 'stdout', bytes, omittedBytes: 0, credit: 0 });
        tenure.value('done');
      },
    };
    const rig = await requestRig(far);
    await rig.run(toolWith({ stdoutBytes: 4 }));
    expect(rig.ended[0]?.output.stdout).toMatchObject({ bytesRead: 10, bytesKept: 4, truncated: true });
    await closeFake(rig);
  });
});
