/**
 * `processTool` as a description: what it accepts, and the plan it makes of an input.
 *
 * Deliberately absent: running the plan (`process-run.test.ts`).
 */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { Tool } from '../../src/model/tool.ts';
import type { CommandWork } from '../../src/model/work.ts';
import {
  type CommandValue,
  INHERITED_ENV,
  type ProcessToolDefinition,
  processTool,
  type StdinContent,
} from '../../src/tools/index.ts';

const minimal = {
  name: 'count',
  file: 'wc',
  args: (input: string) => ['-l', '--', input],
  input: z.string(),
  effects: 'none',
} as const;
const define = (over: object): Tool => processTool({ ...minimal, ...over } as ProcessToolDefinition);

function planOf(over: object, input: unknown = 'a.txt'): ReturnType<CommandWork['plan']> {
  const { work } = define(over);
  if (work.kind !== 'command') throw new Error(`the work is ${work.kind}`);
  return work.plan(input);
}

describe('processTool', () => {
  it('completes and freezes a definition', () => {
    const tool = processTool(minimal);
    expect(tool).toMatchObject({
      name: 'count',
      work: { kind: 'command', drain: { quietMs: 250, maxMs: 2_000 } },
      output: null,
      effects: 'none',
      isolation: 'process',
      permissions: null,
      outputRules: { limits: {}, onLimit: 'truncate', encoding: 'utf8', readStderr: null },
      runTimeoutMs: null,
      graceMs: null,
      secrets: null,
    });
    for (const part of [tool, tool.work, tool.outputRules]) expect(Object.isFrozen(part)).toBe(true);
  });

  it('infers what callers pass, and always answers how the program ended', () => {
    const tool = processTool({
      ...minimal,
      input: z.object({ n: z.coerce.number<string>() }),
      args: ({ n }) => [`${n}`],
    });
    expectTypeOf(tool).toEqualTypeOf<Tool<{ n: string }, CommandValue>>();
  });

  it('takes the limits of its output from "output"', () => {
    const { outputRules } = define({ output: { stdoutBytes: 9 }, onLimit: 'stop', encoding: 'bytes' });
    expect(outputRules).toMatchObject({ limits: { stdoutBytes: 9 }, onLimit: 'stop', encoding: 'bytes' });
  });

  it.each([
    { file: '' },
    { file: 'a\0b' },
    { file: undefined },
    { args: ['-l'] },
    { args: undefined },
    { stdin: 'text' },
    { cwd: '' },
    { cwd: 7 },
    { publicArgs: 1 },
    { okExitCodes: [] },
    { okExitCodes: [-1] },
    { okExitCodes: 0 },
    { onOrphans: 'ignore' },
    { effects: 'declared' },
    { runTimeoutMs: 0 },
    { onLimit: 'fail' },
    { encoding: 'latin1' },
  ])('refuses %j by its name', (over) => {
    expect(() => define(over)).toThrow(
      expect.objectContaining({
        code: 'ERR_LEASEHOLD_INVALID_OPTION',
        message: expect.stringContaining(`Option "${Object.keys(over)[0]}" must be `),
      }),
    );
  });

  it.each([
    [{ env: { inherit: ['A=B'] } }, 'Option "env.inherit" must be an array of names of variables'],
    [{ env: { set: { A: 1 } } }, 'Option "env.set" must be an object of strings'],
    [{ env: { set: { A: 'x\0' } } }, 'Option "env.set" must be an object of strings'],
    [{ env: { set: { 'A=B': '' } } }, 'Option "env.set" must be an object of strings'],
    [{ env: { inherits: [] } }, 'Unknown option "inherits" of env'],
    [{ drain: { quietMs: 0 } }, 'Option "drain.quietMs" must be a finite number'],
    [{ drain: { quietMs: 20, maxMs: 10 } }, 'Option "drain.quietMs" must be no longer than drain.maxMs'],
    [{ output: { stdoutBytes: -1 } }, 'Option "output.stdoutBytes" must be a whole number'],
    [{ permissions: {} }, 'Unknown option "permissions" of processTool'],
  ])('refuses %j with words for it', (over, words) => {
    expect(() => define(over)).toThrow(words);
  });

  it('refuses what is no definition at all', () => {
    expect(() => processTool(undefined as unknown as ProcessToolDefinition)).toThrow(/Option "definition"/);
  });

  it('shows no value of a refused environment', () => {
    expect(() => define({ env: { set: { TOKEN: 'hush\0' } } })).not.toThrow(/hush/);
  });
});

