/** `shellTool`: what it accepts, and that what comes from the input is never read as code. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CommandWork } from '../../src/model/work.ts';
import { type ShellToolDefinition, shellTool } from '../../src/tools/index.ts';

const minimal = { name: 'greet', script: 'printf %s "$1"', input: z.string(), effects: 'none' } as const;

function planOf(over: object, input: unknown = 'ada'): ReturnType<CommandWork['plan']> {
  const { work } = shellTool({ ...minimal, ...over } as ShellToolDefinition);
  if (work.kind !== 'command') throw new Error(`the work is ${work.kind}`);
  return work.plan(input);
}

describe('shellTool', () => {
  it('hands a script to /bin/sh as one argument, and its own name as $0', () => {
    expect(planOf({})).toMatchObject({ file: '/bin/sh', args: ['-c', 'printf %s "$1"', 'greet'], stdin: null });
  });

  it('hands what comes from the input as positional parameters', () => {
    const args = (input: string) => [input, '$(reboot)'];
    expect(planOf({ args, shell: '/bin/bash' })).toMatchObject({
      file: '/bin/bash',
      args: ['-c', 'printf %s "$1"', 'greet', 'ada', '$(reboot)'],
    });
  });

  it('takes a script that depends on the input, and standard input', () => {
    const plan = planOf({ script: (input: string) => `# ${input}`, stdin: (input: string) => input });
    expect(plan).toMatchObject({ args: ['-c', '# ada', 'greet'], stdin: 'ada' });
  });

  it.each([{ script: '' }, { script: 'a\0' }, { script: undefined }, { shell: '' }, { args: [] }, { stdin: '' }])(
    'refuses %j by its name',
    (over) => {
      expect(() => planOf(over)).toThrow(`Option "${Object.keys(over)[0]}" must be `);
    },
  );

  it('knows no file, which would be another program', () => {
    expect(() => planOf({ file: '/bin/true' })).toThrow('Unknown option "file" of shellTool');
  });

  it.each([[() => 7], [() => ''], [() => 'hush\0']])('refuses the plan of a script that is none: %o', (script) => {
    expect(() => planOf({ script })).toThrow('script() of the tool must return a script, and at once.');
  });

  it('for any input prints it as it is, and runs nothing of it', () => {
    const words = fc.oneof(
      fc.string().filter((text) => !text.includes('\0')),
      fc.constantFrom('$(echo owned)', '`echo owned`', '"; echo owned; "', "'; echo owned #", '-n', '$1', '\\'),
    );
    fc.assert(
      fc.property(words, (word) => {
        const { file, args } = planOf({ args: (input: string) => [input] }, word);
        expect(execFileSync(file, args, { encoding: 'utf8' })).toBe(word);
      }),
      { numRuns: 25 },
    );
  });
});
