/**
 * The command line, read once into a frozen order.
 *
 * Invariants: total: every argument list yields an order or a message for the user, never a throw; what follows `--` of
 * `exec` is the command's and is not looked at. Deliberately absent: reading files, standard input and the environment,
 * which happens when the order is carried out.
 */
import { parseArgs } from 'node:util';

/** What holds for every request the binary makes. */
export interface RequestOrder {
  readonly runTimeoutMs: number | null;
  readonly operationTimeoutMs: number | null;
  readonly graceMs: number | null;
  readonly effects: 'none' | 'opaque';
  /** Names of variables of the environment whose values are shown nowhere. */
  readonly secretEnv: readonly string[];
  readonly json: boolean;
}
export interface RunOrder extends RequestOrder {
  readonly kind: 'run';
  readonly module: string;
  readonly exportName: string;
  /** As written: JSON text, `@FILE` or `-`; null when not given. */
  readonly input: string | null;
}
export interface ExecOrder extends RequestOrder {
  readonly kind: 'exec';
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
  readonly okExitCodes: readonly number[];
  /** Whether the command reads the standard input of the binary. */
  readonly stdin: boolean;
  /** Whether standard output carries the command's instead of the value. */
  readonly passthrough: boolean;
}
export type Order =
  | RunOrder
  | ExecOrder
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string };

/** Commands that have their name already and their work not yet. */
const LATER = new Set(['log', 'recover']);

const COMMON_OPTIONS = {
  'run-timeout': { type: 'string' },
  'operation-timeout': { type: 'string' },
  grace: { type: 'string' },
  effects: { type: 'string' },
  'secret-env': { type: 'string', multiple: true },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;
const RUN_OPTIONS = { export: { type: 'string' }, input: { type: 'string' } } as const;
const EXEC_OPTIONS = {
  cwd: { type: 'string' },
  'ok-exit-codes': { type: 'string' },
  stdin: { type: 'boolean' },
  passthrough: { type: 'boolean' },
} as const;
const OPTIONS = { ...COMMON_OPTIONS, ...RUN_OPTIONS, ...EXEC_OPTIONS } as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

/** What the user wrote cannot be carried out. */
class UsageError extends Error {}

/** Reads the arguments that follow the binary's name. */
export function parseCommandLine(argv: readonly string[]): Order {
  const [command] = argv;
  const cut = argv.indexOf('--');
  const own = cut === -1 ? argv : argv.slice(0, cut);
  const rest = cut === -1 ? null : argv.slice(cut + 1);
  try {
    if (command !== undefined && LATER.has(command))
      throw new UsageError(`'${command}' is not available in this version`);
    const { values, positionals } = parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
    if (values.help) return Object.freeze({ kind: 'help' });
    if (values.version) return Object.freeze({ kind: 'version' });
    const [verb, ...words] = positionals;
    if (verb === undefined) throw new UsageError('a command is missing');
    if (verb === 'run') return Object.freeze(runOrder(values, [...words, ...(rest ?? [])]));
    if (verb === 'exec') return Object.freeze(execOrder(values, words, rest));
    throw new UsageError(`'${verb}' is not a command`);
  } catch (error) {
    return Object.freeze({ kind: 'usage', message: firstLine(error) });
  }
}

function runOrder(values: Values, [module, ...more]: readonly string[]): RunOrder {
  refuse(values, EXEC_OPTIONS, 'run');
  if (module === undefined || module === '') throw new UsageError('MODULE is missing');
  if (more.length > 0) throw new UsageError(`unexpected argument '${more[0]}'`);
  if (values.export === '') throw new UsageError('--export takes the name of an export');
  return {
    kind: 'run',
    module,
    exportName: values.export ?? 'default',
    input: values.input ?? null,
    ...requestOrder(values),
  };
}

function execOrder(values: Values, words: readonly string[], command: readonly string[] | null): ExecOrder {
  refuse(values, RUN_OPTIONS, 'exec');
  if (words.length > 0) throw new UsageError(`unexpected argument '${words[0]}'; the command stands after '--'`);
  const [file, ...args] = command ?? [];
  if (file === undefined || file === '') throw new UsageError("a command is missing after '--'");
  if (values.cwd === '') throw new UsageError('--cwd takes a directory');
  if (values.json && values.passthrough)
    throw new UsageError('--json and --passthrough both write to standard output; choose one');
  return {
    kind: 'exec',
    file,
    args: Object.freeze(args),
    cwd: values.cwd ?? null,
    okExitCodes: exitCodes(values['ok-exit-codes'] ?? '0'),
    stdin: values.stdin ?? false,
    passthrough: values.passthrough ?? false,
    ...requestOrder(values),
  };
}

function requestOrder(values: Values): RequestOrder {
  const effects = values.effects ?? 'opaque';
  if (effects !== 'none' && effects !== 'opaque') throw new UsageError(`--effects is none or opaque, not '${effects}'`);
  const secretEnv = values['secret-env'] ?? [];
  if (secretEnv.includes('')) throw new UsageError('--secret-env takes the name of a variable');
  return {
    runTimeoutMs: milliseconds('--run-timeout', values['run-timeout']),
    operationTimeoutMs: milliseconds('--operation-timeout', values['operation-timeout']),
    graceMs: milliseconds('--grace', values.grace),
    effects,
    secretEnv: Object.freeze([...secretEnv]),
    json: values.json ?? false,
  };
}

function refuse(values: Values, foreign: object, verb: string): void {
  const name = Object.keys(foreign).find((option) => option in values);
  if (name !== undefined) throw new UsageError(`'${verb}' takes no --${name}`);
}

function milliseconds(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new UsageError(`${option} takes a positive number of milliseconds, not '${text}'`);
  return value;
}

function exitCodes(text: string): readonly number[] {
  if (!/^\d{1,9}(,\d{1,9})*$/.test(text))
    throw new UsageError(`--ok-exit-codes takes numbers with commas between, such as 0,1, not '${text}'`);
  return Object.freeze(text.split(',').map(Number));
}

/** Node's own messages go on to explain `--`, which helps nobody here. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof UsageError ? message : (message.split(/\.\s|\n/, 1)[0] ?? message);
}
