/**
 * `leasehold/worker`: what a tool module imports, types apart from one class.
 *
 * Invariant: importing this module starts nothing and patches nothing; it works outside an isolate too.
 * Deliberately absent: everything an isolate does.
 */
export { NotAppliedError } from '../src/model/not-applied.ts';

/** How an intent that is still open after a crash is treated by recovery. */
export type OnAmbiguous = 'hold' | 'reconcile' | 'rerun-same-key' | 'assume-applied';

/** What a tool is given beside its input. Valid until the tool's promise settles. */
export interface ToolContext {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborts at a stop, and at the deadline without the host's help. `aborted` is live inside a busy loop too. */
  readonly signal: AbortSignal;
  readonly deadline: {
    /** Milliseconds, 0 when it has passed, `Infinity` when nothing bounds the run. */
    remainingMs(): number;
  };
  readonly trace: { readonly traceparent: string; readonly tracestate?: string };
  /** True once the run is to end, also inside a busy loop. From then on `signal.reason` says why. */
  stopRequested(): boolean;
  /** `value` from 0 to 1, or null when unknown. At most one event per 50 ms is sent; the last one always is. */
  progress(value: number | null, note?: string): void;
  /** Lines of at most 2 KiB. `fields` are reduced to plain data. Never throws. */
  readonly logger: Readonly<Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: object) => void>>;
  /**
   * Lets one outside effect happen, once the intent is recorded; `effect` gets the idempotency key to send along. Name and
   * key are strings of 1 to 256 characters; log and result tell them redacted.
   * Rejects with the effect's own error; with the stop's reason when a stop came first; or when the intent is refused
   * or 64 calls are unanswered already. Then the effect was not started.
   */
  perform<T>(
    intent: { readonly name: string; readonly key?: string; readonly onAmbiguous?: OnAmbiguous },
    effect: (key: string) => Promise<T>,
  ): Promise<T>;
  readonly blobs: {
    /** Stores bytes and resolves to their digest. */
    put(bytes: Uint8Array): Promise<string>;
    get(digest: string): Promise<Uint8Array>;
  };
}
