/**
 * The input that an authorizer is asked about: a copy of the request's own, so that what was shown is what runs.
 *
 * Invariant: neither whoever made the call nor who is asked can change it any more, as far as the platform freezes things;
 * buffers that were to be moved have been. Deliberately
 * absent: requests that nobody is asked about, which copy nothing here.
 */
import { types } from 'node:util';
import { toFailure } from '../wire/failure.ts';
import type { Complaint } from './explain.ts';
import type { Particulars } from './particulars.ts';

export interface AskedInput {
  readonly input: unknown;
  /** The buffers of `input` that are to be moved on. */
  readonly transfer: readonly ArrayBuffer[];
}

/** The copy, or why there is none. */
export function askedInput(
  { tool, transfer }: Pick<Particulars, 'tool' | 'transfer'>,
  input: unknown,
): AskedInput | Complaint {
  try {
    // What stays in the host arrives as it is: a copy that is another kind of object would be another input.
    if (tool.work.kind !== 'module') refuseClasses(input, new Set());
    const copy = structuredClone({ input, transfer }, { transfer: [...transfer] });
    frozen(copy.input);
    return copy;
  } catch (error) {
    const { message, truncated } = toFailure(error, 'NOT_CLONEABLE');
    return { message: `The input cannot be copied before the authorizer is asked: ${message}`, truncated };
  }
}

/** What the authorizer does to objects and lists of its question it does not do to what runs. Bytes, maps and sets cannot be frozen. */
function frozen(input: unknown): void {
  if (typeof input !== 'object' || input === null || ArrayBuffer.isView(input) || Object.isFrozen(input)) return;
  Object.freeze(input);
  for (const part of Object.values(input)) frozen(part);
}

/** @throws TypeError where `input` holds an object that a copy makes a plain one of */
function refuseClasses(input: unknown, seen: Set<object>): void {
  if (typeof input !== 'object' || input === null || seen.has(input) || ArrayBuffer.isView(input)) return;
  seen.add(input);
  if (types.isMap(input)) for (const entry of input) refuseClasses(entry, seen);
  else if (types.isSet(input)) for (const item of input) refuseClasses(item, seen);
  else if (!isCopiedWhole(input)) throw new TypeError('it holds an object of a class.');
  else for (const part of Object.values(input)) refuseClasses(part, seen);
}

/** Plain objects of any realm, lists, and what the platform copies as what it is. */
function isCopiedWhole(x: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(x);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true;
  return Array.isArray(x) || COPIED.some((isKind) => isKind(x));
}
const COPIED = [types.isDate, types.isRegExp, types.isNativeError, types.isAnyArrayBuffer, types.isBoxedPrimitive];
