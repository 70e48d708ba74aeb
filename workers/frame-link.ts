/**
 * FrameLink: the link of an isolate that is a process of its own, over one descriptor shared with its host.
 *
 * Invariants: a record is written at once and without a turn of the loop, as far as the descriptor takes it, so that it
 * precedes a hang; what it does not take leaves in order, before the process exits at the latest; writing and reading use
 * nothing that a tool could have replaced. A process whose host is gone ends, and what it started with it.
 * Deliberately absent: Node's own IPC: there any write to its descriptor, well-formed or not, is acted on by the host. On
 * Windows, untested, records leave by the loop, and a busy loop hears of its deadline only.
 */
import { Socket } from 'node:net';
import { FrameReader, frameOf } from '../src/wire/frames.ts';
import type { HostMessage } from '../src/wire/protocol.ts';
import { getProperty, uncurry } from '../src/wire/uncurried.ts';
import { type Line, openLine } from './line.ts';
import type { Link } from './link.ts';
import { atomicsWait, now, readSync, setQuietTimeout, Uint8Array, writeSync } from './references.ts';

/** How long a record waits in place for a host that reads, once, before it waits in a queue. Milliseconds. */
const PATIENCE_MS = 20;
/** The same for all that is left when the process exits. */
const EXIT_PATIENCE_MS = 1_000;
const RETRY_MS = 1;
/** How often a busy loop that asks whether to stop, or writes, has the descriptor read. */
const POLL_MS = 1;
const CHUNK_BYTES = 64 * 1024;
/**
 * Linux lets a link hold 208 KiB, and counts what it sets aside for each record: with this much beside the bytes of each,
 * less than twice their sum. Up to the sum that is sure, none of them finds the link full, though the host does not read.
 */
const BESIDE_BYTES = 640;
const SURE_BYTES = 96 * 1024;

const partOf = uncurry(Uint8Array.prototype.subarray);
const gate = new Int32Array(new SharedArrayBuffer(4));
const { pid, platform } = process;
const kill = process.kill.bind(process);
/** A pipe of Windows may block whoever reads or writes it past the loop, and then both. */
const isSynchronous = platform !== 'win32';
const exitAtOnce = (process as unknown as { reallyExit(code: number): never }).reallyExit.bind(process);

export interface FrameLink extends Link {
  /** Hears each message when it is read, before it is its turn. */
  peek: (message: HostMessage) => void;
  /** Reads what is here, so that it is peeked at; its turn comes later. */
  readonly look: () => void;
}

/** Opens the link; the descriptor keeps the process alive from now on. */
export function openFrameLink(fd: number): FrameLink {
  const reader = new FrameReader();
  const chunk = new Uint8Array(CHUNK_BYTES);
  const inbox: Line<HostMessage> = openLine();
  let take: (message: HostMessage) => void = () => undefined;
  let polledAt = 0;

  const keep = (record: unknown): void => {
    // The host's own end writes nothing else: a tool got hold of the descriptor.
    if (record === undefined) return endWithHost();
    link.peek(record as HostMessage);
    inbox.add(record as HostMessage);
  };
  const deliver = (): void => {
    for (let message = inbox.first(); message !== null; message = inbox.first()) {
      inbox.drop();
      take(message);
    }
  };
  const isDue = (): boolean => {
    const at = now();
    if (at - polledAt < POLL_MS) return false;
    polledAt = at;
    return true;
  };
  /** Reads what is in the descriptor, without waiting. */
  const pull = (): void => {
    while (isSynchronous) {
      let bytes: number;
      try {
        bytes = readSync(fd, chunk, 0, CHUNK_BYTES, null);
      } catch (error) {
        if (isBusy(error)) return;
        return endWithHost();
      }
      if (bytes === 0) return endWithHost();
      reader.push(partOf(chunk, 0, bytes), keep);
      if (bytes < CHUNK_BYTES) return;
    }
  };

  const socket = new Socket({ fd, readable: true, writable: !isSynchronous });
  const outgoing = isSynchronous ? openOutgoing(fd) : outgoingBy(socket);
  socket.on('data', (bytes: Uint8Array) => {
    reader.push(bytes, keep);
    deliver();
  });
  socket.on('error', endWithHost);
  socket.on('end', endWithHost);
  socket.on('close', endWithHost);
  process.on('exit', () => outgoing.flush(EXIT_PATIENCE_MS));

  const link: FrameLink = {
    sharesWords: false,
    besideBytes: BESIDE_BYTES,
    sureBytes: SURE_BYTES,
    isBehind: outgoing.isBehind,
    peek: () => undefined,
    look: pull,
    send(record, onSize) {
      const frame = frameOf(record);
      onSize?.(frame.byteLength);
      outgoing.send(frame);
    },
    listen(hear) {
      take = hear;
    },
    readNow() {
      pull();
      deliver();
    },
    poll() {
      if (isDue()) link.readNow();
    },
    glance() {
      if (!isDue()) return;
      pull();
      if (inbox.first() !== null) setQuietTimeout(deliver, 0);
    },
  };
  return link;
}

interface Outgoing {
  send(frame: Uint8Array): void;
  /** Writes what waits, for at most this long. */
  flush(patienceMs: number): void;
  /** Writes what waits, as far as that goes at once; whether something still waits. */
  readonly isBehind: () => boolean;
}

function openOutgoing(fd: number): Outgoing {
  const waiting: Line<Uint8Array> = openLine();
  /** Of the first that waits. */
  let written = 0;
  let armed = false;

  /** False when the descriptor takes no more now. */
  const write = (): boolean => {
    for (let frame = waiting.first(); frame !== null; frame = waiting.first()) {
      try {
        written += writeSync(fd, frame, written, frame.byteLength - written);
      } catch (error) {
        if (isBusy(error)) return false;
        endWithHost();
        return true;
      }
      if (written < frame.byteLength) continue;
      written = 0;
      waiting.drop();
    }
    return true;
  };
  const flush = (patienceMs: number): void => {
    const until = now() + patienceMs;
    while (!write()) {
      if (now() >= until) return arm();
      atomicsWait(gate, 0, 0, RETRY_MS);
    }
  };
  const arm = (): void => {
    if (armed) return;
    armed = true;
    setQuietTimeout(() => {
      armed = false;
      flush(0);
    }, RETRY_MS);
  };
  return {
    send(frame) {
      // A host that did not read during the patience of one record is not waited for with the next.
      const patienceMs = waiting.first() === null ? PATIENCE_MS : 0;
      waiting.add(frame);
      flush(patienceMs);
    },
    flush,
    isBehind: () => waiting.first() !== null && !write(),
  };
}

function outgoingBy(socket: Socket): Outgoing {
  const write = uncurry(socket.write as (this: Socket, frame: Uint8Array) => boolean);
  return {
    send: (frame) => void write(socket, frame),
    flush: () => undefined,
    isBehind: () => socket.writableLength > 0,
  };
}

function isBusy(error: unknown): boolean {
  const code = getProperty(error as object, 'code');
  return code === 'EAGAIN' || code === 'EINTR';
}

/** Without handlers of exit, which are a tool's: nobody is left to whom anything could be told. */
function endWithHost(): void {
  try {
    kill(isSynchronous ? -pid : pid, 'SIGKILL');
  } catch {
    // It leads no group.
  }
  exitAtOnce(1);
}
