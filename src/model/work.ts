/**
 * Work: what a tool does when its lease begins: an export of a module, a command, or a function of this library's own.
 *
 * Invariant: described before anything runs; a plan holds nothing that is still to be computed.
 * Deliberately absent: carrying it out (`isolate/`), and the built-in tools that make plans (`tools/`).
 */
import type { Readable } from 'node:stream';
import type { Clock } from './time.ts';

/** What a tool may do to the outside world. Declared, never guessed. */
export type Effects = 'none' | 'declared' | 'opaque';
/** Where a tool runs: a worker thread, a process of its own, or the host's loop (pure I/O of the built-in tools only). */
export type Isolation = 'thread' | 'process' | 'inline';

/** An export of a module, loaded inside the isolate only. */
export interface ModuleWork {
  readonly kind: 'module';
  /** An absolute file URL, or a package specifier. */
  readonly module: string;
  readonly exportName: string;
}

/** A program and its arguments. */
export interface CommandWork {
  readonly kind: 'command';
  /** How long the pipes may stay open after the command ended by itself: without a byte, and at the longest. Milliseconds. */
  readonly drain: { readonly quietMs: number; readonly maxMs: number };
  /** Called on the host, once per attempt, with an accepted input. What it throws fails the attempt; nothing has run then. */
  plan(input: unknown): Omit<CommandPlan, 'drain'>;
}

/** Pure I/O on the host's own loop. */
export interface InlineWork {
  readonly kind: 'inline';
  /** Whether it occupies a thread of libuv's pool while a call blocks: files do, sockets do not. */
  readonly occupiesPool: boolean;
  serve(input: unknown, context: InlineContext): Promise<unknown>;
}
export type Work = ModuleWork | CommandWork | InlineWork;

/** What becomes of processes that outlive the command: ended, left and told, or ended and the run failed. */
export type OnOrphans = 'kill' | 'allow' | 'fail';

/** Everything one process needs. Milliseconds. */
export interface CommandPlan {
  readonly file: string;
  readonly args: readonly string[];
  /** Null: the host's. */
  readonly cwd: string | null;
  /** Names taken over from the host's environment, and what is set beside them. Nothing else is passed. */
  readonly env: { readonly inherit: readonly string[]; readonly set: Readonly<Record<string, string>> };
  /** Null: none, so that a reader of standard input ends at once. */
  readonly stdin: Uint8Array | string | Readable | null;
  readonly okExitCodes: readonly number[];
  readonly onOrphans: OnOrphans;
  readonly drain: CommandWork['drain'];
  /** Whether the arguments may be told in errors; otherwise their number is. */
  readonly publicArgs: boolean;
}

/** One more address an HTTP tool is about to ask, on its way through redirects. */
export interface Hop {
  readonly url: string;
  readonly method: string;
  /** 1 for the first redirect. */
  readonly number: number;
}

/** What inline work is given, bound to one lease. */
export interface InlineContext {
  /** Aborts at a stop, and at the deadline. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Milliseconds until the deadline. */
  remainingMs(): number;
  /**
   * Records the intent durably, then lets the effect go and records how it ended. A throw after a stop leaves it open;
   * a `NotAppliedError` says that nothing happened. @throws what the effect throws; a refusal when it was not let go
   */
  perform<T>(intent: { readonly name: string; readonly key?: string }, effect: (key: string) => Promise<T>): Promise<T>;
  /** Asks the application's authorizer. @throws LeaseholdError `ERR_LEASEHOLD_DENIED`; the request is then denied, or failed when effects had been let go. */
  authorizeHop(hop: Hop): Promise<void>;
}
