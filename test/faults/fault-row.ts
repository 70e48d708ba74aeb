/**
 * What a row of the fault matrix says, and the ends that many rows share.
 *
 * Invariant: what a row says of a process overrides what it says of every isolate, and gives the reason.
 * Deliberately absent: the rows (`fault-cases.ts`, `process-cases.ts`) and what they set up (`fault-scenes.ts`).
 */
import type { Fate, Isolation, Settled, Work } from '../support/fault-adapter.ts';
import type { Words } from '../support/fault-words.ts';

/** What a row sets up besides the tool. */
export interface Scene {
  readonly input?: unknown;
  readonly transfer?: readonly ArrayBuffer[];
  readonly signal?: AbortSignal;
  /** Runs beside the call. */
  play?(): Promise<void>;
  /** Undoes what would hold the process, after the close. */
  undo?(): Promise<void>;
}

interface Expected {
  readonly limits?: Pick<Work, 'runTimeoutMs' | 'graceMs'> & {
    readonly killMs?: number;
    readonly maxOldGenerationSizeMb?: number;
  };
  readonly status: string;
  readonly code: string | null;
  readonly fate: Fate | 'any';
  readonly value?: unknown;
  /** A finding that must be told; null: none may be. */
  readonly finding?: string | null;
  readonly exit?: Settled['exit'];
  /** What the error's message tells. */
  readonly says?: RegExp;
  /** Bytes of standard output, told to the byte. */
  readonly stdoutBytes?: number;
  /** Whether a buffer of the transfer list is gone from the host. */
  readonly moves?: boolean;
}

export interface FaultCase extends Expected {
  /** A present-tense claim about the tool. */
  readonly name: string;
  readonly file: string;
  readonly exportName: string;
  readonly scene?: (words: Words) => Scene;
  /** What is otherwise in a process, and why. */
  readonly inProcess?: Partial<Expected> & { readonly why: string };
}

export const row = (
  name: string,
  file: string,
  exportName: string,
  rest: Omit<FaultCase, 'name' | 'file' | 'exportName'>,
): FaultCase => ({ name, file, exportName, ...rest });

/** The row as it is to end in an isolate of this kind. */
export function rowIn(isolation: Isolation, { inProcess, ...everywhere }: FaultCase): FaultCase {
  if (isolation === 'thread' || inProcess === undefined) return everywhere;
  const { why: _, ...differing } = inProcess;
  return { ...everywhere, ...differing };
}

const SHORT = { runTimeoutMs: 150, graceMs: 80 };

export const TOOL_ERROR = { status: 'failed', code: 'TOOL_ERROR', fate: 'kept' } as const;
export const NOT_CLONEABLE = { status: 'failed', code: 'NOT_CLONEABLE', fate: 'kept' } as const;
export const TOOL_LOAD = { status: 'failed', code: 'TOOL_LOAD', fate: 'kept' } as const;
export const EXITED = { status: 'failed', code: 'ISOLATE_EXITED', fate: 'condemned' } as const;
export const EXHAUSTED = { status: 'failed', code: 'OUT_OF_MEMORY', fate: 'condemned' } as const;
export const UNCAUGHT = { status: 'failed', code: 'UNCAUGHT', fate: 'condemned' } as const;
export const KILLED = { status: 'timed-out', code: 'RUN_TIMEOUT', fate: 'condemned', limits: SHORT } as const;
export const CANCELLED = {
  status: 'cancelled',
  code: 'CANCELLED',
  fate: 'condemned',
  limits: { graceMs: 80 },
} as const;
export const GOOD = { status: 'succeeded', code: null, fate: 'kept' } as const;
export const SPOILED = { status: 'succeeded', code: null, fate: 'condemned' } as const;
export const HONEST = { value: 'honest' } as const;
