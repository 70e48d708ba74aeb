/**
 * What a pool must offer to be put through the fault suite, and how a test finds its tools.
 *
 * Invariant: nothing here knows Leasehold: another pool takes part by implementing `FaultAdapter`, and answers null where
 * it has no such notion. Deliberately absent: the cases (`faults/fault-cases.ts`) and any expectation.
 */

/** One call of a tool. */
export interface Work {
  readonly module: URL;
  readonly exportName: string;
  readonly input?: unknown;
  readonly transfer?: readonly ArrayBuffer[];
  readonly signal?: AbortSignal;
  readonly runTimeoutMs?: number;
  readonly graceMs?: number;
}

/** Where a tool runs. A pool takes part with those it has. */
export type Isolation = 'thread' | 'process';

/** What became of the isolate: the very same one may be leased again, or never. */
export type Fate = 'kept' | 'condemned' | 'abandoned' | 'untouched';

/** How a call ended. */
export interface Settled {
  readonly status: string;
  /** A stable code without the library's prefix; null when it succeeded. */
  readonly code: string | null;
  readonly value: unknown;
  readonly message: string;
  /** The longest a stop may take, as the pool itself says. Milliseconds. */
  readonly boundMs: number;
  /** From the first stop to the end; null when nothing stopped it. Milliseconds. */
  readonly stoppedForMs: number | null;
  readonly fate: Fate;
  readonly isolate: string | null;
  readonly findings: readonly string[];
  /** How the isolate ended by itself; null when it did not. */
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
  readonly stdout: { readonly text: string; readonly bytesRead: number; readonly bytesKept: number };
}

export interface FaultPoolOptions {
  readonly isolates: number;
  readonly standby: number;
  readonly graceMs: number;
  readonly killMs: number;
  readonly runTimeoutMs: number;
  readonly maxOldGenerationSizeMb: number;
}

export interface FaultPool {
  run(work: Work): Promise<Settled>;
  /** Settles within its bound; `abandoned` counts the isolates that would not die. */
  close(withinMs: number): Promise<{ readonly abandoned: number }>;
}

export interface FaultAdapter {
  readonly name: string;
  readonly isolation: Isolation;
  open(options: FaultPoolOptions): Promise<FaultPool>;
}

const TOOLS = new URL('../fixtures/tools/', import.meta.url);

/** The address of a fixture tool, which need not exist. */
export function fixture(file: string): URL {
  return new URL(file, TOOLS);
}

/** Words that host and tool share: a tool sets one to say how far it is. */
export function sharedWords(count = 2): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * count));
}

interface AtomicsWait {
  waitAsync(words: Int32Array, index: number, value: number): { async: boolean; value: Promise<string> | string };
}

/** Resolves when the word is no longer what it was. */
export async function untilChanged(words: Int32Array, index: number, from = 0): Promise<void> {
  while (Atomics.load(words, index) === from) {
    const wait = (Atomics as unknown as AtomicsWait).waitAsync(words, index, from);
    if (wait.async) await wait.value;
  }
}

/** Resolves when the word is at least `count`. */
export async function untilReaches(words: Int32Array, index: number, count: number): Promise<void> {
  for (let seen = Atomics.load(words, index); seen < count; seen = Atomics.load(words, index)) {
    await untilChanged(words, index, seen);
  }
}

/** Sets the word and wakes who waits for it. */
export function tell(words: Int32Array, index: number, value = 1): void {
  Atomics.store(words, index, value);
  Atomics.notify(words, index);
}