describe('the plan of a processTool', () => {
  it('holds everything, with the defaults told', () => {
    expect(planOf({})).toEqual({
      file: 'wc',
      args: ['-l', '--', 'a.txt'],
      cwd: null,
      env: { inherit: INHERITED_ENV, set: {} },
      stdin: null,
      okExitCodes: [0],
      onOrphans: 'kill',
      publicArgs: false,
    });
  });

  it('inherits no more than a short list of names, and none of secrets', () => {
    expect(INHERITED_ENV).toEqual(expect.arrayContaining(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']));
    expect(INHERITED_ENV.filter((name) => /TOKEN|SECRET|KEY|NODE|LEASEHOLD/.test(name))).toEqual([]);
  });

  it('takes the directory, the variables and standard input from the input', () => {
    const plan = planOf(
      {
        cwd: (input: string) => `/srv/${input}`,
        env: { inherit: ['PATH'], set: (input: string) => ({ WHO: input }) },
        stdin: (input: string) => Buffer.from(input),
      },
      'ada',
    );
    expect(plan).toMatchObject({ cwd: '/srv/ada', env: { inherit: ['PATH'], set: { WHO: 'ada' } } });
    expect(plan.stdin).toEqual(Buffer.from('ada'));
  });

  it('takes a shorter quiet window where reading may not last as long as it', () => {
    expect(define({ drain: { maxMs: 100 } }).work).toMatchObject({ drain: { quietMs: 100, maxMs: 100 } });
  });

  it.each<[string, StdinContent]>([
    ['a string', 'lines'],
    ['bytes', new Uint8Array([1, 2])],
    ['a stream', Readable.from(['x'])],
    ['nothing', null],
  ])('hands on %s for standard input', (_, content) => {
    expect(planOf({ stdin: () => content }).stdin).toBe(content);
  });

  it('is made anew for each input, and a list that is changed later changes nothing', () => {
    const list = ['one'];
    const { work } = define({ args: () => list });
    if (work.kind !== 'command') throw new Error(`the work is ${work.kind}`);
    const first = work.plan('x');
    list.push('two');
    expect([first.args, work.plan('x').args]).toEqual([['one'], ['one', 'two']]);
  });

  it.each([
    [{ args: () => 'one' }, 'args() of the tool must return an array of strings without NUL, and at once.'],
    [{ args: () => ['hush', 7] }, 'args() of the tool must return an array of strings without NUL, and at once.'],
    [{ args: () => ['hush\0'] }, 'args() of the tool must return an array of strings without NUL, and at once.'],
    [
      { args: () => Promise.reject(new Error('hush')) },
      'args() of the tool must return an array of strings without NUL, and at once.',
    ],
    [{ stdin: () => 7 }, 'stdin() of the tool must return a string, a Uint8Array, a Readable or null, and at once.'],
    [{ cwd: () => '' }, 'cwd() of the tool must return a path, and at once.'],
    [{ env: { set: () => ({ A: 'hush\0' }) } }, 'env.set() of the tool must return an object of strings'],
  ])('is refused for %o in words that hold no argument', (over, words) => {
    expect(() => planOf(over)).toThrow(words);
    expect(() => planOf(over)).not.toThrow(/hush/);
  });

  it('opens no stream when anything else of the plan is refused', () => {
    let opened = 0;
    const stdin = () => {
      opened += 1;
      return Readable.from(['x']);
    };
    for (const over of [{ args: () => 7 }, { cwd: () => 7 }, { env: { set: () => 7 } }])
      expect(() => planOf({ ...over, stdin })).toThrow('at once');
    expect(opened).toBe(0);
  });

  it('tells of what a function threw the kind alone', () => {
    const args = () => {
      throw new RangeError('no such user: hush');
    };
    expect(() => planOf({ args })).toThrow(/^args\(\) of the tool threw a RangeError\.$/);
  });

  it('for any arguments without NUL hands on exactly those', () => {
    const argument = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(argument), (args) => {
        expect(planOf({ args: () => args }).args).toEqual(args);
      }),
    );
  });
});
