/**
 * `powershellTool` under a real supervisor, with a stand-in for PowerShell in each of its moods.
 */
import { fileURLToPath } from 'node:url';
import { createSupervisor, type RunOptions, type RunResult } from 'leasehold';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CommandValue, type PowershellToolDefinition, powershellTool } from '../../src/tools/index.ts';

const executable = fileURLToPath(new URL('../fixtures/powershell/pwsh.mjs', import.meta.url));
const supervisor = createSupervisor({ isolates: 1, standby: 0 });
afterAll(() => supervisor.close());

function run(script: string, over: object = {}, options: RunOptions = {}): Promise<RunResult<CommandValue>> {
  const definition = { name: 'report', script, executable, input: z.unknown(), effects: 'none', ...over };
  return supervisor.runTool(powershellTool(definition as PowershellToolDefinition), undefined, options);
}

/** Runs a script that says when it is ready, and cancels it then. */
function cancelWhenReady(script: string, options: RunOptions): Promise<RunResult<CommandValue>> {
  const user = new AbortController();
  const onOutput = () => user.abort(new Error('enough'));
  return run(script, {}, { ...options, signal: user.signal, onOutput });
}

describe('powershellTool, run', () => {
  it('hands the script and its arguments over', async () => {
    const { status, output } = await run('echo\n# gr\u00fcezi', { args: () => ['', 'a b', '-x'] });
    const { script, args, names } = JSON.parse(output.stdout.text);
    expect({ status, script, args }).toEqual({
      status: 'succeeded',
      script: 'echo\n# gr\u00fcezi',
      args: ['', 'a b', '-x'],
    });
    expect(names).toContain('PATH');
  });

  it('tells errors and warnings as text', async () => {
    expect(await run('clixml')).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_EXIT_CODE' },
      output: { stderr: { text: 'WARNING: soon\nException: it is over\n' } },
    });
  });

  it('hides a secret that only the readable text shows', async () => {
    const result = await run('clixml', { secrets: () => ['over\n'] });
    expect(result.output.stderr.text).toBe('WARNING: soon\nException: it is [redacted]');
  });

  it('keeps what is cut as it came', async () => {
    const { output } = await run('clixml-cut');
    expect(output.stderr.text).toMatch(/^#< CLIXML\n<Objs .*<S S="Error">it is ov$/);
  });

  it('keeps bytes that are no UTF-8 when asked for bytes', async () => {
    const { output } = await run('wide', { encoding: 'bytes' });
    expect(Buffer.from(output.stdout.bytes ?? []).toString('utf16le')).toBe('\ufeffbreit');
  });

  it('tells the exit code of a script', async () => {
    expect(await run('exit 5', { okExitCodes: [5] })).toMatchObject({ value: { exitCode: 5, signal: null } });
  });

  it('ends one that is slow to start and stops when told', async () => {
    expect(await cancelWhenReady('slow-start', {})).toMatchObject({
      status: 'cancelled',
      exit: { code: null, signal: 'SIGTERM' },
    });
  });

  it('kills one that does not stop when told', async () => {
    expect(await cancelWhenReady('ignore-term', { graceMs: 50 })).toMatchObject({
      status: 'cancelled',
      exit: { code: null, signal: 'SIGKILL' },
      lease: { end: 'quarantined' },
    });
  });

  it('ends what a script leaves behind, and names who held the pipe', async () => {
    const { status, lease, output } = await run('orphan', { drain: { quietMs: 50, maxMs: 200 } });
    expect({ status, findings: lease?.findings.map(({ kind }) => kind) }).toEqual({
      status: 'succeeded',
      findings: ['orphans-killed'],
    });
    expect(output.drain.holders).toEqual([expect.stringMatching(/^sleep \(\d+\)$/)]);
  });

  it('fails where there is no such PowerShell', async () => {
    expect(await run('echo', { executable: 'no-such-pwsh' })).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_SPAWN_FAILED' },
      exit: null,
    });
  });
});
