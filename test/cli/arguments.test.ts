/**
 * The command line as an order: what each option means, and what is refused with which words.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/arguments.ts';

const COMMON = {
  runTimeoutMs: null,
  operationTimeoutMs: null,
  graceMs: null,
  effects: 'opaque',
  secretEnv: [],
  log: null,
  json: false,
};
const ORDER = { kind: 'run', module: 'tool.mjs', exportName: 'default', input: null, ...COMMON };
const EXEC = {
  kind: 'exec',
  file: 'ls',
  args: [],
  cwd: null,
  okExitCodes: [0],
  stdin: false,
  passthrough: false,
  ...COMMON,
};

describe('parseCommandLine', () => {
  it('takes a module alone, and then assumes an opaque effect', () => {
    expect(parseCommandLine(['run', 'tool.mjs'])).toEqual(ORDER);
  });

  it('takes every option', () => {
    const line =
      'run tool.mjs --export resize --input {} --run-timeout 50 --operation-timeout 60.5 --grace 7 --effects none --json' +
      ' --secret-env TOKEN --secret-env KEY';
    expect(parseCommandLine(line.split(' '))).toEqual({
      kind: 'run',
      module: 'tool.mjs',
      exportName: 'resize',
      input: '{}',
      runTimeoutMs: 50,
      operationTimeoutMs: 60.5,
      graceMs: 7,
      effects: 'none',
      secretEnv: ['TOKEN', 'KEY'],
      log: null,
      json: true,
    });
  });

  it('reads a single dash as the input from standard input', () => {
    expect(parseCommandLine(['run', 'tool.mjs', '--input', '-'])).toEqual({ ...ORDER, input: '-' });
  });

  it.each([['--help'], ['-h'], ['run --help']])('answers %s with the usage', (line) => {
    expect(parseCommandLine(line.split(' '))).toEqual({ kind: 'help' });
  });

  it('answers --version with the version', () => {
    expect(parseCommandLine(['--version'])).toEqual({ kind: 'version' });
  });

  it.each([
    ['', 'a command is missing'],
    ['walk', "'walk' is not a command"],
    ['run', 'MODULE is missing'],
    ['run a.mjs --export=', '--export takes the name of an export'],
    ['run --json ', 'MODULE is missing'],
    ['run a.mjs b.mjs', "unexpected argument 'b.mjs'"],
    ['run a.mjs --colour', "Unknown option '--colour'"],
    ['run a.mjs --run-timeout soon', "--run-timeout takes a positive number of milliseconds, not 'soon'"],
    ['run a.mjs --grace 0', "--grace takes a positive number of milliseconds, not '0'"],
    ['run a.mjs --operation-timeout=NaN', "--operation-timeout takes a positive number of milliseconds, not 'NaN'"],
    ['run a.mjs --effects some', "--effects is none or opaque, not 'some'"],
    ['run a.mjs --cwd /tmp', "'run' takes no --cwd"],
    ['run a.mjs --secret-env=', '--secret-env takes the name of a variable'],
    ['exec', "a command is missing after '--'"],
    ['exec --', "a command is missing after '--'"],
    ['exec ls', "unexpected argument 'ls'; the command stands after '--'"],
    ['exec ls -- ls', "unexpected argument 'ls'; the command stands after '--'"],
    ['exec --input {} -- ls', "'exec' takes no --input"],
    ['exec --cwd= -- ls', '--cwd takes a directory'],
    ['exec --colour -- ls', "Unknown option '--colour'"],
    ['exec --grace 0 -- ls', "--grace takes a positive number of milliseconds, not '0'"],
    ['exec --ok-exit-codes 0,x -- ls', "--ok-exit-codes takes numbers with commas between, such as 0,1, not '0,x'"],
    ['exec --json --passthrough -- ls', '--json and --passthrough both write to standard output; choose one'],
    ['run a.mjs --log=', '--log takes the file of an event log'],
    ['log', 'FILE is missing'],
    ['log runs.db more', "unexpected argument 'more'"],
    ['log runs.db --apply', "'log' takes no --apply"],
    ['log runs.db --run=', '--run takes the name of a run'],
    ['recover', 'FILE is missing'],
    ['recover runs.db --open', "'recover' takes no --open"],
    ['recover runs.db --log x.db', "'recover' takes no --log"],
  ])("refuses '%s': %s", (line, message) => {
    expect(parseCommandLine(line === '' ? [] : line.split(' '))).toEqual({ kind: 'usage', message });
  });

  it('takes a command with an opaque effect and no standard input', () => {
    expect(parseCommandLine(['exec', '--', 'ls'])).toEqual(EXEC);
  });

  it('takes every option of a command', () => {
    const line =
      'exec --cwd /tmp --ok-exit-codes 0,1,255 --stdin --passthrough --run-timeout 50 --operation-timeout 60 --grace 7' +
      ' --effects none --secret-env TOKEN -- ls';
    expect(parseCommandLine(line.split(' '))).toEqual({
      ...EXEC,
      cwd: '/tmp',
      okExitCodes: [0, 1, 255],
      stdin: true,
      passthrough: true,
      runTimeoutMs: 50,
      operationTimeoutMs: 60,
      graceMs: 7,
      effects: 'none',
      secretEnv: ['TOKEN'],
      log: null,
    });
  });

  it('takes a module after two dashes, as other programs do', () => {
    expect(parseCommandLine(['run', '--', 'tool.mjs'])).toEqual(ORDER);
  });

  it('for any words after two dashes hands them to the command untouched', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom('--', '--json', '-h', '--help', '--cwd', ''));
    fc.assert(
      fc.property(fc.array(word), (args) => {
        expect(parseCommandLine(['exec', '--', 'ls', ...args])).toEqual({ ...EXEC, args });
      }),
    );
  });

  it.each(['run a.mjs', 'exec'])('takes the file of a log: %s', (line) => {
    const order = parseCommandLine([...line.split(' '), '--log', 'runs.db', ...(line === 'exec' ? ['--', 'ls'] : [])]);
    expect(order).toMatchObject({ log: 'runs.db' });
  });

  it('takes what to show of a log, and what to do with it', () => {
    expect(parseCommandLine(['log', 'runs.db', '--run', 'r-1', '--open', '--json'])).toEqual({
      kind: 'log',
      file: 'runs.db',
      run: 'r-1',
      open: true,
      json: true,
    });
    const order = { kind: 'recover', file: 'runs.db', apply: false, json: false };
    expect(parseCommandLine(['recover', 'runs.db'])).toEqual(order);
    expect(parseCommandLine(['recover', '--apply', 'runs.db'])).toEqual({ ...order, apply: true });
  });

  it('for any list of words yields an order and throws nothing', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.string(), fc.constantFrom('run', 'exec', 'log', '--', '--input', '--json', '--open', '-')),
        ),
        (words) => {
          expect(['run', 'exec', 'log', 'help', 'version', 'usage']).toContain(parseCommandLine(words).kind);
        },
      ),
    );
  });
});
