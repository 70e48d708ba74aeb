/**
 * Intrinsics: a snapshot of what every tool in an isolate shares, and what differs from it.
 *
 * Invariants: only data properties are read and getters are looked up, never called, so that no lazy global or builtin is
 * made by looking; a comparison is by identity and calls no code of a tool unless the tool put a getter in a snapshotted
 * place; the snapshot, too, is taken without what a module may have patched while it loaded.
 * Deliberately absent: what a difference means (`decide/condemn.ts` on the host), and `crypto`, which looking would load.
 */
import child_process from 'node:child_process';
import events from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import util from 'node:util';
import worker_threads, { isMainThread } from 'node:worker_threads';
import type { WireFinding } from '../src/wire/protocol.ts';
import {
  append,
  create,
  getOwnPropertyDescriptor,
  getProperty,
  keys,
  ownKeys,
  textOf,
  uncurry,
} from '../src/wire/uncurried.ts';

const { getPrototypeOf, isExtensible } = Reflect;
const { getOwnPropertySymbols } = Object;
/** Unlike a descriptor it is made without an allocation. */
const lookupGetter = uncurry(
  (Object.prototype as unknown as { __lookupGetter__(this: object, key: PropertyKey): unknown }).__lookupGetter__,
);

type Labelled = readonly [label: string, object: object];
const above = (object: object): object => getPrototypeOf(object) as object;

/** The language, and classes that are loaded at boot: each constructor, and its prototype where it has one. */
const CLASSES = (
  'Object Function Array String Number Boolean Symbol BigInt RegExp Date Promise Map Set WeakMap WeakSet WeakRef ' +
  'FinalizationRegistry Error ArrayBuffer SharedArrayBuffer DataView Proxy Math JSON Reflect Atomics ' +
  'TextEncoder TextDecoder URL URLSearchParams Event EventTarget AbortController AbortSignal MessagePort'
).split(' ');
/** What has no name of its own. */
const NAMELESS: readonly Labelled[] = [
  ['TypedArray', above(Uint8Array)],
  ['TypedArray.prototype', above(Uint8Array.prototype)],
  ['Iterator.prototype', above(above([][Symbol.iterator]()))],
  ['ArrayIterator.prototype', above([][Symbol.iterator]())],
  ['MapIterator.prototype', above(new Map()[Symbol.iterator]())],
  ['SetIterator.prototype', above(new Set()[Symbol.iterator]())],
  ['StringIterator.prototype', above(''[Symbol.iterator]())],
  ['RegExpStringIterator.prototype', above(''.matchAll(/-/g))],
  ['AsyncFunction.prototype', above(async () => {})],
  ['GeneratorFunction.prototype', above(function* () {})],
  ['Generator.prototype', above(function* () {}.prototype as object)],
  ['AsyncGeneratorFunction.prototype', above(async function* () {})],
  ['AsyncGenerator.prototype', above(async function* () {}.prototype as object)],
  ['AsyncIterator.prototype', above(above(async function* () {}.prototype as object))],
];
/** Objects that the platform itself writes to: only their functions with a name are looked at. */
const PLATFORM: readonly Labelled[] = [
  ['Buffer', Buffer],
  ['EventEmitter.prototype', events.prototype],
  ['process', process],
  ['console', console],
  ['process.stdout', process.stdout],
  ['process.stderr', process.stderr],
  ['fs', fs],
  ['path', path],
  ['child_process', child_process],
  ['worker_threads', worker_threads],
  ['util', util],
];
const LANGUAGE: readonly Labelled[] = [
  ...CLASSES.flatMap((name) => withPrototype(name, getProperty(globalThis, name) as object)),
  ['Intl', Intl],
  ...Object.getOwnPropertyNames(Intl).flatMap((name) =>
    withPrototype(`Intl.${name}`, getProperty(Intl, name) as object),
  ),
  ...NAMELESS,
];
/** The inherited methods of the streams: a tool that replaces them shadows them on the instance. */
const SHADOWABLE = ['write', 'end', 'emit'] as const;

