/**
 * PipeDrain: for how long the output of an ended process is still read.
 *
 * Invariants: it ends exactly once: at the end of both streams, after a quiet time without a byte, or at the cap, whichever
 * is first; a poll phase passes between a timer and its effect, so that what came while the host was blocked is read.
 * Deliberately absent: the bytes, and who holds the pipe.
 */
import type { Clock, Timer } from '../model/time.ts';
import { type AfterPoll, afterPoll as nextPoll } from './poll.ts';

/** Milliseconds: without a byte, and at the longest. */
export interface DrainBounds {
  readonly quietMs: number;
  readonly maxMs: number;
}
export type DrainEnd = 'eof' | 'quiet' | 'cap';

/** After a kill: what is left in the pipes is evidence, not a result. */
export const POST_KILL_DRAIN: DrainBounds = Object.freeze({ quietMs: 100, maxMs: 500 });

export class PipeDrain {
  readonly #clock: Clock;
  readonly #bounds: DrainBounds;
  readonly #onEnd: (ended: DrainEnd) => void;
  readonly #afterPoll: AfterPoll;
  readonly #capAt: number;
  #quietAt: number;
  #timer: Timer | null = null;
  #isOver = false;

  /** `onEnd` is never called from within the constructor, `noteChunk` or `cut`. */
  constructor(clock: Clock, bounds: DrainBounds, onEnd: (ended: DrainEnd) => void, afterPoll: AfterPoll = nextPoll) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#onEnd = onEnd;
    this.#afterPoll = afterPoll;
    const now = clock.now();
    this.#capAt = now + bounds.maxMs;
    this.#quietAt = now + bounds.quietMs;
    this.#arm();
  }

  /** Bytes came. */
  noteChunk(): void {
    // The timer is not touched: when it fires too early it is set anew.
    this.#quietAt = this.#clock.now() + this.#bounds.quietMs;
  }

  /** Both streams have ended. */
  noteEnd(): void {
    this.#end('eof');
  }

  /** Ends it without a word. */
  cut(): void {
    this.#isOver = true;
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    const dueAt = Math.min(this.#quietAt, this.#capAt);
    this.#timer = this.#clock.setTimeout(() => this.#ring(), Math.max(0, dueAt - this.#clock.now()));
  }

  #ring(): void {
    this.#timer = null;
    this.#afterPoll(() => {
      if (this.#isOver) return;
      const now = this.#clock.now();
      if (now >= this.#capAt) this.#end('cap');
      else if (now >= this.#quietAt) this.#end('quiet');
      else this.#arm();
    });
  }

  #end(ended: DrainEnd): void {
    if (this.#isOver) return;
    this.cut();
    this.#onEnd(ended);
  }
}
