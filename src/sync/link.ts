/**
 * Link: the thread of a synchronous runner as its caller sees it.
 *
 * Invariants: every wait has a bound and also ends when the thread has told that it goes; what was posted before that is read
 * first; the thread never holds the process open. Deliberately absent: what is asked, and what an answer that does not come means.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, SHARE_ENV, Worker } from 'node:worker_threads';
import { LeaseholdError } from '../model/errors.ts';
import type { SupervisorOptions } from '../model/option-shapes.ts';
import { systemClock } from '../model/time.ts';
import { type FromThread, GONE, SYNC_WORDS, type ThreadSetting, TOLD, type ToThread } from './crossing.ts';

const entryUrl = new URL(`./thread${/\.[^./]+$/.exec(import.meta.url)?.[0] ?? '.js'}`, import.meta.url);

/** What a runner needs of its thread. Milliseconds. */
export interface SyncLink {
  /** False once the thread is known to have ended, or was given up. */
  readonly isAlive: boolean;
  /** Whether the thread has booted, within the time. */
  isReadyWithin(ms: number): boolean;
  /** @throws a DataCloneError when something of it cannot cross */
  post(message: ToThread): void;
  /** Sleeps until a message is accepted; what is not is an answer nobody waits for any more. Null when none came in time. */
  receive<T>(accept: (message: FromThread) => T | null, withinMs: number): T | null;
  /** Ends the thread without waiting for its end. */
  giveUp(): void;
}

export class Link implements SyncLink {
  readonly #port: MessagePort;
  readonly #words = new Int32Array(new SharedArrayBuffer(SYNC_WORDS * Int32Array.BYTES_PER_ELEMENT));
  readonly #worker: Worker;
  #isOver = false;
  #isReady = false;

  /** @throws LeaseholdError `ERR_LEASEHOLD_ENTRY_MISSING` */
  constructor(options: SupervisorOptions) {
    if (!existsSync(fileURLToPath(entryUrl))) {
      throw new LeaseholdError(
        'ENTRY_MISSING',
        `The thread entry of leasehold/sync is missing: ${entryUrl.pathname.split('/').pop()}. A bundler must leave the package external.`,
      );
    }
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: ThreadSetting = { port: port2, words: this.#words, options };
    this.#worker = new Worker(entryUrl, { workerData, transferList: [port2], env: SHARE_ENV, name: 'leasehold-sync' });
    const end = () => {
      this.#isOver = true;
    };
    // Without a listener its error would end this thread.
    this.#worker.on('error', end);
    this.#worker.on('exit', end);
    this.#worker.unref();
  }

  get isAlive(): boolean {
    return !this.#isOver && Atomics.load(this.#words, GONE) === 0;
  }

  isReadyWithin(ms: number): boolean {
    this.#isReady ||= this.receive((message) => message.t === 'ready' || null, ms) !== null;
    return this.#isReady;
  }

  post(message: ToThread): void {
    this.#port.postMessage(message);
  }

  receive<T>(accept: (message: FromThread) => T | null, withinMs: number): T | null {
    const until = systemClock.now() + withinMs;
    for (;;) {
      const told = Atomics.load(this.#words, TOLD);
      const wasAlive = this.isAlive;
      for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
        const accepted = accept(next.message as FromThread);
        if (accepted !== null) return accepted;
      }
      const leftMs = until - systemClock.now();
      if (!wasAlive || leftMs <= 0) return null;
      Atomics.wait(this.#words, TOLD, told, leftMs);
    }
  }

  giveUp(): void {
    this.#isOver = true;
    this.#port.close();
    void this.#worker.terminate();
  }
}