function withPrototype(label: string, object: object): Labelled[] {
  const prototype: unknown = getOwnPropertyDescriptor(object, 'prototype')?.value;
  return typeof prototype === 'object' && prototype !== null
    ? [
        [label, object],
        [`${label}.prototype`, prototype],
      ]
    : [[label, object]];
}

interface Place {
  readonly label: string;
  readonly object: object;
  readonly key: PropertyKey;
  readonly value: unknown;
  readonly getter: boolean;
}
/** An object as a whole: whether it can be added to, and how much was. */
interface Whole {
  readonly label: string;
  readonly object: object;
  /** `null` where the platform adds keys by itself. */
  readonly count: number | null;
  readonly extensible: boolean;
}

export interface Intrinsics {
  /** Keys of the global that are not in the snapshot. */
  addedGlobals(): WireFinding[];
  /** What else differs from the snapshot; at most 16 findings. */
  compare(): WireFinding[];
}

/** Takes the snapshot. */
export function snapshotIntrinsics(): Intrinsics {
  const places: Place[] = [];
  const wholes: Whole[] = [];
  const place = (label: string, object: object, key: PropertyKey, value: unknown, getter = false): void => {
    append(places, { label, object, key, value, getter });
  };
  const whole = (label: string, object: object, count: number | null): void => {
    append(wholes, { label, object, count, extensible: isExtensible(object) });
  };

  for (let at = 0; at < LANGUAGE.length; at += 1) {
    const { 0: label, 1: object } = LANGUAGE[at] as Labelled;
    const own = ownKeys(object);
    // An assigned `prepareStackTrace` is a key of `Error`, and has a finding of its own.
    whole(label, object, object === Error ? null : countKeys(object));
    for (let of = 0; of < own.length; of += 1) {
      const key = own[of] as PropertyKey;
      if (key === 'prepareStackTrace') continue;
      const { value, get, writable } = getOwnPropertyDescriptor(object, key) as PropertyDescriptor;
      if (get !== undefined) place(label, object, key, get, true);
      else if (typeof value === 'function' || typeof key === 'symbol' || writable === true)
        place(label, object, key, value);
    }
  }
  for (let at = 0; at < PLATFORM.length; at += 1) {
    const { 0: label, 1: object } = PLATFORM[at] as Labelled;
    const own = ownKeys(object);
    whole(label, object, null);
    for (let of = 0; of < own.length; of += 1) {
      const key = own[of] as PropertyKey;
      const value: unknown = getOwnPropertyDescriptor(object, key)?.value;
      if (typeof key === 'string' && typeof value === 'function') place(label, object, key, value);
    }
  }
  for (let at = 0; at < SHADOWABLE.length; at += 1) {
    const key = SHADOWABLE[at] as string;
    place('process.stdout', process.stdout, key, getProperty(process.stdout, key));
    place('process.stderr', process.stderr, key, getProperty(process.stderr, key));
  }
  const globals = ownKeys(globalThis);
  const known = create(null) as Record<PropertyKey, true>;
  whole('globalThis', globalThis, null);
  for (let at = 0; at < globals.length; at += 1) {
    const key = globals[at] as PropertyKey;
    known[key] = true;
    const value: unknown = typeof key === 'string' ? getOwnPropertyDescriptor(globalThis, key)?.value : undefined;
    if (typeof value === 'function' || (typeof value === 'object' && value !== null)) {
      place('globalThis', globalThis, key, value);
    }
  }
  const prepareStackTrace: unknown = getProperty(Error, 'prepareStackTrace');

  return {
    addedGlobals() {
      const findings: WireFinding[] = [];
      const present = ownKeys(globalThis);
      for (let at = 0; at < present.length; at += 1) {
        const key = present[at] as PropertyKey;
        if (known[key] === true) continue;
        const kind = typeof key === 'symbol' ? 'global-symbol-added' : 'global-added';
        append(findings, { kind, detail: textOf(key) });
      }
      return findings;
    },
    compare() {
      const findings: WireFinding[] = [];
      const found = (kind: WireFinding['kind'], detail: string): void => {
        if (findings.length < 16) append(findings, { kind, detail });
      };
      for (let at = 0; at < places.length; at += 1) {
        const { label, object, key, value, getter } = places[at] as Place;
        if (holds(object, key, value, getter)) continue;
        found('intrinsic-changed', typeof key === 'symbol' ? `${label}[${textOf(key)}]` : `${label}.${textOf(key)}`);
      }
      for (let at = 0; at < wholes.length; at += 1) {
        const { label, object, count, extensible } = wholes[at] as Whole;
        if (count !== null && countKeys(object) !== count) found('intrinsic-changed', `${label}: other keys`);
        if (isExtensible(object) !== extensible) found('intrinsic-changed', `${label}: not extensible`);
      }
      if (getProperty(Error, 'prepareStackTrace') !== prepareStackTrace)
        found('prepare-stack-trace-changed', 'Error.prepareStackTrace');
      return findings;
    },
  };
}

