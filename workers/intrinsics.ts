/**
 * Intrinsics: a snapshot of what every tool in an isolate shares, and what differs from it.
 *
 * Invariants: only data properties are read, so that no lazy global or builtin is made by looking; a comparison is by
 * identity of values and calls no code of a tool unless the tool put a getter in a snapshotted place.
 * Deliberately absent: what a difference means (`decide/condemn.ts` on the host), and symbols other than of the global.
 */
import child_process from 'node:child_process';
import events from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import util from 'node:util';
import worker_threads from 'node:worker_threads';
import type { WireFinding } from '../src/wire/protocol.ts';
import { getOwnPropertyDescriptor, getProperty, keys, ownKeys, textOf } from '../src/wire/uncurried.ts';

const generator = Object.getPrototypeOf(function* () {}.prototype) as object;
const typedArray = Object.getPrototypeOf(Uint8Array) as { prototype: object };

const OBJECTS: readonly (readonly [label: string, object: object])[] = [
  ['Object', Object],
  ['Object.prototype', Object.prototype],
  ['Function.prototype', Function.prototype],
  ['Array', Array],
  ['Array.prototype', Array.prototype],
  ['String', String],
  ['String.prototype', String.prototype],
  ['Number', Number],
  ['Number.prototype', Number.prototype],
  ['Symbol', Symbol],
  ['BigInt', BigInt],
  ['RegExp.prototype', RegExp.prototype],
  ['Date', Date],
  ['Date.prototype', Date.prototype],
  ['Math', Math],
  ['JSON', JSON],
  ['Reflect', Reflect],
  ['Atomics', Atomics],
  ['Promise', Promise],
  ['Promise.prototype', Promise.prototype],
  ['generator', generator],
  ['Map.prototype', Map.prototype],
  ['Set.prototype', Set.prototype],
  ['WeakMap.prototype', WeakMap.prototype],
  ['WeakSet.prototype', WeakSet.prototype],
  ['Error', Error],
  ['Error.prototype', Error.prototype],
  ['ArrayBuffer.prototype', ArrayBuffer.prototype],
  ['TypedArray.prototype', typedArray.prototype],
  ['Buffer', Buffer],
  ['EventTarget.prototype', EventTarget.prototype],
  ['URL.prototype', URL.prototype],
  ['AbortController.prototype', AbortController.prototype],
  ['AbortSignal', AbortSignal],
  ['MessagePort.prototype', MessagePort.prototype],
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
/** Nobody enumerates these three by accident, and polyfills land on them. */
const COUNTED: readonly (readonly [label: string, object: object])[] = [
  ['Object.prototype', Object.prototype],
  ['Array.prototype', Array.prototype],
  ['Function.prototype', Function.prototype],
];
/** The inherited methods of the streams: a tool that replaces them shadows them on the instance. */
const SHADOWABLE = ['write', 'end', 'emit'] as const;

interface Place {
  readonly label: string;
  readonly object: object;
  readonly key: string;
  readonly value: unknown;
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
  for (const [label, object] of OBJECTS) {
    for (const key of ownKeys(object)) {
      if (typeof key !== 'string' || key === 'prepareStackTrace') continue;
      const value: unknown = getOwnPropertyDescriptor(object, key)?.value;
      if (typeof value === 'function') places.push({ label, object, key, value });
    }
  }
  for (const [label, stream] of [
    ['process.stdout', process.stdout],
    ['process.stderr', process.stderr],
  ] as const) {
    for (const key of SHADOWABLE) places.push({ label, object: stream, key, value: getProperty(stream, key) });
  }
  const globals = ownKeys(globalThis);
  for (const key of globals) {
    const value: unknown = typeof key === 'string' ? getOwnPropertyDescriptor(globalThis, key)?.value : undefined;
    if (typeof value === 'function' || (typeof value === 'object' && value !== null)) {
      places.push({ label: 'globalThis', object: globalThis, key: key as string, value });
    }
  }
  const known = Object.create(null) as Record<PropertyKey, true>;
  for (const key of globals) known[key] = true;
  const counts = COUNTED.map(([, object]) => ownKeys(object).length);
  const prepareStackTrace: unknown = getProperty(Error, 'prepareStackTrace');

  const addedGlobals = (): WireFinding[] => {
    const findings: WireFinding[] = [];
    const present = ownKeys(globalThis);
    for (let at = 0; at < present.length; at += 1) {
      const key = present[at] as PropertyKey;
      if (known[key] === true) continue;
      const kind = typeof key === 'symbol' ? 'global-symbol-added' : 'global-added';
      findings[findings.length] = { kind, detail: textOf(key) };
    }
    return findings;
  };

  return {
    addedGlobals,
    compare() {
      const findings: WireFinding[] = [];
      const found = (kind: WireFinding['kind'], detail: string): void => {
        if (findings.length < 16) findings[findings.length] = { kind, detail };
      };
      for (let at = 0; at < places.length; at += 1) {
        const place = places[at] as Place;
        if (!holds(place)) found('intrinsic-changed', `${place.label}.${place.key}`);
      }
      for (let at = 0; at < COUNTED.length; at += 1) {
        const counted = COUNTED[at] as (typeof COUNTED)[number];
        if (ownKeys(counted[1]).length !== counts[at]) found('intrinsic-changed', `${counted[0]}: other keys`);
      }
      if (getProperty(Error, 'prepareStackTrace') !== prepareStackTrace)
        found('prepare-stack-trace-changed', 'Error.prepareStackTrace');
      return findings;
    },
  };
}

function holds(place: Place): boolean {
  try {
    return (place.object as Record<string, unknown>)[place.key] === place.value;
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

/** Remembers the environment as it is. */
export function snapshotEnv(): Environment {
  const { env } = process;
  const names = keys(env);
  const values = names.map((name) => env[name]);
  return {
    restore() {
      const findings: WireFinding[] = [];
      if (process.env !== env) process.env = env;
      let present = 0;
      for (let at = 0; at < names.length; at += 1) {
        const name = names[at] as string;
        if (env[name] === values[at]) {
          present += 1;
          continue;
        }
        env[name] = values[at];
        findings[findings.length] = { kind: 'env-changed', detail: name };
      }
      const now = keys(env);
      if (present === names.length && now.length === names.length) return findings;
      for (let at = 0; at < now.length; at += 1) {
        const name = now[at] as string;
        let ours = false;
        for (let of = 0; of < names.length && !ours; of += 1) ours = names[of] === name;
        if (ours) continue;
        delete env[name];
        findings[findings.length] = { kind: 'env-changed', detail: name };
      }
      return findings;
    },
  };
}
