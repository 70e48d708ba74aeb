/**
 * How any thrown value becomes a plain record, and what the host may conclude from it.
 *
 * Invariant: `toFailure` is total: it never throws, whatever it is given, and what it returns can always be cloned. It
 * is bounded too: a hostile value cannot make it big, though a getter that never returns can hold it.
 * Deliberately absent: redaction, and limits in bytes, which belong to the host (`output/`).
 */
import {
  append,
  create,
  getOwnPropertyDescriptor,
  getProperty,
  isArray,
  isFinite,
  isoOf,
  isView,
  ownKeys,
  sliceText,
  tagOf,
  textOf,
} from './uncurried.ts';

/** A thrown value as plain data. */
export interface Failure {
  readonly code: FailureCode;
  /** `NonError` for what is not an object. */
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: Failure;
  /** Own enumerable JSON-safe properties, at most 32, and `code`; `errors` in words for an aggregate. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** True when the value was an abort error without a cause, or when its cause graph holds the very reason of the abort. */
  readonly ofStop: boolean;
  readonly truncated: boolean;
}
/** The last four are the host's words on a process, a heap or a limit; user code cannot give them. */
export const FAILURE_CODES = [
  'TOOL_ERROR',
  'TOOL_LOAD',
  'NOT_CLONEABLE',
  'UNCAUGHT',
  'SPAWN_FAILED',
  'EXIT_CODE',
  'OUT_OF_MEMORY',
  'OUTPUT_LIMIT',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** No failure tells more causes in a row. */
export const MOST_CAUSES = 8;

/** What is known of a stop when something is thrown. */
export interface KnownStop {
  readonly stopped: boolean;
  /** The reason the tool's signal aborted with; undefined when it did not. */
  readonly reason: unknown;
}

/** Characters, not bytes. */
const LIMITS = {
  name: 256,
  message: 4_096,
  stack: 16_384,
  field: 1_024,
  keys: 32,
  causes: MOST_CAUSES,
  depth: 3,
  nodes: 256,
} as const;

/** Describes a thrown value. Never throws. */
export function toFailure(thrown: unknown, code: FailureCode, stop?: KnownStop): Failure {
  return describe(thrown, code, stop !== undefined && isOfStop(thrown, stop), 0);
}

/** A bounded, JSON-safe copy of any value. Never throws. `truncated`: something was cut or left out. */
export function toPlain(value: unknown): { readonly plain: unknown; readonly truncated: boolean } {
  const budget: Budget = { nodes: LIMITS.nodes, truncated: false };
  return { plain: copy(value, 0, budget), truncated: budget.truncated };
}

interface Budget {
  nodes: number;
  truncated: boolean;
}

function describe(thrown: unknown, code: FailureCode, ofStop: boolean, depth: number): Failure {
  const budget: Budget = { nodes: LIMITS.nodes, truncated: false };
  if (!isObject(thrown)) {
    const message = cut(textOf(thrown), LIMITS.message, budget);
    return { code, name: 'NonError', message, ofStop, truncated: budget.truncated };
  }
  const name = read(thrown, 'name');
  const message = read(thrown, 'message');
  const stack = read(thrown, 'stack');
  const cause = read(thrown, 'cause');
  const fields = fieldsOf(thrown, budget);
  if (cause !== undefined && depth >= LIMITS.causes) budget.truncated = true;
  return {
    code,
    name: cut(typeof name === 'string' && name !== '' ? name : 'Error', LIMITS.name, budget),
    message: cut(typeof message === 'string' ? message : guessText(thrown), LIMITS.message, budget),
    ...(typeof stack === 'string' ? { stack: cut(stack, LIMITS.stack, budget) } : {}),
    ...(cause === undefined || depth >= LIMITS.causes ? {} : { cause: describe(cause, code, false, depth + 1) }),
    ...(fields === null ? {} : { fields }),
    ofStop,
    truncated: budget.truncated,
  };
}

function fieldsOf(thrown: object, budget: Budget): Record<string, unknown> | null {
  const fields = create(null) as Record<string, unknown>;
  let count = 0;
  const code = read(thrown, 'code');
  if (typeof code === 'string') count += put(fields, 'code', code, budget);
  const errors = read(thrown, 'errors');
  if (safely(() => isArray(errors), false)) count += put(fields, 'errors', errors, budget);
  const names = enumerable(thrown);
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    if (name === 'name' || name === 'message' || name === 'stack' || name === 'cause' || name in fields) continue;
    if (count >= LIMITS.keys) {
      budget.truncated = true;
      break;
    }
    count += put(fields, name, read(thrown, name), budget);
  }
  return count === 0 ? null : fields;
}

