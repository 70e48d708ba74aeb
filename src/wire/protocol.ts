/**
 * Every message between the host and an isolate, one union per direction, and the words they share in memory.
 *
 * Invariants: a message is a plain record tagged by `t`; each one from an isolate carries the isolate's nonce as `n`,
 * and a record without it is a violation. What was posted first is read first: there is one port.
 * Deliberately absent: how errors become plain (`failure.ts`) and the calls that are awaited (`channel.ts`).
 */
import type { MessagePort } from 'node:worker_threads';
import type { Finding, IntentState } from '../model/result.ts';
import type { Effects } from '../model/tool.ts';
import type { Failure } from './failure.ts';

/** Indices into the isolate's shared `Int32Array`. The host writes STOP and POSTED and credits CREDIT; the isolate writes the rest. */
export const WORD = {
  /** Sequence number of the last lease the isolate has started; 0 before the first. */
  STARTED: 0,
  /** Sequence number of the lease that was told to stop; 0 for none. */
  STOP: 1,
  /** Bytes of output, progress and log lines posted and not yet read by the host: the sum of their `credit`. */
  CREDIT: 2,
  /** Bytes of output the isolate holds back, or has dropped, because the window is full: lost if it ends now. */
  HELD: 3,
  /** Sequence number of the last lease whose run was posted. Set by the host, after the message. */
  POSTED: 4,
} as const;
export const WORDS = 5;

/** Over this much unread output an isolate keeps only the tail, and counts the rest. Bytes. */
export const CREDIT_BYTES = 256 * 1024;

/** At most this many `perform` and blob calls of one isolate are unanswered at once. */
export const MAX_CALLS_IN_FLIGHT = 64;

/** What every isolate is told before it serves. */
export interface InstallTerms {
  readonly nonce: string;
  readonly health: { readonly full: 'sampled' | 'every' };
  /** How much of each stream the isolate keeps while the host does not read. Bytes. */
  readonly tailBytes: number;
}
/** The install task: the one Piscina task an isolate's thread ever runs. It answers `Installed`. */
export interface InstallTask extends InstallTerms {
  readonly port: MessagePort;
  /** A `SharedArrayBuffer` of `WORDS` 32-bit words. */
  readonly words: SharedArrayBuffer;
}
/** Host to a process: its first message. It answers `InstalledMessage`. */
export interface InstallMessage extends InstallTerms {
  readonly t: 'install';
}
export interface Installed {
  readonly threadId: number;
}

/** Names for a tool's eyes: what of the Ctx crosses. */
export interface WireContext {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly trace: { readonly traceparent: string; readonly tracestate?: string };
  /** Remaining time, since clocks differ between threads; null when nothing bounds the run. */
  readonly remainingMs: number | null;
}

/** Host to isolate: start a lease. `seq` is positive and grows by one per lease of this isolate. */
export interface RunMessage {
  readonly t: 'run';
  readonly seq: number;
  readonly module: string;
  readonly exportName: string;
  readonly effects: Effects;
  readonly input: unknown;
  readonly ctx: WireContext;
}
/** Host to isolate: the lease is to stop. STOP is set before this is posted; a process sets it when it reads this. */
export interface StopMessage {
  readonly t: 'stop';
  readonly seq: number;
  readonly kind: string;
  readonly reason: string | null;
}
/** One Comlink message, in either direction. `call`: the isolate asks the host. `hook`: the host asks the isolate. */
export interface CallMessage {
  readonly t: 'call' | 'hook';
  readonly d: unknown;
}
/** Host to a process, which shares no words: what it has read, to be taken off the CREDIT word. */
export interface CreditMessage {
  readonly t: 'credit';
  readonly bytes: number;
}
export type HostMessage = RunMessage | StopMessage | CallMessage | CreditMessage;

/**
 * Isolate to host: the tool runs. Where words are shared, STARTED tells, and this is sent only when the tool has not
 * settled within a turn of the loop; a process sends it before anything of the tool is loaded.
 */
export interface StartedMessage {
  readonly t: 'started';
  readonly n: string;
  readonly seq: number;
}
/**
 * Isolate to host: the tool ended. Posted before anything that user code could spoil.
 * `clean`: the cheap look found nothing and no full look is due; otherwise a `looked` message follows.
 */
