/**
 * `leasehold run` as a real process: streams, exit codes and signals.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runResultSchema } from 'leasehold';
import { afterAll, describe, expect, it } from 'vitest';
import { runCli, startCli, toolPath } from './spawn-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('leasehold run, input', () => {
  it('takes JSON text and prints the value as JSON', async () => {
    const { code, stdout, stderr } = await runCli(['run', toolPath('echo'), '--input', '{"a":[1,2]}']);
    expect(JSON.parse(stdout)).toEqual({ a: [1, 2] });
    expect(stderr).toMatch(/^succeeded in /);
    expect(code).toBe(0);
  });

  it('reads a file after @', async () => {
    const file = join(folder, 'input.json');
    writeFileSync(file, '"from a file"');
    expect(await runCli(['run', toolPath('echo'), '--input', `@${file}`])).toMatchObject({
      code: 0,
      stdout: '"from a file"\n',
    });
  });

  it('reads standard input for a dash', async () => {
    const { code, stdout } = await runCli(['run', toolPath('echo'), '--input', '-'], '[true]');
    expect({ code, value: JSON.parse(stdout) }).toEqual({ code: 0, value: [true] });
  });

  it('prints nothing for a tool that returns nothing', async () => {
    expect(await runCli(['run', toolPath('echo')])).toMatchObject({ code: 0, stdout: '' });
  });

  it.each([['{'], ['@/does/not/exist.json']])('refuses %s as a usage error', async (input) => {
    const { code, stdout, stderr } = await runCli(['run', toolPath('echo'), '--input', input]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^leasehold: --input: /);
  });
});

describe('leasehold run, usage', () => {
  it.each([
    ['an export without a name', [toolPath('echo'), '--export', '']],
    ['a module without a name', ['']],
    ['an address that is none', ['file://[']],
  ])('refuses %s with words and no stack', async (_, words) => {
    const { code, stdout, stderr } = await runCli(['run', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^leasehold: /);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});

describe('leasehold run, output', () => {
  it('writes values without JSON in their nearest form', async () => {
    const { stdout } = await runCli(['run', toolPath('echo'), '--export', 'big']);
    expect(JSON.parse(stdout)).toEqual({ big: '18446744073709551616', bytes: 'AQID', set: [1] });
  });

  it('writes a ring as text', async () => {
    const { code, stdout } = await runCli(['run', toolPath('echo'), '--export', 'circular']);
    expect({ code, circular: stdout.includes('[Circular') }).toEqual({ code: 0, circular: true });
  });

  it('keeps standard output for the value; progress and output go beside it', async () => {
    const { code, stdout, stderr } = await runCli(['run', toolPath('tell')]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ told: true });
    expect(stderr).toContain('50 % half way\n');
    expect(stderr).toContain('said by the tool\n');
  });

  it('prints the whole result with --json', async () => {
    const { stdout } = await runCli(['run', toolPath('tell'), '--json']);
    const result = runResultSchema.parse(JSON.parse(stdout));
    expect(result).toMatchObject({ status: 'succeeded', value: { told: true } });
  });

  it('ends lines at a pipe without control characters', async () => {
    const { stderr } = await runCli(['run', toolPath('tell')]);
    expect(stderr).not.toContain('\u001b');
  });
});

describe('leasehold run, exit code', () => {
  it('is 1 for a tool that throws', async () => {
    const { code, stdout, stderr } = await runCli(['run', toolPath('fail'), '--effects', 'none']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('ERR_LEASEHOLD_TOOL_ERROR: RangeError: out of reach');
  });

  it('is 1 for a module that does not exist', async () => {
    const { code, stderr } = await runCli(['run', './no-such-module.mjs']);
    expect(code).toBe(1);
    expect(stderr).toContain('ERR_LEASEHOLD_TOOL_LOAD');
  });

  it('is 124 for a busy loop past its run timeout', async () => {
    const line = ['run', toolPath('spin'), '--effects', 'none', '--run-timeout', '100', '--grace', '50'];
    const { code, stderr } = await runCli(line);
    expect(code).toBe(124);
    expect(stderr).toContain('run-timeout at ');
  });

  it('is 124 for the operation timeout', async () => {
    const line = ['run', toolPath('wait'), '--effects', 'none', '--operation-timeout', '300', '--grace', '500'];
    const { code, stderr } = await runCli(line);
    expect(code).toBe(124);
    expect(stderr).toContain('operation-timeout at ');
  });

  it('is 125 when an opaque tool is stopped', async () => {
    const line = ['run', toolPath('spin'), '--run-timeout', '100', '--grace', '50'];
    expect(await runCli(line)).toMatchObject({ code: 125 });
  });

  it('is 2 for an unknown option, and says so', async () => {
    const { code, stdout, stderr } = await runCli(['run', toolPath('echo'), '--colour']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("Unknown option '--colour'");
  });

  it('is 0 for --help and --version', async () => {
    const [help, version] = await Promise.all([runCli(['--help']), runCli(['--version'])]);
    expect(help).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^leasehold run MODULE [\s\S]*^leasehold exec /m),
    });
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

describe('leasehold run, stuck in a system call', () => {
  it('prints the result and kills itself', async () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const line = ['run', toolPath('read-forever'), '--input', JSON.stringify(fifo), '--effects', 'none', '--json'];
    const { signal, stdout, stderr } = await runCli([...line, '--run-timeout', '200', '--grace', '50']);
    expect(runResultSchema.parse(JSON.parse(stdout))).toMatchObject({ status: 'timed-out' });
    expect(stderr).toContain('stuck in a system call');
    expect(signal).toBe('SIGKILL');
  });
});

describe('leasehold run, signals', () => {
  it('cancels at the first Ctrl-C', async () => {
    const cli = startCli(['run', toolPath('wait'), '--effects', 'none']);
    await cli.untilSaid('waiting');
    cli.child.kill('SIGINT');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('(Ctrl-C)');
  });

  it('forces at the second Ctrl-C, without the grace', async () => {
    const cli = startCli(['run', toolPath('spin'), '--effects', 'none', '--grace', '600000']);
    await cli.untilSaid('spinning');
    cli.child.kill('SIGINT');
    await cli.untilSaid('cancelling');
    cli.child.kill('SIGINT');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('forcing the end');
  });

  it('interrupts when told to end', async () => {
    const cli = startCli(['run', toolPath('wait'), '--effects', 'none', '--grace', '500']);
    await cli.untilSaid('waiting');
    cli.child.kill('SIGTERM');
    expect(await cli.ended).toMatchObject({ code: 129 });
  });
});
