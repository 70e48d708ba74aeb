/**
 * ProcessLink: the host's end of the link to one Node process: its records, and the words they keep.
 *
 * Invariants: whatever the process writes, nothing here throws, and what is no record is handed on as such; records are
 * told in order, and an answer once the other pipes were read, unless a sweep takes it.
 * Deliberately absent: the process and its end, and what the records mean.
 */
import { writeSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { afterPoll } from '../process/poll.ts';
import { FrameReader, frameOf } from '../wire/frames.ts';
import { type CreditMessage, type InstallMessage, WORD, WORDS } from '../wire/protocol.ts';
import type { TenureMessage } from './tenure.ts';

export interface LinkHearer {
  /** The process is ready to serve. */
  onInstalled(): void;
  onRecord(message: unknown): void;
  /** Bytes came. */
  onBytes(): void;
  /** What came was no frame: nothing after it is heard. */
  onBroken(): void;
  onEnd(): void;
}
type LinkMessage = Exclude<TenureMessage, { t: 'command' | 'inline' }> | InstallMessage | CreditMessage;

/** What was read is told to the isolate when it is worth a message. Bytes. */
const CREDIT_STEP_BYTES = 16 * 1024;

export class ProcessLink {
  /** Of the host alone: the records of the process keep them. */
  readonly words = new Int32Array(WORDS);
  /** The last lease that was posted. */
  seq = 0;
  readonly #nonce: string;
  readonly #link: Duplex | null;
  readonly #hearer: LinkHearer;
  readonly #reader = new FrameReader();
  #inbox: { readonly message: unknown }[] = [];
  #delivery: 'due' | 'after a poll' = 'due';
  #owedBytes = 0;
  #isAtEnd = false;

  /** The hearer is told nothing from within this. */
  constructor(nonce: string, link: Duplex | null, hearer: LinkHearer) {
    this.#nonce = nonce;
    this.#link = link;
    this.#hearer = hearer;
    link?.on('data', (chunk: Uint8Array) => this.#read(chunk));
    for (const end of ['end', 'error', 'close']) link?.on(end, () => this.#end());
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** Returns how many bytes are on their way. @throws DataCloneError when the message cannot be cloned */
  send(message: LinkMessage): number {
    const frame = frameOf(message);
    if (this.#link !== null) writeTo(this.#link, frame);
    if (message.t === 'run') this.seq = message.seq;
    return frame.byteLength;
  }

  receive(): { readonly message: unknown } | undefined {
    return this.#inbox.shift();
  }

  /** Tells of no end from now on. */
  forsake(): void {
    this.#isAtEnd = true;
  }

  #read(chunk: Uint8Array): void {
    this.#hearer.onBytes();
    this.#reader.push(chunk, (message) => {
      if (!this.#isOwn(message)) this.#inbox.push({ message });
    });
    this.#tellCredit();
    this.#deliver();
    if (this.#reader.isBroken) this.#hearer.onBroken();
  }

  #end(): void {
    if (this.#isAtEnd) return;
    this.#isAtEnd = true;
    // A record was cut off, and with it whatever waited behind it.
    if (this.#reader.isMidway) Atomics.store(this.words, WORD.HELD, 1);
    this.#hearer.onEnd();
  }

  /** What is heard may read the rest itself. */
  #deliver(): void {
    for (let next = this.#inbox[0]; next !== undefined && this.#delivery === 'due'; next = this.#inbox[0]) {
      if (this.#isAnswer(next.message)) {
        this.#delivery = 'after a poll';
        afterPoll(() => {
          this.#delivery = 'due';
          const first = this.receive();
          if (first !== undefined) this.#hearer.onRecord(first.message);
          this.#deliver();
        });
        return;
      }
      this.#inbox.shift();
      this.#hearer.onRecord(next.message);
    }
  }

  /** What the tool wrote past Node before it ended may still be in other pipes, and nothing is kept after this record. */
  #isAnswer(message: unknown): boolean {
    const { t, n } = (message ?? {}) as { t?: unknown; n?: unknown };
    return t === 'settled' && n === this.#nonce;
  }

  /** Keeps the words by what a record says of them. True for a record that is for nobody else. */
  #isOwn(message: unknown): boolean {
    if (typeof message !== 'object' || message === null) return false;
    const record = message as Readonly<Record<string, unknown>>;
    if (record['n'] !== this.#nonce) return false;
    switch (record['t']) {
      case 'installed':
        this.#hearer.onInstalled();
        return true;
      case 'held':
        Atomics.store(this.words, WORD.HELD, record['bytes'] === 0 ? 0 : 1);
        if (isCredit(record['credit'])) this.#owedBytes += record['credit'];
        return true;
      case 'started':
        if (record['seq'] === this.seq) Atomics.store(this.words, WORD.STARTED, this.seq);
        return false;
      case 'output':
      case 'progress':
      case 'log': {
        const { credit } = record;
        if (!isCredit(credit)) return false;
        // The isolate's owner takes it off again: the window is kept on the other side.
        Atomics.add(this.words, WORD.CREDIT, credit);
        this.#owedBytes += credit;
      }
    }
    return false;
  }

  #tellCredit(): void {
    if (this.#owedBytes < CREDIT_STEP_BYTES) return;
    this.send({ t: 'credit', bytes: this.#owedBytes });
    this.#owedBytes = 0;
  }
}

/** A stream that cannot write is destroyed with all that was still to be read: a process that ended is written to past it. */
export function writeTo(link: Duplex, frame: Uint8Array): void {
  if (!link.writable) return;
  const { fd = -1 } = (link as { readonly _handle?: { readonly fd?: number } | null })._handle ?? {};
  let written = 0;
  if (fd >= 0 && link.writableLength === 0) {
    try {
      written = writeSync(fd, frame);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
    }
  }
  if (written < frame.byteLength) link.write(frame.subarray(written));
}

function isCredit(credit: unknown): credit is number {
  return typeof credit === 'number' && Number.isSafeInteger(credit) && credit >= 0;
}
