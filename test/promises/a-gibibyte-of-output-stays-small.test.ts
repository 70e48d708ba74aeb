/**
 * Promise: however much a program writes, the host keeps a bounded head and tail of it, right to the byte, in flat memory.
 *
 * Invariant: the memory is a host's of its own, sampled while it reads. Deliberately absent: small limits (`test/output/`).
 */
import { createSupervisor } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../support/fault-programs.ts';
import { leavesNothing, script } from '../support/program-run.ts';

leavesNothing();
const MEBIBYTE = 1024 * 1024;

describe('a program that writes a gibibyte', () => {
  it('is counted whole and kept in part, and the host grows by less than 64 MiB', async () => {
    const { code, stdout, stderr } = await runProgram('flood-host.mjs', ['1024'], ['--expose-gc']);
    expect([code, stderr]).toEqual([0, '']);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({
      status: 'succeeded',
      isWhole: true,
      counts: {
        bytesRead: 1024 * MEBIBYTE,
        bytesKept: MEBIBYTE,
        bytesOmitted: 1023 * MEBIBYTE,
        headBytes: MEBIBYTE / 4,
        truncated: true,
        eof: true,
      },
    });
    expect(told.samples).toBeGreaterThan(5);
    expect(told.grownBytes).toBeLessThan(64 * MEBIBYTE);
  });

  it('is stopped at 256 MiB unless more was allowed', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    const result = await supervisor.runTool(script('exec cat /dev/zero'), null);
    await supervisor.close();
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_OUTPUT_LIMIT' },
      cause: { kind: 'output-limit', state: 'running' },
      exit: { code: null, signal: 'SIGTERM' },
      output: { stdout: { bytesKept: MEBIBYTE } },
    });
    expect(result.output.stdout.bytesRead).toBeGreaterThan(256 * MEBIBYTE);
    expect(result.output.stdout.bytesRead).toBeLessThan(320 * MEBIBYTE);
  });
});
