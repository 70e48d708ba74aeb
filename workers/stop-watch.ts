/**
 * StopWatch: whether the run at hand is to end, and why.
 *
 * Invariants: the reason is made once and stays the very object the signal aborts with; the shared word and the deadline
 * are read whenever somebody asks, so that a busy loop sees both without a turn of the event loop; the signal and its
 * timer exist only for a tool that asks for the signal.
 * Deliberately absent: what a stop makes of the result, which the host decides from its own ledger.
 */

import type { StopKind } from '../src/model/stop.ts';
import { MAX_TIMER_MS } from '../src/model/time.ts';
import type { KnownStop } from '../src/wire/failure.ts';
import { WORD } from '../src/wire/protocol.ts';
import { stopReason } from '../src/wire/stop-reason.ts';
import { defineProperty, getOwnPropertyDescriptor, uncurry } from '../src/wire/uncurried.ts';
import type { Link } from './link.ts';
import { AbortController, atomicsLoad, clearTimeout, min, now, setQuietTimeout } from './references.ts';

const abort = uncurry(AbortController.prototype.abort);
const isAborted = uncurry(getter('aborted') as (this: AbortSignal) => boolean);
const reasonOf = uncurry(getter('reason') as (this: AbortSignal) => unknown);

function getter(name: 'aborted' | 'reason'): unknown {
  return getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get;
}

export class StopWatch {
  readonly #words: Int32Array;
  readonly #seq: number;
  readonly #link: Pick<Link, 'readNow' | 'poll'>;
  readonly #dueAt: number;
  #reason: Error | undefined;
  #controller: AbortController | null = null;
  #timer: NodeJS.Timeout | null = null;
  #ended = false;

  /** Reading from `link` takes what the host has posted so far, by which `stop` may be called. */
  constructor(words: Int32Array, seq: number, remainingMs: number | null, link: Pick<Link, 'readNow' | 'poll'>) {
    this.#words = words;
    this.#seq = seq;
    this.#link = link;
    this.#dueAt = remainingMs === null ? Number.POSITIVE_INFINITY : now() + remainingMs;
  }

  remainingMs(): number {
    const left = this.#dueAt - now();
    return left > 0 ? left : 0;
  }

  /** True once the host told it or the deadline has passed; the signal has aborted then. */
  stopped(): boolean {
    if (this.#reason === undefined && !this.#ended) this.#ask();
    if (this.#reason === undefined) return false;
    this.#abort();
    return true;
  }

  #ask(): void {
    this.#link.poll?.();
    if (atomicsLoad(this.#words, WORD.STOP) === this.#seq) {
      this.#link.readNow();
      // The word is set before the message is posted: between the two the kind is not known.
      this.stop('cancel', null);
    } else if (now() >= this.#dueAt) this.stop('run-timeout', 'the time given to the run is over');
  }

  /** Aborts with the reason for a stop of this kind. Only the first call counts. */
  stop(kind: StopKind, text: string | null): void {
    if (this.#reason !== undefined || this.#ended) return;
    this.#reason = stopReason(kind, text);
    this.#abort();
  }

  /**
   * Made when it is first asked for. A signal born after the stop aborts a turn later, or when it is read, so that
   * a listener added at once still hears of it.
   */
  get signal(): AbortSignal {
    if (this.#controller !== null) return this.#controller.signal;
    const late = this.stopped();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    // Own getters, since the platform's learn of a stop only when the event loop turns.
    const live = <T>(read: (signal: AbortSignal) => T) => ({
      configurable: true,
      get: () => {
        this.stopped();
        return read(signal);
      },
    });
    defineProperty(signal, 'aborted', live(isAborted));
    defineProperty(signal, 'reason', live(reasonOf));
    if (!this.#ended) this.#arm(late ? 0 : this.remainingMs());
    return signal;
  }

  /** What a failure is judged by. */
  known(): KnownStop {
    return { stopped: this.stopped(), reason: this.#reason };
  }

  /** The run is over: nothing aborts any more. */
  end(): void {
    this.#ended = true;
    this.#clear();
  }

  #arm(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#timer = setQuietTimeout(
      () => {
        this.#timer = null;
        // A timer may be a part of a millisecond early.
        if (!this.stopped()) this.#arm(this.remainingMs() + 1);
      },
      min(ms, MAX_TIMER_MS),
    );
  }

  #abort(): void {
    if (this.#controller === null || this.#ended || isAborted(this.#controller.signal)) return;
    this.#clear();
    abort(this.#controller, this.#reason);
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
