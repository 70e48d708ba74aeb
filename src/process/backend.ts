/**
 * ProcessBackend: what this library does with processes of the operating system, as one seam for each platform and the fakes.
 *
 * Invariants: only a process that was started here, or is known as one of its run, is ever signalled; after `'gone'` a
 * group's id may belong to somebody else. Deliberately absent: leases, records, and when anything is signalled or read.
 */
import type { Duplex, Readable } from 'node:stream';

/** A process that was started here, as far as it can be told from others. On POSIX its pid is its group and its session too. */
export interface Leader {
  readonly pid: number;
  /** The value of `LEASEHOLD_RUN` in its environment, which what it starts inherits. */
  readonly marker: string;
  /** When it started, in the platform's own units; null when unknown. */
  readonly startTime: number | null;
  /** What its standard output and error are, as other holders of the same would name it; empty when unknown. */
  readonly pipes: readonly string[];
}

/** A live process of a run, at the moment of a look. Zombies are not alive. */
export interface Survivor {
  readonly pid: number;
  readonly startTime: number;
  /** The name of its program, printable. */
  readonly name: string;
  readonly holdsPipe: boolean;
  /** It is in the leader's group. */
  readonly isMember: boolean;
  /** It is older than the run, and got hold of a pipe: told, never signalled. */
  readonly isForeign: boolean;
}

export type GroupSignal = 'SIGTERM' | 'SIGCONT' | 'SIGKILL';
/** Whether a signal arrived. `refused`: the platform did not permit it. */
export type Reach = 'sent' | 'gone' | 'refused';
/** Whether a group has live members. `unknown`: the platform has no groups, or does not tell. */
export type GroupState = 'alive' | 'gone' | 'unknown';

/** Why a process could not be started. */
export type SpawnReason =
  | 'not-found'
  | 'not-permitted'
  | 'not-executable'
  | 'bad-cwd'
  | 'nul-byte'
  | 'too-large'
  | 'no-resources'
  | 'needs-shell'
  | 'refused';

/** A process that was never started. Nothing ran. */
export interface SpawnFailure {
  readonly reason: SpawnReason;
  /** The platform's code, such as `ENOENT`; null when the library refused by itself. */
  readonly errno: string | null;
  /** Names the program by its last part; never arguments, environment or output. */
  readonly message: string;
}

/** What a process is started with. */
export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** Null: the host's. */
  readonly cwd: string | null;
  /** All of its environment but the marker, which is added. The program is looked up by its `PATH`. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: none, so that a reader ends at once. A stream is read to its end, and destroyed with the pipe. */
  readonly stdin: Uint8Array | string | Readable | null;
  /** Whether descriptor 3 is one end of a link to the host, for children that know of it. Default: there is none. */
  readonly link?: boolean;
}

/** Who hears of a process. Never called from within `start`. */
export interface ProcessListener {
  /** It was never started; nothing else is told. */
  onFailed(failure: SpawnFailure): void;
  /** Bytes it, or whoever holds its pipe, wrote. They belong to the hearer. */
  onChunk(stream: 'stdout' | 'stderr', bytes: Uint8Array): void;
  /** The stream is at its end: nobody holds the pipe any more. May come long after the exit, or never. */
  onEnd(stream: 'stdout' | 'stderr'): void;
  /** It ended, and was reaped. Once. Bytes may still come. */
  onExit(code: number | null, signal: string | null): void;
  /**
   * The source of its standard input broke before its end, once at the most. The pipe is left open, so that the process
   * does not take what it got for the whole.
   */
  onBrokenStdin?(error: unknown): void;
}

/** A process that was started, or failed to. */
export interface RunningProcess {
  /** Null when it could not be started. */
  readonly leader: Leader | null;
  /** The host's end of the link, if one was asked for. Its errors are swallowed unless somebody listens. */
  readonly link: Duplex | null;
  /** Both streams are at their end. */
  readonly isRead: boolean;
  readonly isAtEnd: Readonly<Record<'stdout' | 'stderr', boolean>>;
  /** Destroys standard input, and the stream that fed it. */
  closeStdin(): void;
  /** Lets go of the pipes and the link: what others write from now on fails. */
  close(): void;
  /** Its handles hold the host's process open. Default: they do. */
  ref(): void;
  unref(): void;
}

export interface ProcessBackend {
  /** Starts a process in a session and group of its own. Synchronous: the process runs when this returns. Never throws. */
  start(request: ProcessRequest, listener: ProcessListener): RunningProcess;
  /** Signals the whole group. Never call it again after `'gone'`; `ProcessGroup` remembers. */
  signal(leader: Leader, signal: GroupSignal): Reach;
  /** Whether the group has a member that is no zombie. */
  probe(leader: Leader): GroupState;
  /** Whether the leader has ended, though its exit was not told yet. False when unknown. */
  hasEnded(leader: Leader): boolean;
  /**
   * The live processes of the run: by group, session, marker, or, unless `isRead`, a pipe they hold. Null without a way to
   * look. @throws (rejects) when the look failed
   */
  look(leader: Leader, isRead: boolean): Promise<readonly Survivor[] | null>;
  /** Kills one, if it is still the same process. */
  kill(survivor: Survivor): Reach;
}
