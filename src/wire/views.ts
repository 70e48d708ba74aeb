/**
 * Views: how typed arrays, buffers and data views cross between processes: by the bytes they show, and no others.
 *
 * Invariants: of an array buffer nothing leaves but what a view of the record shows, since the rest may belong to anybody;
 * views that overlap still do on the other side; reading keeps no more than was sent.
 * Deliberately absent: array buffers themselves, which cross whole, apart from their views.
 */
import { types } from 'node:util';
import v8 from 'node:v8';
import { append, getOwnPropertyDescriptor, isView, uncurry } from './uncurried.ts';

const { Deserializer, Serializer } = v8;
const { isSharedArrayBuffer } = types;
const { ArrayBuffer, Map, Uint8Array, DataView, DOMException } = globalThis;
type BytesOf = ArrayBuffer | SharedArrayBuffer;
type Kind = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

const TypedArray = Object.getPrototypeOf(Uint8Array) as { readonly prototype: Uint8Array };
const getter = <T>(of: object, name: PropertyKey) =>
  uncurry(getOwnPropertyDescriptor(of, name)?.get as (this: unknown) => T);
const kindOf = getter<string | undefined>(TypedArray.prototype, Symbol.toStringTag);
const ofArray = openFields(TypedArray.prototype);
const ofDataView = openFields(DataView.prototype);
const setBytes = uncurry(Uint8Array.prototype.set as (this: Uint8Array, source: Uint8Array, at: number) => void);
const sort = uncurry(Array.prototype.sort as <T>(this: T[], compare: (a: T, b: T) => number) => T[]);
const numberOf = uncurry(Map.prototype.get as (this: Map<BytesOf, number>, key: BytesOf) => number | undefined);
const setNumber = uncurry(Map.prototype.set as (this: Map<BytesOf, number>, key: BytesOf, at: number) => unknown);
const writeUint = uncurry(Serializer.prototype.writeUint32);
const writeRaw = uncurry(Serializer.prototype.writeRawBytes);
const readUint = uncurry(Deserializer.prototype.readUint32 as (this: v8.Deserializer) => number);
const readRaw = uncurry(Deserializer.prototype.readRawBytes as (this: v8.Deserializer, length: number) => Uint8Array);

