/**
 * Inline: tenures of calls on the host's own loop, for pure I/O.
 *
 * Invariants: one lease each; a stop aborts the signal, and nothing can do more, so that a call which does not end then is
 * abandoned and its end, whenever it comes, is still seen. Deliberately absent: any bound, which the attempt keeps, and
 * output, of which an inline call has none.
 */
import { isLeaseholdError, publicCode } from '../model/errors.ts';
import { mintNonce } from '../model/ids.ts';
import type { Clock } from '../model/time.ts';
import type { InlineContext } from '../model/work.ts';
import { toFailure } from '../wire/failure.ts';
import { performEffect } from '../wire/perform.ts';
import { WORD, WORDS } from '../wire/protocol.ts';
import { stopReason } from '../wire/stop-reason.ts';
import type { InlineRun, Tenure, TenureExit, TenureListener, TenureMessage, TenureSource } from './tenure.ts';

export class InlineCalls implements TenureSource {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(): Tenure {
    return new InlineTenure(this.#clock);
  }

  async close(): Promise<void> {
    // Nothing is kept between calls, and a call cannot be ended.
  }
}

class InlineTenure implements Tenure {
  readonly words = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
  readonly nonce = mintNonce();
  readonly installed = Promise.resolve();
  readonly sharesWords = true;
  readonly pid = null;
  readonly poll = null;
  readonly transitMs = 0;
  exit: TenureExit | null = null;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #unread: object[] = [];
  #listener: TenureListener | null = null;
  #isServing = false;
  #isEnded = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  listen(listener: TenureListener): void {
    this.#listener = listener;
  }

  post(message: TenureMessage): void {
    if (message.t === 'inline') {
      Atomics.store(this.words, WORD.STARTED, message.seq);
      this.#isServing = true;
      void this.#serve(message);
    } else if (message.t === 'stop') this.#abort.abort(stopReason(message.kind, message.reason));
  }

  receive(): { readonly message: unknown } | undefined {
    const message = this.#unread.shift();
    return message === undefined ? undefined : { message };
  }

  terminate(): void {
    this.#isEnded = true;
    this.#abort.abort(stopReason('cancel', null));
    if (!this.#isServing) queueMicrotask(() => this.#leave());
  }

  // Sockets and files hold the process by themselves.
  ref(): void {}
  unref(): void {}
  close(): void {}

  async #serve(run: InlineRun): Promise<void> {
    const { seq } = run;
    const startedAt = this.#clock.now();
    this.#tell({ t: 'started', seq });
    let answer: object;
    try {
      const value = await run.serve(run.input, this.#contextOf(run, startedAt));
      answer = { ok: true, value };
    } catch (error) {
      const { aborted, reason } = this.#abort.signal;
      const isOverLimit = isLeaseholdError(error) && error.code === publicCode('OUTPUT_LIMIT');
      const code = isOverLimit ? 'OUTPUT_LIMIT' : 'TOOL_ERROR';
      answer = { ok: false, failure: toFailure(error, code, { stopped: aborted, reason }) };
    }
    this.#isServing = false;
    const ranMs = this.#clock.now() - startedAt;
    this.#tell({ t: 'settled', seq, ...answer, clean: true, reset: false, healthCheck: false, ranMs });
    if (this.#isEnded) queueMicrotask(() => this.#leave());
  }

  #contextOf({ seq, ctx, calls, authorizeHop }: InlineRun, startedAt: number): InlineContext {
    const { signal } = this.#abort;
    const stop = {
      stopped: () => signal.aborted,
      get reason() {
        return signal.reason;
      },
    };
    return Object.freeze<InlineContext>({
      signal,
      clock: this.#clock,
      remainingMs: () => Math.max(0, (ctx.remainingMs ?? Number.POSITIVE_INFINITY) - (this.#clock.now() - startedAt)),
      perform: ({ name, key = null }, effect) =>
        performEffect(calls, seq, { name, key, onAmbiguous: 'hold' }, effect, stop),
      authorizeHop,
    });
  }

  #tell(record: object): void {
    this.#unread.push({ ...record, n: this.nonce });
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    for (let next = this.receive(); next !== undefined; next = this.receive()) this.#listener?.onRecord(next.message);
  }

  #leave(): void {
    if (this.exit !== null) return;
    this.exit = { code: null, error: null };
    this.#listener?.onExit(this.exit);
  }
}
