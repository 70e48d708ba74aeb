/**
 * Frames: how records cross between processes: four bytes of length, then the record in V8's own serialization. Where it
 * holds views (`views.ts`), the length is marked, four bytes tell that of the value, and the views follow it.
 *
 * Invariants: what comes out is what a structured clone would have been, but that a view takes along only the bytes it
 * shows; or an error before anything was written. Whatever bytes come in, reading them throws nothing and keeps no more
 * than was sent. Buffers are copied.
 * Deliberately absent: what the records mean, and the descriptors they cross by (`workers/frame-link.ts`, `isolate/`).
 */
import v8 from 'node:v8';
import { uncurry } from './uncurried.ts';
import { cloneError, readViews, WrittenViews } from './views.ts';

/** A longer record is refused before it is sent, and one that claims to be longer is no record. Bytes. */
export const MAX_FRAME_BYTES = 512 * 1024 * 1024;
const PREFIX_BYTES = 4;
/** In the last byte of a length: views follow the value. */
const VIEWS_MARK = 0x80;
/** What is set aside for a record before its bytes have come: a length is a claim only. */
const FIRST_BYTES = 64 * 1024;

// Not imported by name: a tool can have what a builtin module exports changed for everybody who imported it.
const { Deserializer, Serializer } = v8;
const { Uint8Array } = globalThis;
const { min } = Math;
const byteLengthOf = uncurry(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'byteLength')?.get as (
    this: Uint8Array,
  ) => number,
);
const setBytes = uncurry(Uint8Array.prototype.set as (this: Uint8Array, source: Uint8Array, at: number) => void);
const partOf = uncurry(Uint8Array.prototype.subarray);
const writeRawBytes = uncurry(Serializer.prototype.writeRawBytes);
const writeHeader = uncurry(Serializer.prototype.writeHeader);
const writeValue = uncurry(Serializer.prototype.writeValue);
const writeUint = uncurry(Serializer.prototype.writeUint32);
const releaseBuffer = uncurry(Serializer.prototype.releaseBuffer);
const treatViewsAsHostObjects = uncurry(
  (Serializer.prototype as unknown as { _setTreatArrayBufferViewsAsHostObjects(isSo: boolean): void })
    ._setTreatArrayBufferViewsAsHostObjects,
);
const readHeader = uncurry(Deserializer.prototype.readHeader);
const readValue = uncurry(Deserializer.prototype.readValue as (this: v8.Deserializer) => unknown);
const readUint = uncurry(Deserializer.prototype.readUint32 as (this: v8.Deserializer) => number);

class RecordSerializer extends Serializer {
  readonly _getDataCloneError = cloneError;
  /** Of the instance, since Node looks for them along the prototypes. Memory and handles stay in their process. */
  readonly _getSharedArrayBufferId = (): never => {
    throw cloneError('#<SharedArrayBuffer> could not be cloned.');
  };
  readonly views = new WrittenViews();
  /** Of all else that is not the language's own, too. */
  readonly _writeHostObject = (object: unknown): void => writeUint(this, this.views.add(object));
}

class RecordDeserializer extends Deserializer {
  readonly #views: readonly ArrayBufferView[];
  constructor(bytes: Uint8Array, views: readonly ArrayBufferView[]) {
    super(bytes);
    this.#views = views;
  }
  readonly _readHostObject = (): unknown => this.#views[readUint(this)];
}

/** The frame of a record. @throws `DataCloneError` for what cannot cross, and what a getter of the record throws. */
export function frameOf(record: unknown): Uint8Array {
  const serializer = new RecordSerializer();
  treatViewsAsHostObjects(serializer, true);
  writeRawBytes(serializer, new Uint8Array(PREFIX_BYTES));
  writeHeader(serializer);
  writeValue(serializer, record);
  const { views } = serializer;
  const plain = releaseBuffer(serializer);
  const frame = views.isEmpty ? plain : withViews(partOf(plain, PREFIX_BYTES), views);
  const size = byteLengthOf(frame) - PREFIX_BYTES;
  if (size > MAX_FRAME_BYTES) throw cloneError(`A record of ${size} bytes is too large to be cloned.`);
  setLength(frame, 0, size);
  if (!views.isEmpty) frame[PREFIX_BYTES - 1] = (frame[PREFIX_BYTES - 1] as number) | VIEWS_MARK;
  return frame;
}