export interface SettledMessage {
  readonly t: 'settled';
  readonly n: string;
  readonly seq: number;
  readonly ok: boolean;
  readonly value?: unknown;
  readonly failure?: Failure;
  readonly clean: boolean;
  /** The module exports `reset`, `healthCheck`, or both: the host is to call them by `IsolateHooks`. */
  readonly reset: boolean;
  readonly healthCheck: boolean;
  /** The run was taken back before it began, or its process never started: no user code ran. */
  readonly recalled?: true;
  /** How the process of a command ended. */
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
  /** Milliseconds the run took, by the isolate's clock. */
  readonly ranMs: number;
}
/** Isolate to host: the looks after a lease are over. No finding that condemns means clean. */
export interface LookedMessage {
  readonly t: 'looked';
  readonly n: string;
  readonly seq: number;
  readonly findings: readonly WireFinding[];
  /** Bytes of heap in use, where a full look measured it. */
  readonly heapBytes: number | null;
}
/** A finding before it is decided whether it condemns. */
export type WireFinding = Pick<Finding, 'kind'> & { readonly detail?: string };

/** Isolate to host: bytes written to a stream. `omittedBytes` were dropped just before `bytes`. */
export interface OutputMessage {
  readonly t: 'output';
  readonly n: string;
  readonly seq: number;
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
  readonly omittedBytes: number;
  /** Read after the processes that could write it had been killed. */
  readonly postKill?: true;
  /** What this message took of the window; the host subtracts it from the CREDIT word when it reads the message. */
  readonly credit: number;
}
/** Isolate to host, of a command: nothing more is read. Comes after the last output and before `looked`. */
export interface DrainedMessage {
  readonly t: 'drained';
  readonly n: string;
  readonly seq: number;
  readonly ended: 'eof' | 'quiet' | 'cap';
  readonly ms: number;
  /** Who still held a pipe when reading ended: names of programs, with their pids. */
  readonly holders: readonly string[];
  readonly stdoutEof: boolean;
  readonly stderrEof: boolean;
}
export interface ProgressMessage {
  readonly t: 'progress';
  readonly n: string;
  readonly seq: number;
  readonly value: number | null;
  readonly note?: string;
  readonly credit: number;
}
export interface LogMessage {
  readonly t: 'log';
  readonly n: string;
  readonly seq: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** JSON text, or null. */
  readonly fields: string | null;
  /** Lines dropped just before this one. */
  readonly dropped: number;
  readonly credit: number;
}
/** Isolate to host: an error that nothing caught. The isolate is unfit; `seq` is 0 between leases. */
export interface FatalMessage {
  readonly t: 'fatal';
  readonly n: string;
  readonly seq: number;
  readonly failure: Failure;
}
/** Isolate to host: a child process started or ended, so that the host can end it with the isolate. */
export interface ChildMessage {
  readonly t: 'child';
  readonly n: string;
  readonly pid: number;
  readonly alive: boolean;
}
/** A process to its host: it is ready to serve. Read by its tenure alone, as the next one. */
export interface InstalledMessage {
  readonly t: 'installed';
  readonly n: string;
}
/**
 * A process to its host: the HELD word, when it became zero or is zero no more, and before what may not leave at once.
 * Zero: what was sent before this is all that was written so far. Its credit is of records that have none themselves.
 */
export interface HeldMessage {
  readonly t: 'held';
  readonly n: string;
  readonly bytes: number;
  readonly credit: number;
}
export type IsolateMessage =
  | StartedMessage
  | SettledMessage
  | LookedMessage
  | OutputMessage
  | DrainedMessage
  | ProgressMessage
  | LogMessage
  | FatalMessage
  | ChildMessage
  | (CallMessage & { readonly n: string });

/** What an isolate may ask of the host, by Comlink. Each call names the lease by `seq` and rejects once it is over. */
export interface HostCalls {
  /** Records the intent durably and grants it: the returned key is its idempotency key. Rejects when the effect is refused. */
  dispatch(seq: number, intent: { name: string; key: string | null; onAmbiguous: string }): Promise<string>;
  /** Records how the intent ended. */
  settle(seq: number, name: string, state: Exclude<IntentState, 'dispatched'> | 'open'): Promise<void>;
  putBlob(seq: number, bytes: Uint8Array): Promise<string>;
  getBlob(seq: number, digest: string): Promise<Uint8Array>;
}

/** What the host may ask of an isolate between `settled` and the next lease, by Comlink. */
export interface IsolateHooks {
  /** Calls the module's `reset`, then looks again. */
  reset(seq: number): Promise<{ findings: readonly WireFinding[] }>;
  /** Calls the module's `healthCheck`; rejects with its error. */
  healthCheck(seq: number): Promise<void>;
}
