/**
 * Capture: what is written to stdout and stderr in an isolate, sent on as messages of the lease at hand.
 *
 * Invariants: what the window admits is posted at once, so that it precedes a hang; beyond it the last `tailBytes` of a
 * stream are kept, what falls out is counted and told with the bytes that followed it, and bytes stay in order; no tool can
 * end a stream for the next.
 * Deliberately absent: native writes to the descriptors and what children inherit, which no hook in a thread can see;
 * and decoding, limits and redaction, which are the host's.
 */
import { Writable } from 'node:stream';
import { defineProperty, uncurry } from '../src/wire/uncurried.ts';
import type { Outbox } from './outbox.ts';
import { bufferFrom, encodeText, min, setQuietTimeout, Uint8Array } from './references.ts';

/** How often a kept tail asks whether the window opened again. */
const RETRY_MS = 10;
/** Pieces smaller than this wait for more room. */
const PIECE_BYTES = 16 * 1024;

const setBytes = uncurry(Uint8Array.prototype.set as (this: Uint8Array, source: Uint8Array, at: number) => void);
const partOf = uncurry(Uint8Array.prototype.subarray);
const undestroy = uncurry((Writable.prototype as unknown as { _undestroy: (this: Writable) => void })._undestroy);

export interface Capture {
  /** Whose output follows: a lease's `seq`, or 0 for nobody's. */
  attribute(seq: number): void;
  /** Posts what is kept, whatever the window says: the most it can be is `tailBytes` per stream. */
  flush(): void;
}

/** Takes over both streams of this thread for good. */
export function captureOutput(outbox: Outbox, tailBytes: number): Capture {
  let seq = 0;
  let waiting = false;
  const tails = { stdout: new Tail(tailBytes), stderr: new Tail(tailBytes) };

  const send = (stream: 'stdout' | 'stderr', bytes: Uint8Array, omittedBytes: number): void => {
    outbox.post({ t: 'output', seq, stream, bytes, omittedBytes, credit: outbox.charge(bytes.byteLength) });
  };
  const drain = (stream: 'stdout' | 'stderr', force: boolean): void => {
    const tail = tails[stream];
    const room = force ? tail.byteLength : outbox.room();
    if (tail.byteLength === 0 || room < min(tail.byteLength, PIECE_BYTES)) return;
    const omitted = tail.omittedBytes;
    send(stream, tail.take(room), omitted);
    outbox.hold(tails.stdout.size + tails.stderr.size);
  };
  const retry = (): void => {
    if (waiting || tails.stdout.byteLength + tails.stderr.byteLength === 0) return;
    waiting = true;
    setQuietTimeout(() => {
      waiting = false;
      drain('stdout', false);
      drain('stderr', false);
      retry();
    }, RETRY_MS);
  };
  const write = (stream: 'stdout' | 'stderr', chunk: unknown, encoding: BufferEncoding): void => {
    const bytes = toBytes(chunk, encoding);
    const tail = tails[stream];
    if (tail.byteLength === 0 && outbox.room() >= bytes.byteLength) return send(stream, bytes, 0);
    tail.push(bytes);
    outbox.hold(tails.stdout.size + tails.stderr.size);
    drain(stream, false);
    retry();
  };

  override(process.stdout, (chunk, encoding) => write('stdout', chunk, encoding));
  override(process.stderr, (chunk, encoding) => write('stderr', chunk, encoding));
  return {
    attribute(next) {
      seq = next;
    },
    flush() {
      drain('stdout', true);
      drain('stderr', true);
    },
  };
}

function override(stream: NodeJS.WriteStream, take: (chunk: unknown, encoding: BufferEncoding) => void): void {
  const write = (chunk: unknown, encoding: BufferEncoding, done: (error?: Error) => void): void => {
    take(chunk, encoding);
    done();
  };
  defineProperty(stream, '_write', { value: write, writable: true, configurable: true });
  // Without it the stream writes what it gathered piece by piece, through `_write`.
  defineProperty(stream, '_writev', { value: null, writable: true, configurable: true });
  // Who ends or destroys it would do so for every later run. Node opens those of a main thread again, and no others.
  const destroy = (error: Error | null, done: (error: Error | null) => void): void => {
    done(error);
    undestroy(stream);
  };
  defineProperty(stream, '_destroy', { value: destroy, writable: true, configurable: true });
}

/** Bytes in a buffer of exactly their size: a clone takes the whole buffer along. */
function toBytes(chunk: unknown, encoding: BufferEncoding): Uint8Array {
  if (typeof chunk !== 'string') return new Uint8Array(chunk as Uint8Array);
  return encoding === 'utf8' || encoding === 'utf-8' ? encodeText(chunk) : new Uint8Array(bufferFrom(chunk, encoding));
}

/** The last bytes of a stream that found the window full: a ring, made when it is needed. */
class Tail {
  readonly #limit: number;
  #ring: Uint8Array | null = null;
  #start = 0;
  byteLength = 0;
  /** Dropped just before the first byte kept. */
  omittedBytes = 0;
  constructor(limit: number) {
    this.#limit = limit > 0 ? limit : 1;
  }
  /** What is kept, and what was dropped before it. */
  get size(): number {
    return this.byteLength + this.omittedBytes;
  }
  push(bytes: Uint8Array): void {
    const ring = this.#ring ?? new Uint8Array(this.#limit);
    this.#ring = ring;
    const kept = bytes.byteLength > this.#limit ? partOf(bytes, bytes.byteLength - this.#limit) : bytes;
    const over = this.byteLength + kept.byteLength - this.#limit;
    if (over > 0) this.#skip(over);
    this.omittedBytes += bytes.byteLength - kept.byteLength + (over > 0 ? over : 0);
    const at = (this.#start + this.byteLength) % this.#limit;
    const first = min(kept.byteLength, this.#limit - at);
    setBytes(ring, partOf(kept, 0, first), at);
    setBytes(ring, partOf(kept, first), 0);
    this.byteLength += kept.byteLength;
  }
  /** Removes and returns at most `most` bytes. */
  take(most: number): Uint8Array {
    const bytes = new Uint8Array(min(most, this.byteLength));
    const first = min(bytes.byteLength, this.#limit - this.#start);
    const ring = this.#ring as Uint8Array;
    setBytes(bytes, partOf(ring, this.#start, this.#start + first), 0);
    setBytes(bytes, partOf(ring, 0, bytes.byteLength - first), first);
    this.#skip(bytes.byteLength);
    this.omittedBytes = 0;
    if (this.byteLength === 0) this.#ring = null;
    return bytes;
  }
  #skip(count: number): void {
    this.#start = (this.#start + count) % this.#limit;
    this.byteLength -= count;
  }
}
