/**
 * Tenure: an isolate's exclusive hold of one thread, process, command or inline call, until its end is seen.
 *
 * Invariants: records arrive in the order they were posted, `exit` after them; `receive` never waits; a tenure is never
 * handed back, only ended. Deliberately absent: what the records mean (`isolate.ts`) and how each kind is made
 * (`thread-pool.ts`, `node-process.ts`, `command.ts`, `inline.ts`). This file holds the seam that fakes implement.
 */
import type { CommandPlan, Hop, InlineWork } from '../model/work.ts';
import type { HostCalls, HostMessage, WireContext } from '../wire/protocol.ts';

/** How what a tenure holds ended. */
export interface TenureExit {
  readonly code: number | null;
  /** Of a process that a signal ended. */
  readonly signal?: string | null;
  /** The error Node reported, if any: `ERR_WORKER_OUT_OF_MEMORY`, or an uncaught error that nothing in the thread could take. */
  readonly error: Error | null;
}

/** Starts a command. It stays in the host: nothing of it is cloned. */
export interface CommandRun {
  readonly t: 'command';
  readonly seq: number;
  readonly plan: CommandPlan;
  /** From the stop until what is left of its group is killed. Milliseconds. */
  readonly graceMs: number;
}
/** Starts an inline call. */
export interface InlineRun {
  readonly t: 'inline';
  readonly seq: number;
  readonly serve: InlineWork['serve'];
  readonly input: unknown;
  readonly ctx: WireContext;
  readonly calls: HostCalls;
  /** @throws (rejects with) LeaseholdError `ERR_LEASEHOLD_DENIED` */
  readonly authorizeHop: (hop: Hop) => Promise<void>;
}
export type TenureMessage = HostMessage | CommandRun | InlineRun;

/** Who hears of a tenure. Never called from within `receive`, `post` or `terminate`. */
export interface TenureListener {
  /** A record came. It is not validated: user code can reach the port. */
  onRecord(record: unknown): void;
  /**
   * It has ended, and left behind what could not be ended so far, or cannot be seen to have: `reason`. All its records were
   * told, or are there for `receive`; `onExit` follows once nothing is left.
   */
  onRemains?(exit: TenureExit, reason: string): void;
  /** The thread is gone. Records it posted may still be there: `receive` until undefined. */
  onExit(exit: TenureExit): void;
}

export interface Tenure {
  /** The shared words, see `WORD` in `wire/protocol.ts`. */
  readonly words: Int32Array;
  readonly nonce: string;
  /** The process that the far side is, or is a part of; null where there is none to have children. */
  readonly pid: number | null;
  /** Resolves when the install task returned; rejects when the boot failed, passed `bootMs`, or the thread died. */
  readonly installed: Promise<void>;
  /** Set once the thread's exit was seen. */
  readonly exit: TenureExit | null;
  listen(listener: TenureListener): void;
  /**
   * Whether the far side sees the words at once. Where it does not, STARTED is set when the far side's own word of it is
   * read, and until then a run that was posted may have begun.
   */
  readonly sharesWords: boolean;
  /** @throws DataCloneError when the message cannot be cloned; nothing is posted then. */
  post(message: TenureMessage, transfer?: readonly ArrayBuffer[]): void;
  /** The next unread record, wrapped, since a record may be anything; undefined when there is none. */
  receive(): { readonly message: unknown } | undefined;
  /** How long what was posted last may be on its way, where it is copied piece by piece. Milliseconds. */
  readonly transitMs: number;
  /** Calls back once what is here already can be read, where that takes turns of the loop; null where `receive` reads all. */
  readonly poll: ((then: () => void) => void) | null;
  /** Issues the kill. `exit` is the only proof of death. */
  terminate(): void;
  /** A ref'ed port holds the process open. */
  ref(): void;
  unref(): void;
  /** Closes the port. Only after the last `receive`. */
  close(): void;
}

/** Where tenures of one kind come from. */
export interface TenureSource {
  /** Starts to boot one; `bootMs` bounds it. Throws a `LeaseholdError` when the thread entry is missing. */
  open(bootMs: number): Tenure;
  /** Ends what is left, bounded by `withinMs`. Every tenure must have been terminated before. */
  close(withinMs: number): Promise<void>;
}