function put(fields: Record<string, unknown>, name: string, value: unknown, budget: Budget): 1 {
  fields[cut(name, LIMITS.name, budget)] = copy(value, 1, budget);
  return 1;
}

function copy(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'string') return cut(value, LIMITS.field, budget);
  if (typeof value === 'boolean' || value === null) return value;
  // The sum turns the negative zero, which JSON does not know, into zero.
  if (typeof value === 'number') return isFinite(value) ? value + 0 : textOf(value);
  if (!isObject(value)) return value === undefined ? null : cut(textOf(value), LIMITS.field, budget);
  budget.nodes -= 1;
  if (typeof value === 'function' || depth > LIMITS.depth || budget.nodes < 0) {
    budget.truncated = true;
    return typeof value === 'function' ? '[function]' : '[object]';
  }
  const tag = safely(() => tagOf(value), '');
  if (tag === '[object Date]') return safely(() => isoOf(value as Date), 'Invalid Date');
  if (tag === '[object Error]') return cut(`${nameOf(value)}: ${guessText(value)}`, LIMITS.field, budget);
  if (isView(value)) return '[bytes]';
  if (safely(() => isArray(value), false)) return copyList(value, depth, budget);
  const plain = create(null) as Record<string, unknown>;
  const names = enumerable(value);
  for (let at = 0; at < names.length && at < LIMITS.keys; at += 1) {
    const name = names[at] as string;
    plain[cut(name, LIMITS.name, budget)] = copy(read(value, name), depth + 1, budget);
  }
  if (names.length > LIMITS.keys) budget.truncated = true;
  return plain;
}

function copyList(value: object, depth: number, budget: Budget): unknown[] {
  const length = read(value, 'length');
  const plain: unknown[] = [];
  for (let at = 0; typeof length === 'number' && at < length; at += 1) {
    if (at >= LIMITS.keys) {
      budget.truncated = true;
      break;
    }
    plain[at] = copy(read(value, textOf(at)), depth + 1, budget);
  }
  return plain;
}

/** By identity along `cause`, `errors`, `error` and `suppressed`, since Node wraps reasons in errors of its own. */
function isOfStop(thrown: unknown, stop: KnownStop): boolean {
  if (!stop.stopped) return false;
  if (stop.reason !== undefined && holds(thrown, stop.reason)) return true;
  if (!isObject(thrown) || (read(thrown, 'cause') ?? null) !== null) return false;
  return read(thrown, 'name') === 'AbortError' || read(thrown, 'code') === 'ABORT_ERR';
}

function holds(thrown: unknown, reason: unknown): boolean {
  const seen: unknown[] = [thrown];
  const meet = (value: unknown): void => {
    if (!isObject(value) || seen.length >= LIMITS.nodes) return;
    for (let at = 0; at < seen.length; at += 1) if (seen[at] === value) return;
    append(seen, value);
  };
  for (let at = 0; at < seen.length; at += 1) {
    const value = seen[at];
    if (value === reason) return true;
    if (!isObject(value)) continue;
    meet(read(value, 'cause'));
    meet(read(value, 'error'));
    meet(read(value, 'suppressed'));
    const errors = read(value, 'errors');
    if (!isObject(errors)) continue;
    const length = read(errors, 'length');
    for (let of = 0; typeof length === 'number' && of < length && of < LIMITS.nodes; of += 1) {
      meet(read(errors, textOf(of)));
    }
  }
  return false;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function enumerable(value: object): string[] {
  const names: string[] = [];
  const all = safely(() => ownKeys(value), []);
  for (let at = 0; at < all.length && names.length <= LIMITS.keys; at += 1) {
    const name = all[at];
    if (typeof name !== 'string') continue;
    if (safely(() => getOwnPropertyDescriptor(value, name)?.enumerable === true, false)) append(names, name);
  }
  return names;
}

function nameOf(value: object): string {
  const name = read(value, 'name');
  return typeof name === 'string' && name !== '' ? name : 'Error';
}

function guessText(value: object): string {
  const message = read(value, 'message');
  if (typeof message === 'string') return message;
  return typeof value === 'function' ? 'a function' : safely(() => tagOf(value), 'an object');
}

function read(value: object, name: string): unknown {
  return safely(() => getProperty(value, name), undefined);
}

function safely<T>(attempt: () => T, otherwise: T): T {
  try {
    return attempt();
  } catch {
    return otherwise;
  }
}

function cut(text: string, limit: number, budget: Budget): string {
  if (text.length <= limit) return text;
  budget.truncated = true;
  return sliceText(text, 0, limit);
}
