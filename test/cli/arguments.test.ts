/**
 * The command line as an order: what each option means, and what is refused with which words.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/arguments.ts';

const ORDER = {
  kind: 'run',
  module: 'tool.mjs',
  exportName: 'default',
  input: null,
  runTimeoutMs: null,
  operationTimeoutMs: null,
  graceMs: null,
  effects: 'opaque',
  json: false,
};

describe('parseCommandLine', () => {
  it('takes a module alone, and then assumes an opaque effect', () => {
    expect(parseCommandLine(['run', 'tool.mjs'])).toEqual(ORDER);
  });

  it('takes every option', () => {
    const line =
      'run tool.mjs --export resize --input {} --run-timeout 50 --operation-timeout 60.5 --grace 7 --effects none --json';
    expect(parseCommandLine(line.split(' '))).toEqual({
      kind: 'run',
      module: 'tool.mjs',
      exportName: 'resize',
      input: '{}',
      runTimeoutMs: 50,
      operationTimeoutMs: 60.5,
      graceMs: 7,
      effects: 'none',
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
    ['exec -- ls', "'exec' is not available in this version"],
    ['log runs.db', "'log' is not available in this version"],
    ['recover runs.db', "'recover' is not available in this version"],
  ])("refuses '%s': %s", (line, message) => {
    expect(parseCommandLine(line === '' ? [] : line.split(' '))).toEqual({ kind: 'usage', message });
  });

  it('refuses a log on disk, which is not built yet', () => {
    expect(parseCommandLine(['run', 'a.mjs', '--log', 'runs.db'])).toMatchObject({ kind: 'usage' });
  });

  it('for any list of words yields an order and throws nothing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom('run', '--input', '--json', '--grace', '-'))),
        (words) => {
          expect(['run', 'help', 'version', 'usage']).toContain(parseCommandLine(words).kind);
        },
      ),
    );
  });
});
