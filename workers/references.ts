/**
 * References to the platform taken when this module loads, before any tool's code.
 *
 * Invariant: what serves, looks and posts goes through these and through `src/wire/uncurried.ts`, so that a tool that
 * patches globals and prototypes spoils its own run, never what the isolate says of it.
 * Deliberately absent: a defence against code that means harm. An isolate without permissions is not a security boundary.
 */
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import v8 from 'node:v8';
import threads, { MessagePort } from 'node:worker_threads';
import { uncurry } from '../src/wire/uncurried.ts';

/** Not re-exported: a tool can have what a builtin module exports changed for everybody who imported it. */
export const { getHeapStatistics } = v8;
export const { receiveMessageOnPort, threadId } = threads;
export const { readSync, writeSync } = fs;

export const { clearImmediate, clearTimeout, setImmediate, setTimeout, AbortController, Error, Promise, Uint8Array } =
  globalThis;
export const { add: atomicsAdd, load: atomicsLoad, store: atomicsStore, wait: atomicsWait } = Atomics;
export const { min } = Math;
export const now = performance.now.bind(performance);
export const activeResources = process.getActiveResourcesInfo.bind(process);
export const bufferFrom = Buffer.from.bind(Buffer) as (text: string, encoding: BufferEncoding) => Buffer;

export const postMessage = uncurry(MessagePort.prototype.postMessage as (this: MessagePort, value: unknown) => void);
export const once = uncurry(
  EventEmitter.prototype.once as (this: EventEmitter, name: string, hear: () => void) => EventEmitter,
);

/** Hears of a rejection without `then` being looked up. */
export const onRejected: (promise: Promise<unknown>, hear: (error: unknown) => void) => void = (promise, hear) => {
  then(promise, undefined, hear);
};
const then = uncurry(
  Promise.prototype.then as (this: Promise<unknown>, ok: undefined, hear: (error: unknown) => void) => unknown,
);

const encoder = new TextEncoder();
/** UTF-8 in a buffer of its own: a slice of a pooled one would be cloned with the whole pool. */
export const encodeText = encoder.encode.bind(encoder);

const probe = setTimeout(() => {}, 0);
clearTimeout(probe);
const unref = uncurry(probe.unref);
/** A timer that is not counted among the active resources; the isolate's port keeps its loop alive. */
export function setQuietTimeout(fire: () => void, ms: number): NodeJS.Timeout {
  return unref(setTimeout(fire, ms));
}
