/**
 * Plain copies: what JSON could hold, of anything, with all text and all values under hidden names passed through a door.
 *
 * Invariants: total, bounded in depth and in objects; a part that cannot be read is hidden whole and leaves its neighbours be.
 * Deliberately absent: prototypes, symbols, and getters that a class has: only what an object owns is looked at.
 */
import { PLACEHOLDER } from './placeholder.ts';

const MAX_DEPTH = 32;
const MAX_OBJECTS = 10_000;
const OF_ERRORS = ['name', 'message', 'cause', 'errors'];

/** What may be seen. */
export interface Door {
  text(s: string): string;
  isHidden(key: string): boolean;
}

export function plainCopy(x: unknown, door: Door): unknown {
  return new Copying(door).copy(x, []);
}

class Copying {
  readonly #door: Door;
  #objects = 0;
  constructor(door: Door) {
    this.#door = door;
  }

  copy(x: unknown, path: readonly object[]): unknown {
    if (typeof x === 'string') return this.#door.text(x);
    if (typeof x === 'number' || typeof x === 'bigint') return this.#number(x);
    if (typeof x === 'boolean' || x == null) return x ?? null;
    if (typeof x !== 'object') return `[${typeof x}]`;
    this.#objects += 1;
    if (path.length >= MAX_DEPTH || this.#objects > MAX_OBJECTS) return '[truncated]';
    if (path.includes(x)) return '[circular]';
    try {
      return this.#object(x, [...path, x]);
    } catch {
      return PLACEHOLDER;
    }
  }

  #object(x: object, path: readonly object[]): unknown {
    if (Array.isArray(x)) return x.map((item) => this.copy(item, path));
    if (ArrayBuffer.isView(x) || x instanceof ArrayBuffer || x instanceof SharedArrayBuffer) return '[bytes]';
    if (x instanceof Set) return [...x].map((item) => this.copy(item, path));
    if (x instanceof Map) {
      return [...x].map(([key, value]) => {
        return [this.copy(key, path), typeof key === 'string' ? this.#under(key, value, path) : this.copy(value, path)];
      });
    }
    const isError = x instanceof Error;
    if (!isError && 'toJSON' in x && typeof x.toJSON === 'function') return this.copy(x.toJSON(), path);
    // An error's own words are not enumerable, and what it has for `toJSON` may show more than they do.
    const names = isError ? new Set([...OF_ERRORS.filter((name) => name in x), ...Object.keys(x)]) : Object.keys(x);
    return Object.fromEntries([...names].map((name) => [this.#door.text(name), this.#member(x, name, path)]));
  }

  #member(x: object, name: string, path: readonly object[]): unknown {
    try {
      return this.#under(name, (x as Readonly<Record<string, unknown>>)[name], path);
    } catch {
      return PLACEHOLDER;
    }
  }

  #under(name: string, value: unknown, path: readonly object[]): unknown {
    return value != null && this.#door.isHidden(name) ? PLACEHOLDER : this.copy(value, path);
  }

  #number(x: number | bigint): unknown {
    const text = String(x);
    if (this.#door.text(text) !== text) return PLACEHOLDER;
    return typeof x === 'bigint' ? text : x;
  }
}
