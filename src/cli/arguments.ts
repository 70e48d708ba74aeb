/**
 * The command line, read once into a frozen order.
 *
 * Invariant: total: every argument list yields an order or a message for the user, never a throw.
 * Deliberately absent: reading files and standard input, which happens when the order is carried out.
 */
import { parseArgs } from 'node:util';

export interface RunOrder {
  readonly kind: 'run';
  readonly module: string;
  readonly exportName: string;
  /** As written: JSON text, `@FILE` or `-`; null when not given. */
  readonly input: string | null;
  readonly runTimeoutMs: number | null;
  readonly operationTimeoutMs: number | null;
  readonly graceMs: number | null;
  readonly effects: 'none' | 'opaque';
  readonly json: boolean;
}
export type Order =
  | RunOrder
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string };

/** Commands that have their name already and their work not yet. */
const LATER = new Set(['exec', 'log', 'recover']);

const OPTIONS = {
  export: { type: 'string' },
  input: { type: 'string' },
  'run-timeout': { type: 'string' },
  'operation-timeout': { type: 'string' },
  grace: { type: 'string' },
  effects: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const usage = (message: string): Order => Object.freeze({ kind: 'usage', message });

/** Reads the arguments that follow the binary's name. */
export function parseCommandLine(argv: readonly string[]): Order {
  const [command] = argv;
  if (command !== undefined && LATER.has(command)) return usage(`'${command}' is not available in this version`);
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    if (values.help) return Object.freeze({ kind: 'help' });
    if (values.version) return Object.freeze({ kind: 'version' });
    const [verb, module, ...rest] = positionals;
    if (verb === undefined) return usage('a command is missing');
    if (verb !== 'run') return usage(`'${verb}' is not a command`);
    if (module === undefined || module === '') return usage('MODULE is missing');
    if (rest.length > 0) return usage(`unexpected argument '${rest[0]}'`);
    if (values.export === '') return usage('--export takes the name of an export');
    const effects = values.effects ?? 'opaque';
    if (effects !== 'none' && effects !== 'opaque') return usage(`--effects is none or opaque, not '${effects}'`);
    return Object.freeze({
      kind: 'run',
      module,
      exportName: values.export ?? 'default',
      input: values.input ?? null,
      runTimeoutMs: milliseconds('--run-timeout', values['run-timeout']),
      operationTimeoutMs: milliseconds('--operation-timeout', values['operation-timeout']),
      graceMs: milliseconds('--grace', values.grace),
      effects,
      json: values.json ?? false,
    });
  } catch (error) {
    return usage(firstLine(error));
  }
}

function milliseconds(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw new TypeError(`${option} takes a positive number of milliseconds, not '${text}'`);
  }
  return value;
}

/** Node's own messages go on to explain `--`, which helps nobody here. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/\.\s|\n/, 1)[0] ?? message;
}
