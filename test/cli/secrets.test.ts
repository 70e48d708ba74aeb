/**
 * `--secret-env`: the value of the variable stands in nothing that the binary writes, however the tool wrote it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runCli, toolPath } from './spawn-cli.ts';

const SECRET = 's3cr\u00e4t "quoted"&more/than+one=kind';
const FORMS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('base64').replace(/.?=*$/, ''),
];
const drip = (words: readonly string[]): string[] => ['--', process.execPath, toolPath('drip'), ...words];

const run = (args: readonly string[]) => runCli(args, '', { TOKEN: SECRET });

function seenIn({ stdout, stderr }: { stdout: string; stderr: string }): string[] {
  return FORMS.filter((form) => stdout.includes(form) || stderr.includes(form));
}

/** A form of the secret between other words, cut somewhere. */
const pieces = fc
  .tuple(
    fc.constantFrom(...FORMS),
    fc.nat({ max: 60 }),
    fc.nat({ max: 60 }),
    fc.constantFrom('', ' ', 'x', '\u00fc', '\n'),
  )
  .map(([form, one, other, around]) => {
    const text = `${around}${form}${around}`;
    const [first = 0, second = 0] = [one % text.length, other % text.length].sort((a, b) => a - b);
    return [text.slice(0, first), text.slice(first, second), text.slice(second)].filter(Boolean);
  });

describe('--secret-env', () => {
  it.each([
    ['beside a value', []],
    ['passed on', ['--passthrough']],
    ['in a result', ['--json']],
  ])('for any pieces of output hides the value, %s', async (_, options) => {
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 4, maxLength: 8 }), async (lists) => {
        const ended = await run(['exec', '--secret-env', 'TOKEN', ...options, ...drip(lists.flat())]);
        expect({ code: ended.code, seen: seenIn(ended) }).toEqual({ code: 0, seen: [] });
        expect(ended.stdout + ended.stderr).toContain('[redacted]');
      }),
      { numRuns: 4 },
    );
  });

  it.each([
    ['a value and its keys', []],
    ['a whole result', ['--json']],
    ['an error', ['--export', 'complain']],
  ])('hides the value in %s of a module', async (_, options) => {
    const input = ['--input', JSON.stringify(FORMS)];
    const ended = await run(['run', toolPath('drip'), '--secret-env', 'TOKEN', ...input, ...options]);
    expect(seenIn(ended)).toEqual([]);
    expect(ended.stdout + ended.stderr).toContain('[redacted]');
  });

  it('hides the value in words about the command line', async () => {
    const ended = await run(['run', toolPath('drip'), '--secret-env', 'TOKEN', '--input', SECRET]);
    expect({ code: ended.code, seen: seenIn(ended) }).toEqual({ code: 2, seen: [] });
    expect(ended.stderr).toMatch(/^leasehold: --input: /);
  });

  it('hides the values of several variables', async () => {
    const env = { ONE: 'first-value', TWO: 'second-value' };
    const line = ['exec', '--secret-env', 'ONE', '--secret-env', 'TWO', '--passthrough', '--', 'echo'];
    const { stdout } = await runCli([...line, 'first-value', 'second-value'], '', env);
    expect(stdout).toBe('[redacted] [redacted]\n');
  });

  it('refuses a variable that is not set, and starts nothing', async () => {
    const { code, stdout, stderr } = await runCli([
      'exec',
      '--secret-env',
      'NO_SUCH_VARIABLE',
      '--',
      'echo',
      'started',
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe("leasehold: --secret-env: there is no variable 'NO_SUCH_VARIABLE'\n");
  });
});
