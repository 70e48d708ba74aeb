/**
 * Threads that are not there: `TenureSource` and `Tenure` with a far side written in the test.
 *
 * Invariants: as the seam promises: records arrive in the order they were posted and `exit` after them, listeners are
 * never called from within `receive`, `post` or `terminate`, and a dead far side posts nothing. Each record carries the
 * nonce, unless it is forged. Deliberately absent: the awaited calls (`perform`, `reset`), which need a real isolate.
 */

import type { Tenure, TenureExit, TenureListener, TenureMessage, TenureSource } from '../../src/isolate/tenure.ts';
import type { FindingKind } from '../../src/model/result.ts';
import type { Failure } from '../../src/wire/failure.ts';
import { type HostMessage, type RunMessage, type StopMessage, WORD, WORDS } from '../../src/wire/protocol.ts';

/** How the far side behaves. Everything unnamed does nothing: a run hangs, a stop is not heard. */
export interface Far {
  /** `ready` installs at once, `never` hangs, `fails` rejects. Asked once per tenure. */
  boot?(ordinal: number): 'ready' | 'never' | 'fails';
  run?(tenure: FakeTenure, message: RunMessage): void;
  stop?(tenure: FakeTenure, message: StopMessage): void;
  /** False: the thread does not die when it is killed. Default true. */
  dies?(tenure: FakeTenure): boolean;
  /** When deliveries happen. Default: in a microtask. `manual`: only by `deliver()`. */
  schedule?: ((deliver: () => void) => void) | 'manual';
}

export const FAILURE: Failure = {
  code: 'TOOL_ERROR',
  name: 'Error',
  message: 'the tool failed',
  ofStop: false,
  truncated: false,
};

const NO_HOOKS = { reset: false, healthCheck: false };

export class FakeTenure implements Tenure {
  readonly sharesWords = true;
  readonly pid = process.pid;
  readonly poll = null;
  transitMs = 0;
  readonly words = new Int32Array(new SharedArrayBuffer(WORDS * 4));
  readonly nonce: string;
  readonly installed: Promise<void>;
  readonly ordinal: number;
  exit: TenureExit | null = null;
  /** The lease the far side works on, until it settled. */
  current: RunMessage | null = null;
  /** Leases started and not yet settled when the next one came: must stay 0. */
  overlaps = 0;
  runs = 0;
  terminated = false;
  closed = false;
  held = true;
  #end: TenureExit | null = null;
  #listener: TenureListener | null = null;
  readonly #far: Far;
  readonly #outbox: unknown[] = [];
  readonly #inbox: HostMessage[] = [];

  constructor(far: Far, ordinal: number) {
    this.#far = far;
    this.ordinal = ordinal;
    this.nonce = `nonce-${ordinal}`;
    const boot = far.boot?.(ordinal) ?? 'ready';
    this.installed =
      boot === 'ready'
        ? Promise.resolve()
        : boot === 'fails'
          ? Promise.reject(new Error('the boot failed'))
          : new Promise<void>(() => {});
    this.installed.catch(() => {});
  }

  listen(listener: TenureListener): void {
    this.#listener = listener;
  }

  post(message: TenureMessage): void {
    if (this.#end !== null || this.closed) return;
    this.#inbox.push(message as HostMessage);
    this.#schedule(() => this.#hear());
  }

  receive(): { readonly message: unknown } | undefined {
    return this.#outbox.length === 0 ? undefined : { message: this.#outbox.shift() };
  }

  terminate(): void {
    this.terminated = true;
    if (this.#end === null && (this.#far.dies?.(this) ?? true))
      this.#schedule(() => this.die({ code: 1, error: null }));
  }

  ref(): void {
    this.held = true;
  }

  unref(): void {
    this.held = false;
  }

  close(): void {
    this.closed = true;
  }

  /** The far side posts a record of its own. */
  emit(record: Record<string, unknown>): void {
    this.emitForged({ n: this.nonce, ...record });
  }

  /** User code posts whatever it likes. */
  emitForged(record: unknown): void {
    if (this.#end !== null || this.closed) return;
    this.#outbox.push(record);
    this.#schedule(() => this.deliver());
  }

  started(): void {
    if (this.current !== null) this.emit({ t: 'started', seq: this.current.seq });
  }

  value(value: unknown, clean = true): void {
    this.#settled({ ok: true, value, clean });
  }

  failure(failure: Partial<Failure> = {}, clean = true): void {
    this.#settled({ ok: false, failure: { ...FAILURE, ...failure }, clean });
  }

  looked(seq: number, kinds: readonly FindingKind[] = []): void {
    this.emit({ t: 'looked', seq, findings: kinds.map((kind) => ({ kind })), heapBytes: null });
  }

  fatal(): void {
    const seq = this.current?.seq ?? 0;
    this.emit({ t: 'fatal', seq, failure: { ...FAILURE, code: 'UNCAUGHT', message: 'nobody caught this' } });
  }

  /** The thread dies; its exit is seen with the next delivery. */
  die(exit: TenureExit): void {
    if (this.#end !== null) return;
    this.#end = exit;
    this.current = null;
    this.#schedule(() => this.deliver());
  }

  /** Hands over what was posted, then the exit, as the port and the thread would. */
  deliver(): void {
    while (this.#inbox.length > 0) this.#hear();
    if (this.#listener === null) return;
    for (let next = this.receive(); next !== undefined; next = this.receive()) this.#listener.onRecord(next.message);
    if (this.#end !== null && this.exit === null) {
      this.exit = this.#end;
      this.#listener.onExit(this.exit);
    }
  }

  /** Taken back before it began. */
  #recalled(seq: number): void {
    const failure = { ...FAILURE, name: 'AbortError', ofStop: true };
    this.emit({ t: 'settled', seq, ok: false, failure, recalled: true, clean: true, ...NO_HOOKS, ranMs: 0 });
  }

  #settled(rest: { ok: boolean; value?: unknown; failure?: Failure; clean: boolean }): void {
    const lease = this.current;
    if (lease === null) return;
    this.current = null;
    this.emit({ t: 'settled', seq: lease.seq, ...NO_HOOKS, ranMs: 0, ...rest });
  }

  #hear(): void {
    const message = this.#inbox.shift();
    if (message === undefined || this.#end !== null) return;
    if (message.t === 'run') {
      Atomics.store(this.words, WORD.STARTED, message.seq);
      if (Atomics.load(this.words, WORD.STOP) >= message.seq) {
        this.#recalled(message.seq);
        return;
      }
      if (this.current !== null) this.overlaps += 1;
      this.runs += 1;
      this.current = message;
      this.#far.run?.(this, message);
      // As a real isolate: told only when it has not settled within the turn.
      this.started();
    } else if (message.t === 'stop') {
      this.#far.stop?.(this, message);
    }
  }

  #schedule(deliver: () => void): void {
    const schedule = this.#far.schedule ?? queueMicrotask;
    if (schedule !== 'manual') schedule(deliver);
  }
}

export class FakeTenures implements TenureSource {
  readonly all: FakeTenure[] = [];
  closed = false;
  readonly #far: Far;

  constructor(far: Far = {}) {
    this.#far = far;
  }

  open(_bootMs: number): Tenure {
    const tenure = new FakeTenure(this.#far, this.all.length);
    this.all.push(tenure);
    return tenure;
  }

  async close(_withinMs: number): Promise<void> {
    this.closed = true;
  }

  get alive(): FakeTenure[] {
    return this.all.filter((tenure) => tenure.exit === null);
  }

  get working(): FakeTenure[] {
    return this.alive.filter((tenure) => tenure.current !== null);
  }
}
