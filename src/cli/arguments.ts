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
  /** The file of an event log that keeps the record; null: it is kept in memory. */
  readonly log: string | null;
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
/** What a log holds. */
export interface LogOrder {
  readonly kind: 'log';
  readonly file: string;
  readonly run: string | null;
  /** Only attempts without an end, or with an effect without a known one. */
  readonly open: boolean;
  readonly json: boolean;
}
/** What lost hosts left open in a log. */
export interface RecoverOrder {
  readonly kind: 'recover';
  readonly file: string;
  /** Whether it is written, and not only told. */
  readonly apply: boolean;
  readonly json: boolean;
}
export type Order =
  | RunOrder
  | ExecOrder
  | LogOrder
  | RecoverOrder
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string };

const SHARED_OPTIONS = {
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;
const REQUEST_OPTIONS = {
  'run-timeout': { type: 'string' },
  'operation-timeout': { type: 'string' },
  grace: { type: 'string' },
  effects: { type: 'string' },
  'secret-env': { type: 'string', multiple: true },
  log: { type: 'string' },
} as const;
const RUN_OPTIONS = { export: { type: 'string' }, input: { type: 'string' } } as const;
const EXEC_OPTIONS = {
  cwd: { type: 'string' },
  'ok-exit-codes': { type: 'string' },
  stdin: { type: 'boolean' },
  passthrough: { type: 'boolean' },
} as const;
const LOG_OPTIONS = { run: { type: 'string' }, open: { type: 'boolean' } } as const;
const RECOVER_OPTIONS = { apply: { type: 'boolean' } } as const;
/** What each command takes beside the shared ones. */
const TAKEN = {
  run: { ...REQUEST_OPTIONS, ...RUN_OPTIONS },
  exec: { ...REQUEST_OPTIONS, ...EXEC_OPTIONS },
  log: LOG_OPTIONS,
  recover: RECOVER_OPTIONS,
} as const;
const OPTIONS = { ...SHARED_OPTIONS, ...TAKEN.run, ...TAKEN.exec, ...TAKEN.log, ...TAKEN.recover } as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

/** What the user wrote cannot be carried out. */
class UsageError extends Error {}

/** Reads the arguments that follow the binary's name. */
export function parseCommandLine(argv: readonly string[]): Order {
  const cut = argv.indexOf('--');
  const own = cut === -1 ? argv : argv.slice(0, cut);
  const rest = cut === -1 ? null : argv.slice(cut + 1);
  try {
    const { values, positionals } = parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
    if (values.help) return Object.freeze({ kind: 'help' });
    if (values.version) return Object.freeze({ kind: 'version' });
    const [verb, ...words] = positionals;
    if (verb === undefined) throw new UsageError('a command is missing');
    const every = [...words, ...(rest ?? [])];
    switch (verb) {
      case 'run':
        return Object.freeze(runOrder(values, every));
      case 'exec':
        return Object.freeze(execOrder(values, words, rest));
      case 'log':
        return Object.freeze(logOrder(values, every));
      case 'recover':
        return Object.freeze(recoverOrder(values, every));
      default:
        throw new UsageError(`'${verb}' is not a command`);
    }
  } catch (error) {
    return Object.freeze({ kind: 'usage', message: firstLine(error) });
  }
}

function runOrder(values: Values, [module, ...more]: readonly string[]): RunOrder {
  refuseForeign(values, 'run');
  const given = only('MODULE', module, more);
  if (values.export === '') throw new UsageError('--export takes the name of an export');
  return {
    kind: 'run',
    module: given,
    exportName: values.export ?? 'default',
    input: values.input ?? null,
    ...requestOrder(values),
  };
}

function execOrder(values: Values, words: readonly string[], command: readonly string[] | null): ExecOrder {
  refuseForeign(values, 'exec');
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
  if (values.log === '') throw new UsageError('--log takes the file of an event log');
  if (secretEnv.includes('')) throw new UsageError('--secret-env takes the name of a variable');
  return {
    runTimeoutMs: milliseconds('--run-timeout', values['run-timeout']),
    operationTimeoutMs: milliseconds('--operation-timeout', values['operation-timeout']),
    graceMs: milliseconds('--grace', values.grace),
    effects,
    secretEnv: Object.freeze([...secretEnv]),
    log: values.log ?? null,
    json: values.json ?? false,
  };
}

function logOrder(values: Values, [file, ...more]: readonly string[]): LogOrder {
  refuseForeign(values, 'log');
  if (values.run === '') throw new UsageError('--run takes the name of a run');
  return {
    kind: 'log',
    file: only('FILE', file, more),
    run: values.run ?? null,
    open: values.open ?? false,
    json: values.json ?? false,
  };
}

function recoverOrder(values: Values, [file, ...more]: readonly string[]): RecoverOrder {
  refuseForeign(values, 'recover');
  const [apply, json] = [values.apply ?? false, values.json ?? false];
  return { kind: 'recover', file: only('FILE', file, more), apply, json };
}

/** The one argument of a command. */
function only(name: string, given: string | undefined, more: readonly string[]): string {
  if (given === undefined || given === '') throw new UsageError(`${name} is missing`);
  if (more.length > 0) throw new UsageError(`unexpected argument '${more[0]}'`);
  return given;
}

function refuseForeign(values: Values, verb: keyof typeof TAKEN): void {
  const name = Object.keys(values).find((option) => !(option in TAKEN[verb]) && !(option in SHARED_OPTIONS));
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
