/**
 * Frames: how records cross between processes: four bytes of length, then the record in V8's own serialization.
 *
 * Invariants: what comes out is what a structured clone would have been, or an error before anything was written;
 * whatever bytes come in, reading them throws nothing and keeps no more than was sent. Buffers are copied.
 * Deliberately absent: what the records mean, and the descriptors they cross by (`workers/frame-link.ts`, `isolate/`).
 */
import v8 from 'node:v8';
import { uncurry } from './uncurried.ts';

/** A longer record is refused before it is sent, and one that claims to be longer is no record. Bytes. */
export const MAX_FRAME_BYTES = 512 * 1024 * 1024;
const PREFIX_BYTES = 4;
/** What is set aside for a record before its bytes have come: a length is a claim only. */
const FIRST_BYTES = 64 * 1024;

// Not imported by name: a tool can have what a builtin module exports changed for everybody who imported it.
const { Deserializer, Serializer } = v8;
const { Uint8Array, DOMException } = globalThis;
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
const releaseBuffer = uncurry(Serializer.prototype.releaseBuffer);
const readHeader = uncurry(Deserializer.prototype.readHeader);
const readValue = uncurry(Deserializer.prototype.readValue as (this: v8.Deserializer) => unknown);

/** V8 calls it as a function. */
function cloneError(message: string): DOMException {
  return new DOMException(message, 'DataCloneError');
}

class RecordSerializer extends Serializer {
  readonly _getDataCloneError = cloneError;
  /** Of the instance, since Node looks for them along the prototypes. Memory and handles stay in their process. */
  readonly _getSharedArrayBufferId = (): never => {
    throw cloneError('#<SharedArrayBuffer> could not be cloned.');
  };
  readonly _writeHostObject = (): never => {
    throw cloneError('An object of the platform could not be cloned.');
  };
}

/** The frame of a record. @throws `DataCloneError` for what cannot cross, and what a getter of the record throws. */
export function frameOf(record: unknown): Uint8Array {
  const serializer = new RecordSerializer();
  writeRawBytes(serializer, new Uint8Array(PREFIX_BYTES));
  writeHeader(serializer);
  writeValue(serializer, record);
  const frame = releaseBuffer(serializer);
  const size = byteLengthOf(frame) - PREFIX_BYTES;
  if (size > MAX_FRAME_BYTES) throw cloneError(`A record of ${size} bytes is too large to be cloned.`);
  for (let at = 0; at < PREFIX_BYTES; at += 1) frame[at] = (size >>> (8 * at)) & 0xff;
  return frame;
}

/** Puts records together from the bytes of one stream. */
export class FrameReader {
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  /** Bytes of the frame at hand that are here, its prefix included. */
  #have = 0;
  #size = 0;
  #body: Uint8Array | null = null;
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
    const { 0: a = 0, 1: b = 0, 2: c = 0, 3: d = 0 } = this.#prefix;
    this.#size = a + b * 0x100 + c * 0x10000 + d * 0x1000000;
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
      const deserializer = new Deserializer(body);
      readHeader(deserializer);
      record = readValue(deserializer);
    } catch {
      record = undefined;
    }
    take(record);
  }
}
