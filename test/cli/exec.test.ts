/**
 * `leasehold exec` as a real process: arguments, streams, exit codes and signals.
 */
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { runResultSchema } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { runCli, startCli } from './spawn-cli.ts';

const node = (script: string, ...args: string[]): string[] => ['--', process.execPath, '-e', script, ...args];
const sh = (script: string): string[] => ['--', 'sh', '-c', script];

/** A process that has ended may stay as an entry until somebody waits for it. */
function isAlive(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, 'utf8').includes(') Z ');
}

describe('leasehold exec, command', () => {
  it('prints how it ended as the value, and what it wrote beside it', async () => {
    const { code, stdout, stderr } = await runCli(['exec', ...sh('echo out; echo err >&2')]);
    expect({ code, value: JSON.parse(stdout) }).toEqual({ code: 0, value: { exitCode: 0, signal: null } });
    expect(stderr).toMatch(/^out$/m);
    expect(stderr).toMatch(/^err$/m);
    expect(stderr).toMatch(/^succeeded in /m);
  });

  it('is handed its arguments as they are', async () => {
    const args = ['--', '--json', '-h', '', '$HOME', 'a b', '*', "'"];
    const line = node('console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args);
    const { stdout } = await runCli(['exec', '--passthrough', ...line]);
    expect(JSON.parse(stdout)).toEqual(args);
  });

  it('inherits the environment, but for the marker of a supervisor above', async () => {
    const line = ['exec', '--passthrough', ...node('console.log(process.env.MINE, process.env.LEASEHOLD_RUN)')];
    const { stdout } = await runCli(line, '', { MINE: 'here', LEASEHOLD_RUN: '1.2.above' });
    expect(stdout).toMatch(/^here /);
    expect(stdout).not.toContain('above');
  });

  it('starts in the directory of --cwd', async () => {
    const { stdout } = await runCli(['exec', '--cwd', tmpdir(), '--passthrough', ...sh('pwd -P')]);
    expect(stdout).toBe(`${realpathSync(tmpdir())}\n`);
  });

  it('leaves no process behind', async () => {
    const { code, stdout } = await runCli(['exec', '--json', ...sh('sleep 600 & echo $!')]);
    const result = runResultSchema.parse(JSON.parse(stdout));
    const pid = Number(result.output.stdout.text);
    expect({ code, findings: result.lease?.findings.map(({ kind }) => kind) }).toEqual({
      code: 0,
      findings: ['orphans-killed'],
    });
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });
});

describe('leasehold exec, streams', () => {
  it('has no standard input unless asked for it', async () => {
    expect(await runCli(['exec', '--passthrough', '--', 'cat'], 'words')).toMatchObject({ code: 0, stdout: '' });
  });

  it('passes standard input on with --stdin', async () => {
    expect(await runCli(['exec', '--stdin', '--passthrough', '--', 'cat'], 'words')).toMatchObject({
      code: 0,
      stdout: 'words',
    });
  });

  it('waits for no more of standard input than its command does', async () => {
    expect(await runCli(['exec', '--stdin', '--', 'true'], null)).toMatchObject({ code: 0 });
  });

  it('keeps apart what the command wrote with --passthrough', async () => {
    const { stdout, stderr } = await runCli(['exec', '--passthrough', ...sh('echo out; echo err >&2')]);
    expect(stdout).toBe('out\n');
    expect(stderr).toMatch(/^err$/m);
    expect(stderr).not.toMatch(/^out$/m);
  });

  it('passes more on than it keeps', async () => {
    const { stdout } = await runCli(['exec', '--passthrough', ...sh('head -c 5000000 /dev/zero | tr "\\0" x')]);
    expect(stdout === 'x'.repeat(5_000_000)).toBe(true);
  });

  it('keeps little for a reader that waits, and tells what it left out', async () => {
    const cli = startCli(['exec', '--passthrough', ...sh('head -c 100000000 /dev/zero | tr "\\0" x')]);
    cli.child.stdout?.pause();
    await cli.untilSaid('succeeded in');
    cli.child.stdout?.resume();
    const { code, stdout, stderr } = await cli.ended;
    expect(stdout.length).toBeLessThan(34 * 1024 * 1024);
    const omitted = [...stderr.matchAll(/(\d+) bytes of output were left out/g)].map(([, bytes]) => Number(bytes));
    expect([code, omitted.reduce((sum, bytes) => sum + bytes, stdout.length)]).toEqual([0, 100_000_000]);
  });

  it('cancels the command when nobody reads what it passes on', async () => {
    const cli = startCli(['exec', '--effects', 'none', '--passthrough', '--', 'yes']);
    await once(cli.child.stdout ?? cli.child, 'data');
    cli.child.stdout?.destroy();
    const { code, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('standard output was closed');
  });

  it('prints the whole result with --json', async () => {
    const { stdout } = await runCli(['exec', '--json', ...sh('echo out')]);
    expect(runResultSchema.parse(JSON.parse(stdout))).toMatchObject({
      status: 'succeeded',
      value: { exitCode: 0, signal: null },
      lease: { isolate: { kind: 'process' } },
      output: { stdout: { text: 'out\n' } },
    });
  });
});

describe('leasehold exec, exit code', () => {
  it('is 1 for a command that fails, and the summary says its own', async () => {
    const { code, stdout, stderr } = await runCli(['exec', ...sh('exit 7')]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^ {2}exit +code 7$/m);
  });

  it('is 0 for an exit code that is accepted', async () => {
    const { code, stdout } = await runCli(['exec', '--ok-exit-codes', '0,7', ...sh('exit 7')]);
    expect({ code, value: JSON.parse(stdout) }).toEqual({ code: 0, value: { exitCode: 7, signal: null } });
  });

  it.each([
    ['a command that does not exist', ['--', 'no-such-command-anywhere']],
    ['a directory that does not exist', ['--cwd', '/no/such/directory', '--', 'true']],
  ])('is 1 for %s', async (_, words) => {
    const { code, stdout, stderr } = await runCli(['exec', ...words]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('ERR_LEASEHOLD_SPAWN_FAILED');
  });

  it('is 124 for a command past its run timeout', async () => {
    const line = ['exec', '--effects', 'none', '--run-timeout', '100', '--grace', '500', '--', 'sleep', '600'];
    const { code, stderr } = await runCli(line);
    expect(code).toBe(124);
    expect(stderr).toContain('run-timeout at ');
    expect(stderr).toMatch(/^ {2}exit +signal SIGTERM$/m);
  });

  it('is 125 when a command with opaque effects is stopped', async () => {
    expect(await runCli(['exec', '--run-timeout', '100', '--', 'sleep', '600'])).toMatchObject({ code: 125 });
  });

  it('is 2 for a command without two dashes', async () => {
    const { code, stdout, stderr } = await runCli(['exec', 'ls']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("the command stands after '--'");
  });
});

describe('leasehold exec, signals', () => {
  it('cancels at the first Ctrl-C', async () => {
    const cli = startCli(['exec', '--effects', 'none', ...sh('echo ready; sleep 600')]);
    await cli.untilSaid('ready');
    cli.child.kill('SIGINT');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('(Ctrl-C)');
  });

  it('forces at the second Ctrl-C, without the grace', async () => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 600; done';
    const cli = startCli(['exec', '--effects', 'none', '--grace', '600000', ...sh(script)]);
    await cli.untilSaid('ready');
    cli.child.kill('SIGINT');
    await cli.untilSaid('cancelling');
    cli.child.kill('SIGINT');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^ {2}exit +signal SIGKILL$/m);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('interrupts on %s', async (signal) => {
    const cli = startCli(['exec', '--effects', 'none', '--grace', '500', ...sh('echo ready; exec sleep 600')]);
    await cli.untilSaid('ready');
    cli.child.kill(signal);
    expect(await cli.ended).toMatchObject({ code: 129 });
  });
});
