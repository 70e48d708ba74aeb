/**
 * NodeProcessTenure: the hold of one Node process, from its start until nothing of it is left.
 *
 * Invariants: its group is killed as soon as it has ended; how it ended is told after its last record and the first
 * search, whatever that found; `onExit` comes only once it is verified that nothing it started lives on.
 * Deliberately absent: its records (`node-process-link.ts`), and why it is ended.
 */
import { LeaseholdError } from '../model/errors.ts';
import { mintNonce } from '../model/ids.ts';
import type { Clock, Timer } from '../model/time.ts';
import type { ProcessBackend, ProcessRequest, RunningProcess } from '../process/backend.ts';
import { Clearance } from '../process/clearance.ts';
import { PipeDrain, POST_KILL_DRAIN } from '../process/drain.ts';
import { ProcessGroup } from '../process/group.ts';
import { afterPoll } from '../process/poll.ts';
import type { InstallTerms, OutputMessage } from '../wire/protocol.ts';
import { FatalText } from './node-process-fatal.ts';
import { ProcessLink } from './node-process-link.ts';
import type { Tenure, TenureExit, TenureListener, TenureMessage } from './tenure.ts';

export interface NodeProcessSetting {
  readonly clock: Clock;
  readonly backend: ProcessBackend;
  readonly sweepMs: number;
  readonly bootMs: number;
  readonly health: InstallTerms['health'];
  readonly tailBytes: number;
}

/** A process whose link has ended is about to end itself; after this it is ended. Milliseconds. */
const LINKLESS_MS = 500;
/** What a pipe carries at least, on a busy machine too. */
const LEAST_BYTES_A_MS = 16 * 1024;

export class NodeProcessTenure implements Tenure {
  readonly nonce = mintNonce();
  readonly words: Int32Array;
  readonly pid: number | null;
  readonly sharesWords = false;
  readonly poll = afterPoll;
  transitMs = 0;
  readonly installed: Promise<void>;
  readonly #setting: NodeProcessSetting;
  readonly #onGone: () => void;
  readonly #process: RunningProcess;
  readonly #group: ProcessGroup | null;
  readonly #link: ProcessLink;
  readonly #fatal: FatalText;
  #settleInstall!: { resolve: () => void; reject: (error: unknown) => void };
  #phase: 'booting' | 'serving' | 'killed' | 'ended' | 'gone' = 'booting';
  #bootTimer: Timer | null = null;
  #linklessTimer: Timer | null = null;
  #listener: TenureListener | null = null;
  #ended: (Pick<TenureExit, 'code' | 'signal'> & { readonly wasKilled: boolean }) | null = null;
  #drain: PipeDrain | null = null;
  #clearance: Clearance | null = null;
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
        this.#settleInstall.reject(error);
        this.#end({ code: null, signal: null, error });
      },
      onChunk: (stream, bytes) => this.#takeRaw(stream, bytes),
      onEnd: () => this.#noteEnd(),
      onExit: (code, signal) => this.#onEnded(code, signal),
    });
    const { leader, link } = this.#process;
    this.#link = new ProcessLink(this.nonce, link, {
      onInstalled: () => this.#onInstalled(),
      onRecord: (message) => this.#listener?.onRecord(message),
      onBytes: () => this.#drain?.noteChunk(),
      // It may go on for long, and nothing of it would be heard.
      onBroken: () => this.#group?.signal('SIGKILL'),
      onEnd: () => this.#onLinkEnd(),
    });
    this.words = this.#link.words;
    this.pid = leader?.pid ?? null;
    this.#fatal = new FatalText(this.pid);
    this.#group = leader === null ? null : new ProcessGroup(backend, leader);
    if (this.#group === null) return;
    this.#bootTimer = clock.setTimeout(() => {
      this.#settleInstall.reject(this.#bootError(`did not boot within ${bootMs} ms`));
      this.terminate();
    }, bootMs);
    this.#link.send({ t: 'install', nonce: this.nonce, health, tailBytes });
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
    const bytes = this.#link.send(message);
    if (message.t === 'run') this.transitMs = bytes / LEAST_BYTES_A_MS;
  }

  receive(): { readonly message: unknown } | undefined {
    return this.#link.receive();
  }

  /** Once it has ended its group was killed, and what is left is being looked for. */
  terminate(): void {
    if (this.#group === null || (this.#phase !== 'booting' && this.#phase !== 'serving')) return;
    this.#phase = 'killed';
    this.#group.signal('SIGKILL');
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
    this.#clearance?.stop();
    this.#drain?.cut();
    this.#link.forsake();
    this.#process.close();
  }

  /** Written to a descriptor past Node's streams: native code, inherited by children, or Node's last words. */
  #takeRaw(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.#drain?.noteChunk();
    if (stream === 'stderr') this.#fatal.push(bytes);
    const { seq } = this.#link;
    if (seq === 0) return;
    const wasKilled = this.#phase === 'killed' || this.#ended?.wasKilled === true;
    const postKill = wasKilled ? ({ postKill: true } as const) : {};
    const whose = { t: 'output', n: this.nonce, seq, stream } as const;
    const record: OutputMessage = { ...whose, bytes, omittedBytes: 0, credit: 0, ...postKill };
    this.#listener?.onRecord(record);
  }

  #onInstalled(): void {
    if (this.#phase !== 'booting') return;
    this.#phase = 'serving';
    this.#disarm();
    this.#settleInstall.resolve();
  }

  #disarm(): void {
    for (const timer of [this.#bootTimer, this.#linklessTimer])
      if (timer !== null) this.#setting.clock.clearTimeout(timer);
  }

  /** With what it wrote: nothing of a tool has run yet. */
  #bootError(how: string): LeaseholdError {
    const { lastWords } = this.#fatal;
    return new LeaseholdError(
      'LEASE_UNAVAILABLE',
      `The isolate ${how}.`,
      lastWords === '' ? {} : { cause: new Error(lastWords) },
    );
  }

  #onLinkEnd(): void {
    if (this.#ended === null)
      this.#linklessTimer = this.#setting.clock.setTimeout(() => this.#group?.signal('SIGKILL'), LINKLESS_MS);
    this.#noteEnd();
  }

  #noteEnd(): void {
    if (this.#link.isAtEnd && this.#process.isRead) this.#drain?.noteEnd();
  }

  #onEnded(code: number | null, signal: string | null): void {
    this.#ended = { code, signal, wasKilled: this.#phase === 'killed' };
    this.#phase = 'ended';
    this.#disarm();
    // What its tools started ends with it.
    this.#group?.signal('SIGKILL');
    this.#drain = new PipeDrain(this.#setting.clock, POST_KILL_DRAIN, () => this.#onRead(code, signal));
    this.#noteEnd();
  }

  /** All it said has been read. */
  #onRead(code: number | null, signal: string | null): void {
    this.#settleInstall.reject(this.#bootError(`ended with ${signal ?? `code ${code}`} while it booted`));
    const { backend, clock, sweepMs } = this.#setting;
    const group = this.#group as ProcessGroup;
    const target = { backend, group, clock, withinMs: sweepMs, isRead: () => this.#process.isRead };
    const exit = { code, signal, error: this.#fatal.errorOf(code, signal) };
    this.#clearance = new Clearance(target, target, {
      onSwept: ({ reason }) => {
        if (reason !== null) this.#listener?.onRemains?.(exit, reason);
      },
      onClear: () => this.#end(exit),
    });
  }

  #end(exit: TenureExit): void {
    if (this.#phase === 'gone') return;
    this.#phase = 'gone';
    this.#exit = exit;
    this.#listener?.onExit(exit);
    this.#onGone();
  }
}
