// One call of one runner in a host of its own, so that a runner that hangs, or is ended, costs nobody but itself.
//
// `hang-host.mjs RUNNER SCRIPT TIMEOUT_MS`: says `ready`, waits for a line, calls, and says once how the call ended. What it
// starts carries HANG_RUN of its own environment. It never ends by itself: whoever started it looks around first.
import { execFile as execFileWithCallback } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { execa } from 'execa';
import { createSupervisor } from 'leasehold';
import { processTool, shellTool } from 'leasehold/tools';
import spawn from 'nano-spawn';
import { x } from 'tinyexec';
import { z } from 'zod';

const execFile = promisify(execFileWithCallback);
const [runner, script, timeout] = process.argv.slice(2);
const line = ['-c', script];
/** No timeout where none is asked for. */
const timed = timeout === '0' ? {} : { timeout: Number(timeout) };

const terms = {
  input: z.null(),
  effects: 'none',
  graceMs: 500,
  env: { inherit: ['PATH', 'HANG_RUN'] },
  ...(timeout === '0' ? {} : { runTimeoutMs: Number(timeout) }),
};
const supervisor = createSupervisor({ isolates: 1, standby: 0 });

async function supervised(tool) {
  const { status, lease, output, timing } = await supervisor.runTool(tool, null);
  const { worstCaseStopMs } = supervisor.statistics();
  const end = lease.end === 'completed' ? '' : ', quarantined';
  return { how: `${status}${end}`, holders: output.drain.holders, boundMs: timing.boundMs, worstCaseStopMs };
}
const succeeded = () => ({ how: 'success' });

const runners = {
  execFile: () => execFile('sh', line, timed).then(succeeded),
  execa: () => execa('sh', line, timed).then(succeeded),
  tinyexec: () => x('sh', line, { ...timed, throwOnError: true }).then(succeeded),
  'nano-spawn': () => spawn('sh', line, timed).then(succeeded),
  processTool: () => supervised(processTool({ name: 'run', file: 'sh', args: () => line, ...terms })),
  shellTool: () => supervised(shellTool({ name: 'run', script, ...terms })),
};

const say = (words) => process.stdout.write(`${JSON.stringify(words)}\n`);
say('ready');
await once(process.stdin, 'data');
const from = performance.now();
const answer = await runners[runner]().catch(() => ({ how: 'failure' }));
say({ ...answer, ms: performance.now() - from });
