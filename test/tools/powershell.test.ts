/**
 * `powershellTool`: what it accepts, the command it makes, and a stand-in for PowerShell that obeys it.
 *
 * Invariant: what only a real PowerShell can show is asked of one where it is found; elsewhere a title says that it was not.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Tool } from '../../src/model/tool.ts';
import type { CommandWork } from '../../src/model/work.ts';
import { type PowershellToolDefinition, powershellTool } from '../../src/tools/index.ts';

const standIn = fileURLToPath(new URL('../fixtures/powershell/pwsh.mjs', import.meta.url));
const minimal = { name: 'report', script: 'echo', input: z.string(), effects: 'none' } as const;
const define = (over: object): Tool => powershellTool({ ...minimal, ...over } as PowershellToolDefinition);

function planOf(over: object, input: unknown = 'ada'): ReturnType<CommandWork['plan']> {
  const { work } = define(over);
  if (work.kind !== 'command') throw new Error(`the work is ${work.kind}`);
  return work.plan(input);
}

/** Carries a plan out at once; what the stand-in and PowerShell share is shown by both. */
function run({ file, args, stdin, env }: ReturnType<CommandWork['plan']>) {
  const { status, stdout, stderr } = spawnSync(file, args, {
    encoding: 'utf8',
    input: (stdin ?? '') as string,
    env: { ...process.env, ...env.set },
  });
  return { status, stdout, stderr };
}

describe('powershellTool', () => {
  it('hands a file and its arguments to pwsh', () => {
    const plan = planOf({ script: undefined, file: 'report.ps1', args: (input: string) => [input, '-Verbose'] });
    expect(plan).toMatchObject({
      file: 'pwsh',
      args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-File', 'report.ps1', 'ada', '-Verbose'],
      stdin: null,
      env: { set: {} },
    });
  });

  it('hands a script to standard input, and none of it to the command line', () => {
    const plan = planOf({ script: 'Get-Date # grüezi', args: (input: string) => [input] });
    const [logo, profile, interactive, how, bootstrap = '', ...more] = plan.args;
    expect([logo, profile, interactive, how, more]).toEqual([
      '-NoLogo',
      '-NoProfile',
      '-NonInteractive',
      '-EncodedCommand',
      [],
    ]);
    expect(plan.stdin).toBe('Get-Date # grüezi');
    expect(Buffer.from(bootstrap, 'base64').toString('utf16le')).not.toMatch(/Get-Date|ada/);
  });

  it('has one bootstrap for all scripts, which stops at errors and ends with a code', () => {
    const [one, other] = [planOf({ script: 'a' }), planOf({ script: 'b', args: () => ['c'] })];
    expect(one.args).toEqual(other.args);
    const bootstrap = Buffer.from(one.args.at(-1) ?? '', 'base64').toString('utf16le');
    expect(bootstrap).toMatch(
      /\$ErrorActionPreference = 'Stop'[\s\S]*\btry\b[\s\S]*\bcatch\b[\s\S]*exit 1\n\}\nexit 0\n$/,
    );
  });

  it('never names the variable by which PowerShell would take standard input first', () => {
    const bootstrap = Buffer.from(planOf({}).args.at(-1) ?? '', 'base64').toString('utf16le');
    expect(bootstrap).not.toMatch(/\$\{?input\b/i);
  });

  it('keeps what the tool sets in the environment beside the arguments', () => {
    const { env } = planOf({ env: { inherit: [], set: { TOKEN: 't' } }, args: () => ['x'] });
    expect(env).toMatchObject({ inherit: [], set: { TOKEN: 't' } });
    expect(Object.keys(env.set)).toHaveLength(2);
  });

  it('passes an execution policy on where there are any', () => {
    const isPassed = planOf({ executionPolicy: 'Bypass' }).args.includes('-ExecutionPolicy');
    expect(isPassed).toBe(process.platform === 'win32');
  });

  it('reads what standard error holds as CLIXML', () => {
    const { readStderr } = define({}).outputRules;
    expect(readStderr?.('#< CLIXML\n<Objs><S S="Error">over_x000A_</S></Objs>')).toBe('over\n');
  });

  it.each([
    [{ script: undefined }, 'Option "script" must be given, or else "file", and not both'],
    [{ file: 'a.ps1' }, 'Option "script" must be given, or else "file", and not both'],
    [{ script: '' }, 'Option "script" must be a script'],
    [{ script: undefined, file: '' }, 'Option "file" must be the path of a script'],
    [{ script: undefined, file: '-' }, 'Option "file" must be the path of a script'],
    [{ stdin: () => 'x' }, 'Option "stdin" must be given only with "file"'],
    [{ executable: '' }, 'Option "executable" must be a path or the name of a PowerShell'],
    [{ executionPolicy: 'None' }, 'Option "executionPolicy" must be one of'],
    [{ args: [] }, 'Option "args" must be a function'],
    [{ shell: 'bash' }, 'Unknown option "shell" of powershellTool'],
  ])('refuses %o with words for it', (over, words) => {
    expect(() => define(over)).toThrow(words);
  });
});