/** The order is part of the format. `DataView` has no name of its own. */
const KINDS = [
  ...['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array'],
  ...['Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'Float16Array', 'DataView'],
].map((name) => ({ name, make: Reflect.get(globalThis, name) as (Kind & { BYTES_PER_ELEMENT?: number }) | undefined }));
/** No element is larger, and each begins at a multiple of its size. */
const ALIGNMENT = 8;

interface Shown {
  readonly kind: number;
  readonly buffer: BytesOf;
  /** Which of the buffers met so far. */
  readonly of: number;
  readonly from: number;
  readonly to: number;
  /** The run of bytes it is in, once those are known. */
  run: Run | null;
}
/** Bytes of one buffer that views show without a gap. */
interface Run {
  readonly at: number;
  readonly buffer: BytesOf;
  readonly from: number;
  to: number;
}

/** The views of one record, in the order in which they are met. */
export class WrittenViews {
  readonly #shown: Shown[] = [];
  readonly #numbers = new Map<BytesOf, number>();
  #buffers = 0;

  get isEmpty(): boolean {
    return this.#shown.length === 0;
  }

  /** Returns by which number it is known. @throws `DataCloneError` for what is no view, or shows what cannot cross */
  add(view: unknown): number {
    if (!isView(view)) throw cloneError('An object of the platform could not be cloned.');
    const name = kindOf(view) ?? 'DataView';
    const { bufferOf, offsetOf, lengthOf } = name === 'DataView' ? ofDataView : ofArray;
    const buffer = bufferOf(view);
    if (isSharedArrayBuffer(buffer)) throw cloneError('#<SharedArrayBuffer> could not be cloned.');
    let kind = 0;
    while (kind < KINDS.length && KINDS[kind]?.name !== name) kind += 1;
    let from: number;
    let to: number;
    try {
      from = offsetOf(view);
      to = from + lengthOf(view);
      // Only of a buffer that is still there.
      new Uint8Array(buffer, from, to - from);
    } catch {
      throw cloneError('An ArrayBuffer is detached and could not be cloned.');
    }
    append(this.#shown, { kind, buffer, of: this.#numberOf(buffer), from, to, run: null });
    return this.#shown.length - 1;
  }

  /** Writes the bytes, and what each view shows of them. */
  writeTo(serializer: v8.Serializer): void {
    const runs = this.#join();
    writeUint(serializer, runs.length);
    for (let at = 0; at < runs.length; at += 1) {
      const { buffer, from, to } = runs[at] as Run;
      writeUint(serializer, from % ALIGNMENT);
      writeUint(serializer, to - from);
      writeRaw(serializer, new Uint8Array(buffer, from, to - from));
    }
    writeUint(serializer, this.#shown.length);
    for (let at = 0; at < this.#shown.length; at += 1) {
      const { kind, from, to, run } = this.#shown[at] as Shown & { run: Run };
      writeUint(serializer, kind);
      writeUint(serializer, run.at);
      writeUint(serializer, from - run.from);
      writeUint(serializer, to - from);
    }
  }

  #numberOf(buffer: BytesOf): number {
    const known = numberOf(this.#numbers, buffer);
    if (known !== undefined) return known;
    setNumber(this.#numbers, buffer, this.#buffers);
    this.#buffers += 1;
    return this.#buffers - 1;
  }

  #join(): Run[] {
    const inOrder: Shown[] = [];
    for (let at = 0; at < this.#shown.length; at += 1) append(inOrder, this.#shown[at] as Shown);
    sort(inOrder, (a, b) => a.of - b.of || a.from - b.from);
    const runs: Run[] = [];
    let run: Run | null = null;
    for (let at = 0; at < inOrder.length; at += 1) {
      const shown = inOrder[at] as Shown;
      const { buffer, from, to } = shown;
      if (run === null || run.buffer !== buffer || from >= run.to) {
        run = { at: runs.length, buffer, from, to };
        append(runs, run);
      }
      if (to > run.to) run.to = to;
      shown.run = run;
    }
    return runs;
  }
}

/** The views that were written, in their order. @throws for bytes that are none */
export function readViews(deserializer: v8.Deserializer): ArrayBufferView[] {
  const runs: { readonly buffer: ArrayBuffer; readonly pad: number }[] = [];
  for (let left = readUint(deserializer); left > 0; left -= 1) {
    const pad = readUint(deserializer) % ALIGNMENT;
    const bytes = readRaw(deserializer, readUint(deserializer));
    const buffer = new ArrayBuffer(pad + ofArray.lengthOf(bytes));
    setBytes(new Uint8Array(buffer), bytes, pad);
    append(runs, { buffer, pad });
  }
  const views: ArrayBufferView[] = [];
  for (let left = readUint(deserializer); left > 0; left -= 1) {
    const { make } = KINDS[readUint(deserializer)] ?? {};
    const run = runs[readUint(deserializer)];
    const from = readUint(deserializer);
    const bytes = readUint(deserializer);
    if (make === undefined || run === undefined) throw new RangeError('no such view');
    append(views, new make(run.buffer, run.pad + from, bytes / (make.BYTES_PER_ELEMENT ?? 1)));
  }
  return views;
}

/** What a tool may have put before the getters does not matter. */
function openFields(prototype: object) {
  return {
    bufferOf: getter<BytesOf>(prototype, 'buffer'),
    offsetOf: getter<number>(prototype, 'byteOffset'),
    lengthOf: getter<number>(prototype, 'byteLength'),
  };
}

/** V8 calls it as a function. */
export function cloneError(message: string): DOMException {
  return new DOMException(message, 'DataCloneError');
}
