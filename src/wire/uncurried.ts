/**
 * References to the language taken when this module loads, which in an isolate is before any tool's code.
 *
 * Invariant: what is exported here behaves the same after every global and prototype was patched.
 * Deliberately absent: what only threads have (`workers/references.ts`).
 */

const { bind, call } = Function.prototype;

/** Turns a method into a function of its receiver that later patches of the method, `call` or `bind` do not reach. */
export const uncurry: <This, Args extends readonly unknown[], Result>(
  method: (this: This, ...args: Args) => Result,
) => (self: This, ...args: Args) => Result = bind.bind(call) as never;

export const { apply, ownKeys, getOwnPropertyDescriptor, get: getProperty } = Reflect;
export const { create, defineProperty, freeze, keys } = Object;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { isFinite, isNaN } = Number;
export const { stringify } = JSON;
/** `String` as a function: also takes symbols; throws for some objects. */
export const textOf: (value: unknown) => string = String;
export const sliceText = uncurry(String.prototype.slice);
export const tagOf = uncurry(Object.prototype.toString as (this: unknown) => string);
export const isoOf = uncurry(Date.prototype.toISOString);

/** Adds to the end of a list. An assignment would meet a setter that a tool put on the prototype of all lists. */
export function append<T>(list: T[], item: T): void {
  defineProperty(list, list.length, {
    __proto__: null,
    value: item,
    writable: true,
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor);
}
