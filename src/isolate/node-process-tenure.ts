/**
 * NodeProcessTenure: the hold of one Node process, from its start until nothing of it is left.
 *
 * Invariants: whatever the process writes on its link, nothing here throws, and what is no record is told as such; its
 * group is killed as soon as it has ended; `onExit` comes after its last record, and only once it is verified that
 * nothing it started lives on. Deliberately absent: why it is ended, and what its records mean.
 */
import { LeaseholdError } from '../model/errors.ts';
import { mintNonce } from '../model/ids.ts';
import type { Clock, Timer } from '../model/time.ts';
import type { ProcessBackend, ProcessRequest, RunningProcess } from '../process/backend.ts';
import { PipeDrain, POST_KILL_DRAIN } from '../process/drain.ts';
import { ProcessGroup } from '../process/group.ts';
import { afterPoll } from '../process/poll.ts';
import { Reaper } from '../process/reaper.ts';
import { sweep } from '../process/sweep.ts';
import { FrameReader, frameOf } from '../wire/frames.ts';
import {
  type CreditMessage,
  type InstallMessage,
  type InstallTerms,
  type OutputMessage,
  WORD,
  WORDS,
} from '../wire/protocol.ts';
import { FatalText } from './node-process-fatal.ts';
import type { Tenure, TenureExit, TenureListener, TenureMessage } from './tenure.ts';

export interface NodeProcessSetting {
  readonly clock: Clock;
  readonly backend: ProcessBackend;
  readonly sweepMs: number;
  readonly bootMs: number;
  readonly health: InstallTerms['health'];
  readonly tailBytes: number;
}

/** What was read is told to the isolate when it is worth a message. Bytes. */
const CREDIT_STEP_BYTES = 16 * 1024;
/** A process whose link has ended is about to end itself; after this it is ended. Milliseconds. */
const LINKLESS_MS = 500;
/** What a pipe carries at least, on a busy machine too. */
const LEAST_BYTES_A_MS = 16 * 1024;

export class NodeProcessTenure implements Tenure {
  readonly nonce = mintNonce();
  /** Of the host alone: the records of the process keep them. */
  readonly words = new Int32Array(WORDS);
  readonly sharesWords = false;
  readonly poll = afterPoll;
  transitMs = 0;
  readonly installed: Promise<void>;
  readonly #setting: NodeProcessSetting;
  readonly #onGone: () => void;
  readonly #process: RunningProcess;
  readonly #group: ProcessGroup | null;
  readonly #reader = new FrameReader();
  readonly #fatal = new FatalText();
  #settleInstall!: { resolve: () => void; reject: (error: unknown) => void };
  #bootTimer: Timer | null = null;
  #linklessTimer: Timer | null = null;
  #listener: TenureListener | null = null;
  #inbox: { readonly message: unknown }[] = [];
  /** An answer waits until the pipes were read. A sweep takes it at once. */
  #isHeldBack = false;
  /** The last lease that was posted. */
  #seq = 0;
  #owedBytes = 0;
  #killed = false;
  #ended: Pick<TenureExit, 'code' | 'signal'> | null = null;
  #drain: PipeDrain | null = null;
  #isLinkAtEnd = false;
  #reaper: Reaper | null = null;
  #exit: TenureExit | null = null;