describe('powershellTool with a stand-in', () => {
  const executable = standIn;

  it('runs a file', () => {
    const file = fileURLToPath(new URL('../fixtures/powershell/echo.ps1', import.meta.url));
    const { status, stdout } = run(planOf({ script: undefined, file, executable, args: () => ['a b'] }));
    expect({ status, ...JSON.parse(stdout) }).toMatchObject({ status: 0, args: ['a b'] });
  });

  it('passes standard input on to a file', () => {
    const file = fileURLToPath(new URL('../fixtures/powershell/stdin.ps1', import.meta.url));
    expect(run(planOf({ script: undefined, file, executable, stdin: () => 'lines' }))).toMatchObject({
      stdout: 'lines',
    });
  });

  it('for any script and arguments hands over exactly those', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((words) => !words.includes('\0'));
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (words, args) => {
        const script = `echo\n${words}`;
        const { stdout } = run(planOf({ executable, script: () => script, args: () => args }));
        expect(JSON.parse(stdout)).toMatchObject({ script, args });
      }),
      { numRuns: 12 },
    );
  });

  it('tells the exit code of a script', () => {
    expect(run(planOf({ executable, script: 'exit 3' })).status).toBe(3);
  });
});

const NAMES = ['pwsh', 'powershell'];
const found = NAMES.find((name) => spawnSync(name, ['-NoLogo', '-Version']).status === 0);

/** What the stand-in cannot show. Chosen when the tests are collected, since no test is skipped here. */
const CLAIMS: readonly (readonly [string, PowershellToolDefinition['script'], object])[] = [
  [
    'runs a script of several lines whole',
    'if ($true) {\n  "a"\n}\nelse {\n  "b"\n}',
    { status: 0, stdout: /^a\r?\n$/ },
  ],
  ['reads the script as UTF-8', '"grüezi \u{1f600}"', { status: 0, stdout: /grüezi \u{1f600}/u }],
  ['tells an exit code', 'exit 3', { status: 3 }],
  ['ends a script that throws with 1', 'throw "over"', { status: 1 }],
  ['ends a script at its first error', 'Get-Item nowhere-at-all; "after"', { status: 1, stdout: /^$/ }],
  ['ends a script that cannot be read with 1, and runs nothing of it', '"before"; if (', { status: 1, stdout: /^$/ }],
  ['ends with 0 whatever the last program answered', '$global:LASTEXITCODE = 7', { status: 0 }],
];

describe('powershellTool with a real PowerShell', () => {
  if (found === undefined) {
    it('real pwsh: not found here, nothing proven', () => {
      const errors = NAMES.map((name) => spawnSync(name).error);
      expect(errors).toEqual(NAMES.map(() => expect.objectContaining({ code: 'ENOENT' })));
    });
    return;
  }
  it.each(CLAIMS)('%s', (_, script, { status, stdout = /^/ }: { status?: number; stdout?: RegExp }) => {
    const ended = run(planOf({ executable: found, script }));
    expect(ended.status).toBe(status);
    expect(ended.stdout).toMatch(stdout);
  });
  it('hands arguments over as they are', () => {
    const args = ['', 'a b', '-Name', '"quoted"', '2020-01-01'];
    const script = '$args | ForEach-Object { "[$_]" }';
    const { stdout } = run(planOf({ executable: found, script, args: () => args }));
    expect(stdout.split(/\r?\n/).filter(Boolean)).toEqual(args.map((word) => `[${word}]`));
  });
  it('writes errors in a form that is read', () => {
    const { stderr } = run(planOf({ executable: found, script: 'throw "it is over"' }));
    const shown = define({}).outputRules.readStderr?.(stderr);
    expect(shown).toContain('it is over');
    expect(shown).not.toContain('CLIXML');
  });
});