function withViews(value: Uint8Array, views: WrittenViews): Uint8Array {
  const serializer = new Serializer();
  writeRawBytes(serializer, new Uint8Array(2 * PREFIX_BYTES));
  writeRawBytes(serializer, value);
  views.writeTo(serializer);
  const frame = releaseBuffer(serializer);
  setLength(frame, PREFIX_BYTES, byteLengthOf(value));
  return frame;
}

function setLength(frame: Uint8Array, from: number, length: number): void {
  for (let at = 0; at < PREFIX_BYTES; at += 1) frame[from + at] = (length >>> (8 * at)) & 0xff;
}
function lengthAt(bytes: Uint8Array): number {
  const { 0: a = 0, 1: b = 0, 2: c = 0, 3: d = 0 } = bytes;
  return a + b * 0x100 + c * 0x10000 + d * 0x1000000;
}

/** Puts records together from the bytes of one stream. */
export class FrameReader {
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  /** Bytes of the frame at hand that are here, its prefix included. */
  #have = 0;
  #size = 0;
  #body: Uint8Array | null = null;
  #hasViews = false;
  #broken = false;

  /** A frame has begun and not ended. */
  get isMidway(): boolean {
    return this.#have > 0;
  }
  /** What came was no frame: nothing after it can be read. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** Calls `take` with each record that is complete; undefined stands for one that could not be read. */
  push(chunk: Uint8Array, take: (record: unknown) => void): void {
    const length = byteLengthOf(chunk);
    for (let at = 0; at < length && !this.#broken; ) {
      if (this.#have < PREFIX_BYTES) {
        this.#prefix[this.#have] = chunk[at] as number;
        this.#have += 1;
        at += 1;
        if (this.#have === PREFIX_BYTES) this.#open(take);
        continue;
      }
      const missing = this.#size + PREFIX_BYTES - this.#have;
      const part = partOf(chunk, at, at + min(missing, length - at));
      at += byteLengthOf(part);
      if (byteLengthOf(part) === this.#size) this.#close(part, take);
      else if (this.#keep(part)) this.#close(partOf(this.#body as Uint8Array, 0, this.#size), take);
    }
  }

  #open(take: (record: unknown) => void): void {
    const last = this.#prefix[PREFIX_BYTES - 1] as number;
    this.#hasViews = last >= VIEWS_MARK;
    this.#prefix[PREFIX_BYTES - 1] = last % VIEWS_MARK;
    this.#size = lengthAt(this.#prefix);
    if (this.#size > 0 && this.#size <= MAX_FRAME_BYTES) return;
    this.#broken = true;
    take(undefined);
  }

  /** True when the frame is complete. */
  #keep(part: Uint8Array): boolean {
    const at = this.#have - PREFIX_BYTES;
    const needed = at + byteLengthOf(part);
    let body = this.#body ?? new Uint8Array(min(this.#size, FIRST_BYTES));
    if (needed > byteLengthOf(body)) {
      const wider = new Uint8Array(min(this.#size, needed * 2));
      setBytes(wider, partOf(body, 0, at), 0);
      body = wider;
    }
    setBytes(body, part, at);
    this.#body = body;
    this.#have += byteLengthOf(part);
    return needed === this.#size;
  }

  #close(body: Uint8Array, take: (record: unknown) => void): void {
    this.#have = 0;
    this.#body = null;
    let record: unknown;
    try {
      const deserializer = this.#hasViews ? openWithViews(body) : new Deserializer(body);
      readHeader(deserializer);
      record = readValue(deserializer);
    } catch {
      record = undefined;
    }
    take(record);
  }
}

/** @throws for bytes that hold no views */
function openWithViews(body: Uint8Array): v8.Deserializer {
  const end = PREFIX_BYTES + lengthAt(body);
  const views = readViews(new Deserializer(partOf(body, end, byteLengthOf(body))));
  return new RecordDeserializer(partOf(body, PREFIX_BYTES, end), views);
}