  /** `onGone` is called when the exit has been told. */
  constructor(setting: NodeProcessSetting, request: ProcessRequest, onGone: () => void) {
    const { clock, backend, bootMs, health, tailBytes } = setting;
    this.#setting = setting;
    this.#onGone = onGone;
    this.installed = new Promise<void>((resolve, reject) => {
      this.#settleInstall = { resolve, reject };
    });
    // Whoever listens is told; nobody has to.
    this.installed.catch(() => undefined);
    this.#process = backend.start(request, {
      onFailed: ({ message }) => {
        const error = new LeaseholdError('SPAWN_FAILED', message);
        this.#booted(error);
        this.#end({ code: null, signal: null, error });
      },
      onChunk: (stream, bytes) => this.#takeRaw(stream, bytes),
      onEnd: () => this.#noteEnd(),
      onExit: (code, signal) => this.#onEnded(code, signal),
    });
    const { leader, link } = this.#process;
    this.#group = leader === null ? null : new ProcessGroup(backend, leader);
    if (this.#group === null) return;
    this.#bootTimer = clock.setTimeout(() => {
      this.#booted(new LeaseholdError('LEASE_UNAVAILABLE', `The isolate did not boot within ${bootMs} ms.`));
      this.terminate();
    }, bootMs);
    link?.on('data', (chunk: Uint8Array) => this.#read(chunk));
    for (const end of ['end', 'error', 'close']) link?.on(end, () => this.#onLinkEnd());
    this.#send({ t: 'install', nonce: this.nonce, health, tailBytes });
  }

  get exit(): TenureExit | null {
    return this.#exit;
  }

  listen(listener: TenureListener): void {
    this.#listener = listener;
  }

  /** Buffers are copied, those that were to be moved too. */
  post(message: TenureMessage): void {
    if (message.t === 'command' || message.t === 'inline') throw new TypeError(`a process serves no ${message.t}`);
    const bytes = this.#send(message);
    if (message.t !== 'run') return;
    this.#seq = message.seq;
    this.transitMs = bytes / LEAST_BYTES_A_MS;
  }

  receive(): { readonly message: unknown } | undefined {
    return this.#inbox.shift();
  }

  terminate(): void {
    if (this.#exit !== null || this.#group === null || this.#killed) return;
    this.#killed = true;
    // Once it has ended its group was killed, and what is left is being looked for.
    if (this.#ended === null) this.#group.signal('SIGKILL');
  }

  ref(): void {
    this.#process.ref();
  }
  unref(): void {
    this.#process.unref();
  }
  close(): void {
    this.#process.close();
  }

  /** Stops to look for what is left of it. */
  abandon(): void {
    this.#reaper?.stop();
    this.#drain?.cut();
    this.#isLinkAtEnd = true;
    this.#process.close();
  }

  #send(message: Exclude<TenureMessage, { t: 'command' | 'inline' }> | InstallMessage | CreditMessage): number {
    const frame = frameOf(message);
    const { link } = this.#process;
    if (link?.writable === true) link.write(frame);
    return frame.byteLength;
  }

  #read(chunk: Uint8Array): void {
    this.#drain?.noteChunk();
    this.#reader.push(chunk, (message) => {
      if (!this.#isOwn(message)) this.#inbox.push({ message });
    });
    this.#tellCredit();
    this.#deliver();
    // It may go on for long, and nothing of it would be heard.
    if (this.#reader.isBroken) this.#group?.signal('SIGKILL');
  }

  /** What is heard may read the rest itself. */
  #deliver(): void {
    for (let next = this.#inbox[0]; next !== undefined && !this.#isHeldBack; next = this.#inbox[0]) {
      if (this.#isAnswer(next.message)) {
        this.#isHeldBack = true;
        afterPoll(() => {
          this.#isHeldBack = false;
          const first = this.receive();
          if (first !== undefined) this.#listener?.onRecord(first.message);
          this.#deliver();
        });
        return;
      }
      this.#inbox.shift();
      this.#listener?.onRecord(next.message);
    }
  }

  /** What the tool wrote past Node before it ended may still be in other pipes, and nothing is kept after this record. */
  #isAnswer(message: unknown): boolean {
    const { t, n } = (message ?? {}) as { t?: unknown; n?: unknown };
    return t === 'settled' && n === this.nonce;
  }

  /** Keeps the words by what a record says of them. True for a record that is for this tenure alone. */
  #isOwn(message: unknown): boolean {
    if (typeof message !== 'object' || message === null) return false;
    const record = message as Readonly<Record<string, unknown>>;
    if (record['n'] !== this.nonce) return false;
    switch (record['t']) {
      case 'installed':
        this.#booted(null);
        return true;
      case 'held':
        Atomics.store(this.words, WORD.HELD, record['bytes'] === 0 ? 0 : 1);
        return true;
      case 'started':
        if (record['seq'] === this.#seq) Atomics.store(this.words, WORD.STARTED, this.#seq);
        return false;
      case 'output':
      case 'progress':
      case 'log': {
        const credit = Number(record['credit']);
        if (!(credit >= 0 && credit <= Number.MAX_SAFE_INTEGER)) return false;
        // The isolate's owner takes it off again: the window is kept on the other side.
        Atomics.add(this.words, WORD.CREDIT, credit);
        this.#owedBytes += credit;
      }
    }
    return false;
  }

  #tellCredit(): void {
    if (this.#owedBytes < CREDIT_STEP_BYTES) return;
    this.#send({ t: 'credit', bytes: this.#owedBytes });
    this.#owedBytes = 0;
  }

  /** Written to a descriptor past Node's streams: native code, inherited by children, or Node's last words. */
  #takeRaw(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.#drain?.noteChunk();
    if (stream === 'stderr') this.#fatal.push(bytes);
    if (this.#seq === 0) return;
    const { nonce: n } = this;
    const whose = { t: 'output', n, seq: this.#seq, stream } as const;
    const postKill = this.#killed ? ({ postKill: true } as const) : {};
    const record: OutputMessage = { ...whose, bytes, omittedBytes: 0, credit: 0, ...postKill };
    this.#listener?.onRecord(record);
  }

  #booted(error: unknown): void {
    if (this.#bootTimer !== null) this.#setting.clock.clearTimeout(this.#bootTimer);
    this.#bootTimer = null;
    if (error === null) this.#settleInstall.resolve();
    else this.#settleInstall.reject(error);
  }

  #onLinkEnd(): void {
    if (this.#isLinkAtEnd) return;
    this.#isLinkAtEnd = true;
    // A record was cut off, and with it whatever waited behind it.
    if (this.#reader.isMidway) Atomics.store(this.words, WORD.HELD, 1);
    if (this.#ended === null)
      this.#linklessTimer = this.#setting.clock.setTimeout(() => this.#group?.signal('SIGKILL'), LINKLESS_MS);
    this.#noteEnd();
  }

  #noteEnd(): void {
    if (this.#isLinkAtEnd && this.#process.isRead) this.#drain?.noteEnd();
  }

  #onEnded(code: number | null, signal: string | null): void {
    this.#ended = { code, signal };
    if (this.#linklessTimer !== null) this.#setting.clock.clearTimeout(this.#linklessTimer);
    this.#booted(
      new LeaseholdError('LEASE_UNAVAILABLE', `The process ended with ${signal ?? `code ${code}`} while it booted.`),
    );
    // What its tools started ends with it.
    this.#group?.signal('SIGKILL');
    this.#drain = new PipeDrain(
      this.#setting.clock,
      POST_KILL_DRAIN,
      () => void this.#verify().then((isGone) => this.#conclude(isGone)),
    );
    this.#noteEnd();
  }

  async #verify(): Promise<boolean> {
    const { backend, clock, sweepMs } = this.#setting;
    if (this.#group === null) return true;
    const isRead = () => this.#process.isRead;
    const { verdict } = await sweep({ backend, group: this.#group, clock, withinMs: sweepMs, isRead });
    return verdict !== 'contaminated';
  }

  #conclude(isGone: boolean): void {
    const { code = null, signal = null } = this.#ended ?? {};
    const end = () => this.#end({ code, signal, error: this.#fatal.errorOf(code, signal) });
    if (isGone) end();
    else this.#reaper = new Reaper(this.#setting.clock, () => this.#verify(), end);
  }

  #end(exit: TenureExit): void {
    if (this.#exit !== null) return;
    this.#exit = exit;
    this.#listener?.onExit(exit);
    this.#onGone();
  }
}