/**
 * Keys that were assigned, or are symbols: to list all keys of all objects would double the cost of a look. The three
 * that polyfills land on are counted in full.
 */
function countKeys(object: object): number {
  return object === Object.prototype || object === Array.prototype || object === Function.prototype
    ? ownKeys(object).length
    : keys(object).length + getOwnPropertySymbols(object).length;
}

function holds(object: object, key: PropertyKey, value: unknown, getter: boolean): boolean {
  try {
    return (getter ? lookupGetter(object, key) : (object as Record<PropertyKey, unknown>)[key]) === value;
  } catch {
    return false;
  }
}

export interface Environment {
  /** Puts back what differs and tells the names; never the values. */
  restore(): WireFinding[];
}

/** Replaces `process.env` by a plain copy of itself, once: reading the platform's own is a lock and a system call. */
export function installPlainEnv(): void {
  process.env = { ...process.env };
}

const { cwd, chdir, umask } = process;
/** Null where the working directory is the host's, or is gone. */
function ownDirectory(): string | null {
  if (!isMainThread) return null;
  try {
    return cwd();
  } catch {
    return null;
  }
}

/** Remembers the environment as it is, and in a process of its own the working directory and the mask of new files. */
export function snapshotEnv(): Environment {
  const { env } = process;
  const directory = ownDirectory();
  const mask = isMainThread ? umask() : null;
  const names = keys(env);
  const values: (string | undefined)[] = [];
  for (let at = 0; at < names.length; at += 1) values[at] = env[names[at] as string];
  return {
    restore() {
      const findings: WireFinding[] = [];
      if (directory !== null && ownDirectory() !== directory) {
        chdir(directory);
        append(findings, { kind: 'env-changed', detail: 'the working directory' });
      }
      if (mask !== null && umask(mask) !== mask) {
        append(findings, { kind: 'env-changed', detail: 'the mask of new files' });
      }
      if (process.env !== env) process.env = env;
      let present = 0;
      for (let at = 0; at < names.length; at += 1) {
        const name = names[at] as string;
        if (env[name] === values[at]) {
          present += 1;
          continue;
        }
        env[name] = values[at];
        append(findings, { kind: 'env-changed', detail: name });
      }
      const now = keys(env);
      if (present === names.length && now.length === names.length) return findings;
      for (let at = 0; at < now.length; at += 1) {
        const name = now[at] as string;
        let ours = false;
        for (let of = 0; of < names.length && !ours; of += 1) ours = names[of] === name;
        if (ours) continue;
        delete env[name];
        append(findings, { kind: 'env-changed', detail: name });
      }
      return findings;
    },
  };
}
