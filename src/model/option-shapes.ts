/**
 * What callers may say to a supervisor, a scope and a request.
 *
 * Invariant: public, optional, in milliseconds, bytes or counts, with the default told. Deliberately absent: their
 * checks and the frozen forms the rest of the code reads (`options.ts`), and options of later versions.
 */
import type { PreparedContext, PreparedRun, Repair, RepairOptions, RetryOptions } from './control-shapes.ts';
import type { Observer, OutputPiece, Progress } from './event.ts';
import type { Permissions } from './permissions.ts';
import type { Reconcile } from './recovery.ts';
import type { FindingKind } from './result.ts';
import type { BlobStore, EventLog } from './stores.ts';
import type { Clock } from './time.ts';
import type { Trace } from './trace.ts';
import type { Effects, Hop, Isolation } from './work.ts';

export type { Trace };

/** Bounds in milliseconds: finite, above 0. */
export interface Bounds {
  /** One attempt, from the moment the isolate starts it. Default 30 000. */
  readonly runTimeoutMs: number;
  /** From the call until an isolate is granted. Default 600 000. */
  readonly queueTimeoutMs: number;
  /** From a stop to the kill. Default 2 000. */
  readonly graceMs: number;
  /** From the kill to a seen exit; then the isolate is abandoned. Default 2 000. */
  readonly killMs: number;
  /** Boot of an isolate. Default 10 000. */
  readonly bootMs: number;
  /** A module's `reset`. Default 1 000. */
  readonly resetMs: number;
  /** A module's `healthCheck`. Default 1 000. */
  readonly healthMs: number;
  /** Validation of input and output by asynchronous schemas, each. Default 1 000. */
  readonly validateMs: number;
  /** From the grant until the isolate tells that it started. Default 1 000. */
  readonly startMs: number;
  /** The looks of an isolate after a lease, the last sweep of its port, and the search for processes left. Default 500. */
  readonly sweepMs: number;
  /** An answer of the authorizer; raise it where a person is asked. Default 1 000. */
  readonly authorizeMs: number;
  /** All that a `reconcile` hook may take for one intent. Default 5 000. */
  readonly reconcileMs: number;
}

/** Who may meet in one isolate: module state is shared by those who do. */
export type Share = 'any' | 'tenant' | 'tool' | 'none';

/** What is kept of a request's output. Bytes. */
export interface OutputLimits {
  /** Default 1 MiB: a quarter from the beginning, the rest from the end. */
  readonly stdoutBytes: number;
  /** Default 512 KiB. */
  readonly stderrBytes: number;
  /** Both together. Default 1.25 MiB. */
  readonly combinedBytes: number;
  /** What comes after a kill. Default 64 KiB. */
  readonly postKillBytes: number;
  /** What is read at all: beyond it the run is stopped. Default 256 MiB. */
  readonly readBytes: number;
}

/**
 * What the application is asked before a request is admitted. Frozen, and what it says is what runs. The input alone is the
 * very object that runs: an authorizer that changes it answers for what comes of it, since no schema looks at it again.
 */
export interface AuthorizeRequest {
  /** `'run'` once for each request that could be admitted; `'redirect'` for each hop of an HTTP tool. */
  readonly kind: 'run' | 'redirect';
  readonly requestId: string;
  readonly tool: string;
  /** As the input schema returned it, whole and not redacted. */
  readonly input: unknown;
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly effects: Effects;
  readonly isolation: Isolation;
  readonly permissions: Required<Permissions> | null;
  /** As the caller gave them, not redacted. */
  readonly labels: Readonly<Record<string, string>>;
  /** Where the redirect leads; null for a run. */
  readonly hop: Hop | null;
}
/** `reason` is redacted and told in the error of the result. */
export type Authorization = { readonly allow: true } | { readonly allow: false; readonly reason?: string };
/**
 * Says yes or no, at once or later. A throw, a rejection, any other answer, also one with more members, or none within
 * `authorizeMs` is a no. A stop of the request ends the wait and decides. The signal aborts when the answer is awaited no
 * longer; what comes then is ignored. Code that blocks cannot be bounded.
 */
export type Authorizer = (
  request: AuthorizeRequest,
  context: { readonly signal: AbortSignal },
) => Authorization | Promise<Authorization>;

/** Limits of one thread's memory, as Node's `resourceLimits`. */
export interface ThreadLimits {
  /** Default 256. */
  readonly maxOldGenerationSizeMb: number;
  /**
   * Default 16. What survives one collection of it has to fit into what Node adds when the heap limit is reached; with a
   * larger one a tool that exhausts its heap can end the whole process.
   */
  readonly maxYoungGenerationSizeMb: number;
  readonly codeRangeSizeMb?: number;
  /** At least 0.5. */
  readonly stackSizeMb?: number;
}

