/**
 * The checks that all options share: known names, durations, counts.
 *
 * Invariant: each either returns the value in its final form or throws a `LeaseholdError` that names the option and
 * what it accepts. Deliberately absent: which options exist, and their defaults.
 */
import { invalidOption, LeaseholdError } from './errors.ts';
import type { Observer } from './event.ts';

/** Refuses options nobody knows. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function refuseUnknown(options: object, known: ReadonlySet<string>, of: string): void {
  for (const name in options) {
    if (known.has(name) || (options as Record<string, unknown>)[name] === undefined) continue;
    throw new LeaseholdError(
      'INVALID_OPTION',
      `Unknown option "${name}" of ${of}; known are ${[...known].join(', ')}.`,
    );
  }
}

/** An object of options, or `{}` when undefined. */
export function optionsObject<T extends object>(name: string, value: T | undefined): Partial<T> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidOption(name, value, 'an object');
  return value;
}

/** The options of one nested object, with unknown ones refused. */
export function nested<T extends object>(name: string, value: T | undefined, known: ReadonlySet<string>): Partial<T> {
  const options = optionsObject<T>(name, value);
  refuseUnknown(options, known, name);
  return options;
}

/** Milliseconds, finite and above 0; `fallback` when undefined. */
export function durationOr<F extends number | null>(name: string, value: unknown, fallback: F): number | F {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value;
  throw invalidOption(name, value, 'a finite number of milliseconds above 0');
}

/** A whole number of `least` to `most`; `fallback` when undefined. */
export function countOr<F extends number | null>(
  name: string,
  value: unknown,
  fallback: F,
  least = 0,
  most = Number.MAX_SAFE_INTEGER,
): number | F {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  const range =
    most === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${least}` : `a whole number of ${least} to ${most}`;
  throw invalidOption(name, value, range);
}

/** One of the given words; `fallback` when undefined. */
export function wordOr<W extends string>(name: string, value: unknown, words: readonly W[], fallback: W): W {
  if (value === undefined) return fallback;
  const found = words.find((word) => word === value);
  if (found === undefined) throw invalidOption(name, value, `one of ${words.map((word) => `'${word}'`).join(', ')}`);
  return found;
}

/** A string of 1 to 256 characters; `fallback` when undefined. */
export function textOr<F extends string | null>(name: string, value: unknown, fallback: F): string | F {
  if (value === undefined) return fallback;
  if (typeof value === 'string' && value.length > 0 && value.length <= 256) return value;
  throw invalidOption(name, value, 'a string of 1 to 256 characters');
}

/** An object with the named methods; null when undefined. */
export function objectOr<T extends object>(
  name: string,
  value: T | undefined,
  methods: readonly (keyof T)[],
): T | null {
  if (value === undefined) return null;
  const fits =
    typeof value === 'object' && value !== null && methods.every((method) => typeof value[method] === 'function');
  if (!fits)
    throw invalidOption(name, value, `an object with ${methods.map((method) => `${String(method)}()`).join(', ')}`);
  return value;
}

/** A function; null when undefined. */
export function functionOr<T>(name: string, value: T | undefined): T | null {
  if (value === undefined) return null;
  if (typeof value !== 'function') throw invalidOption(name, value, 'a function');
  return value;
}

/** An `AbortSignal`, of any realm; null when undefined. */
export function signalOr(name: string, value: unknown): AbortSignal | null {
  if (value === undefined) return null;
  if (typeof value === 'object' && value !== null && 'aborted' in value) {
    const { addEventListener, removeEventListener } = value as Partial<AbortSignal>;
    if (typeof addEventListener === 'function' && typeof removeEventListener === 'function')
      return value as AbortSignal;
  }
  throw invalidOption(name, value, 'an AbortSignal');
}

/** A frozen copy of an array whose every element is accepted; empty when undefined. */
export function listOf<T>(name: string, value: unknown, accepts: (x: unknown) => x is T, of: string): readonly T[] {
  if (value === undefined) return EMPTY;
  if (!Array.isArray(value) || !value.every(accepts)) throw invalidOption(name, value, `an array of ${of}`);
  return Object.freeze([...value]);
}
const EMPTY: readonly never[] = Object.freeze([]);

export const isString = (x: unknown): x is string => typeof x === 'string';

const isObserver = (x: unknown): x is Observer =>
  typeof x === 'object' && x !== null && typeof (x as Partial<Observer>).onEvent === 'function';
export const observersOf = (value: unknown): readonly Observer[] =>
  listOf('observers', value, isObserver, 'objects with onEvent()');
