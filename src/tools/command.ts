/**
 * What all tools that run a program have in common: their options, and the plan that is made of one input.
 *
 * Invariants: options are checked when the tool is defined, and what the application's functions return is checked when
 * the plan is made, so nothing unchecked is started; words about either never hold arguments, environment or input.
 * Deliberately absent: which program is run (`process.ts`, `shell.ts`, `powershell.ts`), and running it (`isolate/`).
 */
import { Readable } from 'node:stream';
import { isUint8Array } from 'node:util/types';
import type { z } from 'zod';
import { effectsOf, outputRules, toolTerms } from '../model/define-tool.ts';
import { invalidOption } from '../model/errors.ts';
import { durationOr, listOf, nested, wordOr } from '../model/option-checks.ts';
import type { OutputLimits } from '../model/option-shapes.ts';
import type { OutputRules, Tool, ToolTerms } from '../model/tool.ts';
import type { CommandWork, OnOrphans } from '../model/work.ts';
import { toFailure } from '../wire/failure.ts';

/** What a command that was run to its end is worth. Its output stands in the result's `output`. */
export interface CommandValue {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The options that every tool for a program takes. */
export interface CommandTerms<I extends z.ZodType = z.ZodType> extends ToolTerms<I> {
  /** `none`: may be run again at will. `opaque`: the run itself is one effect on the outside world. */
  readonly effects: 'none' | 'opaque';
  /**
   * An existing directory. Default: the host's. It is entered while the host waits: a mount that does not answer blocks the
   * host.
   */
  readonly cwd?: string | ((input: z.output<I>) => string);
  /**
   * The whole environment: names taken over from the host's (default `INHERITED_ENV`), and variables set beside them.
   * The place for secrets, together with standard input: arguments can be read by every user of the machine.
   */
  readonly env?: {
    readonly inherit?: readonly string[];
    readonly set?: Readonly<Record<string, string>> | ((input: z.output<I>) => Readonly<Record<string, string>>);
  };
  /** Override the supervisor's `output`, field by field. Bytes. */
  readonly output?: Partial<OutputLimits>;
  /** What passing a limit of the output does. Default `'truncate'`. */
  readonly onLimit?: 'truncate' | 'stop';
  /** `'bytes'`: the output in the result holds the bytes beside the text. Default `'utf8'`. */
  readonly encoding?: 'utf8' | 'bytes';
  /** Exit codes that are a success; every other one fails the run. Default `[0]`. */
  readonly okExitCodes?: readonly number[];
  /** What becomes of processes that outlive the program: ended, left, or ended and the run failed. Default `'kill'`. */
  readonly onOrphans?: OnOrphans;
  /**
   * How long what outlives the program may hold its pipes open: without a byte (default 250), and at the longest (default
   * 2 000). Milliseconds.
   */
  readonly drain?: { readonly quietMs?: number; readonly maxMs?: number };
  /** Whether errors may tell the arguments; otherwise they tell their number. Default false. */
  readonly publicArgs?: boolean;
}

/**
 * What is given to a program on standard input; null: nothing, a reader of it sees its end at once. A stream yields strings
 * or bytes; one that breaks before its end stops the program and fails the run with the stream's error, unless the program
 * ended first.
 */
export type StdinContent = Uint8Array | string | Readable | null;

/** The part of a plan that depends on what kind of tool it is. */
export interface Invocation {
  readonly file: string;
  readonly args: readonly string[];
  readonly stdin: StdinContent;
  /** Set beside, and over, what the tool's `env` says. */
  readonly set?: Readonly<Record<string, string>>;
}

const POSIX_ENV = [
  ...['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR'],
  ...['ALL', 'COLLATE', 'CTYPE', 'MESSAGES', 'MONETARY', 'NUMERIC', 'TIME'].map((part) => `LC_${part}`),
];
/** Without these many programs of Windows do not even start. */
const WINDOWS_ENV = [
  ...[
    'SystemRoot',
    'SystemDrive',
    'windir',
    'ComSpec',
    'PATHEXT',
    'TEMP',
    'TMP',
    'USERPROFILE',
    'HOMEDRIVE',
    'HOMEPATH',
  ],
  ...['APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)', 'PROCESSOR_ARCHITECTURE'],
];
/** The names a program takes over from the host's environment when its tool does not say which. */
export const INHERITED_ENV: readonly string[] = Object.freeze(
  process.platform === 'win32' ? [...POSIX_ENV, ...WINDOWS_ENV] : POSIX_ENV,
);

const NAMES = [
  ...['name', 'input', 'runTimeoutMs', 'graceMs', 'secrets', 'effects', 'cwd', 'env', 'output', 'onLimit', 'encoding'],
  ...['okExitCodes', 'onOrphans', 'drain', 'publicArgs'],
];
const ENV: ReadonlySet<string> = new Set(['inherit', 'set']);
const DRAIN: ReadonlySet<string> = new Set(['quietMs', 'maxMs']);
/** Exit codes of Windows have 32 bits. */
const MOST_EXIT_CODE = 2 ** 32 - 1;

/**
 * A tool that runs a program. `own`: the names of the options that only this kind has; `open` checks them and returns what
 * is to be run for one accepted input.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function commandTool<I extends z.ZodType>(
  of: string,
  definition: CommandTerms<I>,
  own: readonly string[],
  open: () => (input: z.output<I>) => Invocation,
  readStderr: OutputRules['readStderr'] = null,
): Tool<z.input<I>, CommandValue> {
  const terms = toolTerms(definition, new Set([...NAMES, ...own]), of);
  const { cwd, publicArgs = false } = definition;
  if (cwd !== undefined && typeof cwd !== 'function' && !isText(cwd))
    throw invalidOption('cwd', cwd, 'a path, or a function that returns one');
  if (typeof publicArgs !== 'boolean') throw invalidOption('publicArgs', publicArgs, 'true or false');
  const env = environment(definition.env);
  const invoke = open();
  const settled = {
    okExitCodes: exitCodes(definition.okExitCodes),
    onOrphans: wordOr('onOrphans', definition.onOrphans, ['kill', 'allow', 'fail'], 'kill'),
    publicArgs,
  };
  const plan = (input: unknown): ReturnType<CommandWork['plan']> => {
    const accepted = input as z.output<I>;
    const directory =
      typeof cwd === 'function' ? computed('cwd', () => cwd(accepted), isText, 'a path') : (cwd ?? null);
    const variables = env.set(input);
    // Last, since it may open a stream, which nobody would close if anything failed afterwards.
    const { file, args, stdin, set } = invoke(accepted);
    return Object.freeze({
      ...settled,
      file,
      args,
      cwd: directory,
      env: Object.freeze({ inherit: env.inherit, set: Object.freeze({ ...variables, ...set }) }),
      stdin,
    });
  };
  return Object.freeze<Tool<z.input<I>, CommandValue>>({
    ...terms,
    work: Object.freeze({ kind: 'command', drain: drainOf(definition.drain), plan }),
    output: null,
    effects: effectsOf(definition.effects, ['none', 'opaque']),
    isolation: 'process',
    permissions: null,
    outputRules: outputRules('output', definition.output, definition, readStderr),
  });
}

/**
 * What a function of the application returns for one input.
 * @throws Error in words of this library alone, when it throws or returns something else
 */
function computed<T>(name: string, compute: () => unknown, accepts: (x: unknown) => x is T, accepted: string): T {
  let value: unknown;
  try {
    value = compute();
  } catch (error) {
    throw new Error(`${name}() of the tool threw a ${toFailure(error, 'TOOL_ERROR').name}.`);
  }
  if (accepts(value)) return value;
  // An asynchronous one is refused, and how it settles interests nobody.
  Promise.resolve(value).catch(() => undefined);
  throw new TypeError(`${name}() of the tool must return ${accepted}, and at once.`);
}

/** A string the system takes: it ends at the first NUL. */
const isPlainText = (x: unknown): x is string => typeof x === 'string' && !x.includes('\0');
export const isText = (x: unknown): x is string => isPlainText(x) && x !== '';

/** The arguments for one input: a frozen copy of what `args` returns; none when it is not given. */
export function argumentsFor<I>(args: ((input: I) => readonly string[]) | null, input: I): readonly string[] {
  if (args === null) return [];
  const isList = (x: unknown): x is string[] => Array.isArray(x) && x.every(isPlainText);
  return Object.freeze([...computed('args', () => args(input), isList, 'an array of strings without NUL')]);
}

/** The script for one input, whether it is the same for all or depends on it. */
export function scriptOf<I>(script: string | ((input: I) => string)): (input: I) => string {
  if (typeof script === 'function') return (input) => computed('script', () => script(input), isText, 'a script');
  if (!isText(script)) throw invalidOption('script', script, 'a script, or a function that returns one');
  return () => script;
}

/** Standard input for one input: what `stdin` returns; none when it is not given. */
export function stdinFor<I>(stdin: ((input: I) => StdinContent) | null, input: I): StdinContent {
  if (stdin === null) return null;
  const accepted = 'a string, a Uint8Array, a Readable or null';
  const content = computed('stdin', () => stdin(input), isStdin, accepted);
  return isStream(content) && !(content instanceof Readable) ? wrapped(content) : content;
}
function isStdin(x: unknown): x is StdinContent {
  return x === null || typeof x === 'string' || isUint8Array(x) || isStream(x);
}
/** One of Node, or of a package that has streams of its own. A stream that cannot be paused would fill the memory. */
function isStream(x: unknown): x is Readable {
  if (x instanceof Readable) return true;
  const stream = typeof x === 'object' && x !== null ? (x as Readonly<Record<string, unknown>>) : {};
  return ['pipe', 'on', 'pause', 'resume'].every((name) => typeof stream[name] === 'function');
}
function wrapped(stream: Readable): Readable {
  const readable = new Readable({
    destroy: (error, done) => {
      if (typeof stream.destroy === 'function') stream.destroy();
      done(error);
    },
  });
  return readable.wrap(stream);
}

function environment<I extends z.ZodType>(given: CommandTerms<I>['env']) {
  const { inherit = INHERITED_ENV, set = {} } = nested('env', given, ENV);
  const accepted = 'an object of strings without NUL';
  if (typeof set !== 'function' && !isVariables(set)) throw invalidOption('env.set', set, accepted);
  const fixed = typeof set === 'function' ? null : Object.freeze({ ...set });
  return {
    inherit: listOf('env.inherit', inherit, isVariableName, 'names of variables'),
    set: (input: unknown): Readonly<Record<string, string>> =>
      fixed ?? computed('env.set', () => (set as (input: unknown) => unknown)(input), isVariables, accepted),
  };
}
const isVariableName = (x: unknown): x is string => isText(x) && !x.includes('=');
function isVariables(x: unknown): x is Record<string, string> {
  if (typeof x !== 'object' || x === null || Array.isArray(x)) return false;
  return Object.entries(x).every(([name, value]) => isVariableName(name) && isPlainText(value));
}

function exitCodes(given: unknown): readonly number[] {
  const isExitCode = (x: unknown): x is number => Number.isInteger(x) && Number(x) >= 0 && Number(x) <= MOST_EXIT_CODE;
  const codes = listOf('okExitCodes', given ?? [0], isExitCode, 'exit codes, whole numbers of at least 0');
  if (codes.length === 0) throw invalidOption('okExitCodes', given, 'an array of at least one exit code');
  return codes;
}

function drainOf(given: CommandTerms['drain']): CommandWork['drain'] {
  const { quietMs, maxMs } = nested<NonNullable<CommandTerms['drain']>>('drain', given, DRAIN);
  const most = durationOr('drain.maxMs', maxMs, 2_000);
  const quiet = durationOr('drain.quietMs', quietMs, Math.min(250, most));
  if (quiet > most) throw invalidOption('drain.quietMs', quiet, 'no longer than drain.maxMs');
  return Object.freeze({ quietMs: quiet, maxMs: most });
}