/** What an inspector hears of each actor; XState's `InspectionEvent`. */
export interface InspectionRecord {
  readonly type: string;
  readonly rootId: string;
}
interface InspectionHearer {
  next?(event: InspectionRecord): void;
}
/** An XState inspection observer: an object with `next`, or a function. */
export type Inspector = InspectionHearer | Required<InspectionHearer>['next'];

export interface SupervisorOptions {
  /** Threads leased at once, 1 to 1 024. Default: the available parallelism. */
  readonly isolates?: number;
  /** Booted isolates kept beyond those. Default 1. */
  readonly standby?: number;
  /** Threads that outlived their kill, before the supervisor is degraded. Default 4. */
  readonly maxAbandoned?: number;
  /** Requests not yet leased; with 0 a request is accepted only when an isolate is free. Default 1 000. */
  readonly queue?: { readonly capacity?: number };
  /** Leases of the other isolations at once. Default 4 processes and 16 inline. */
  readonly limits?: { readonly process?: number; readonly inline?: number };
  readonly defaults?: Partial<Bounds>;
  readonly resourceLimits?: Partial<ThreadLimits>;
  /** Default `'tenant'`. */
  readonly share?: Share;
  /**
   * `maxLeases`: an isolate is retired after so many; default none. `maxHeapMb`: after its heap was over this for three
   * leases in a row; default three quarters of `maxOldGenerationSizeMb`.
   */
  readonly recycle?: { readonly maxLeases?: number; readonly maxHeapMb?: number };
  /** More isolates than this dead at boot within the time degrade the supervisor. Default 5 within 10 000. */
  readonly restart?: { readonly maxReplacements?: number; readonly withinMs?: number };
  /** `full`: when the costly look is made. Default `'sampled'`. `condemn`: overrides by kind of finding. */
  readonly health?: {
    readonly condemn?: Readonly<Partial<Record<FindingKind, boolean>>>;
    readonly full?: 'sampled' | 'every';
  };
  readonly output?: Partial<OutputLimits>;
  /** Known values, and names of keys whose values are hidden; added to the built-in names. */
  readonly redact?: { readonly values?: readonly string[]; readonly keys?: readonly string[] };
  /** Asked once for each request, before it is admitted. Default: every request is allowed. */
  readonly authorize?: Authorizer;
  /** For every request that says nothing of it. Default: none. */
  readonly retry?: RetryOptions;
  /** Default: in memory, of the last 1 000 attempts. */
  readonly eventLog?: EventLog;
  /** Default: in memory, 64 MiB; beside an `eventLog` that survives, large inputs and values are then not kept. */
  readonly blobs?: BlobStore;
  /**
   * By the name of an intent: who finds out, after a crash, whether an effect performed with `onAmbiguous: 'reconcile'`
   * happened. Read-only.
   */
  readonly reconcile?: Readonly<Record<string, Reconcile>>;
  readonly observers?: readonly Observer[];
  /** For tests. Default: this machine's. */
  readonly clock?: Clock;
  readonly inspect?: Inspector;
}

export interface ScopeOptions {
  /** Default `'default'`. */
  readonly tenant?: string;
  /** The application's name for the run. Default: one is minted. */
  readonly run?: string;
  /** Default `'main'`. */
  readonly branch?: string;
  /** From now. Default: none of its own. */
  readonly deadlineMs?: number;
  /** Cancels the scope. */
  readonly signal?: AbortSignal;
  /** Default: one is generated. */
  readonly trace?: Trace;
  readonly observers?: readonly Observer[];
}

export interface RunOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal;
  /** The whole request. Positive selects it; `undefined`, zero, negative and `Infinity` select none. */
  readonly operationTimeoutMs?: number;
  /** These three override the tool's and the supervisor's. */
  readonly runTimeoutMs?: number;
  readonly graceMs?: number;
  readonly queueTimeoutMs?: number;
  /** Called once, synchronously, when an isolate is granted and before the tool starts. A throw ends the request. */
  readonly onPrepared?: (ctx: PreparedContext, prepared: PreparedRun) => undefined;
  readonly onProgress?: (progress: Progress) => void;
  readonly onOutput?: (piece: OutputPiece) => void;
  /** Replaces the supervisor's, whole; `{ attempts: 1 }` switches it off. */
  readonly retry?: RetryOptions;
  readonly repair?: Repair | RepairOptions;
  /** Whether a result that comes after a stop counts. Default `'keep'`. */
  readonly lateResults?: 'keep' | 'discard';
  /** Buffers of the input that are moved instead of cloned; they are empty here afterwards. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Seeds the keys of intents, so that a repeated request has the same ones. */
  readonly idempotencyKey?: string;
  /** Counts the request in the named group, see `supervisor.group`. 1 to 256 characters; nothing else joins it. */
  readonly group?: string;
  /** At most 16, of at most 256 characters each. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly observers?: readonly Observer[];
}
