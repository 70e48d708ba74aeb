/**
 * OutputRecord: what one request wrote, within its four limits.
 *
 * Invariants: what comes after a kill never evicts what came before; each stream is sure of its share of the combined
 * limit and may use what the other leaves. Deliberately absent: where the bytes come from, and when they end.
 */
import type { OutputLimits } from '../model/option-shapes.ts';
import type { Output, Stream } from '../model/result.ts';
import { HeadTailKeeper } from './keeper.ts';
import { NOTHING_KNOWN, type Redactor } from './redaction.ts';

const EMPTY_STREAM: Stream = Object.freeze({
  text: '',
  bytesRead: 0,
  bytesKept: 0,
  bytesOmitted: 0,
  headBytes: 0,
  truncated: false,
  eof: true,
  redactions: 0,
});

/** The output of a request that wrote nothing and was read to its end. */
export const EMPTY_OUTPUT: Output = Object.freeze({
  stdout: EMPTY_STREAM,
  stderr: EMPTY_STREAM,
  combinedBytes: 0,
  postKill: EMPTY_STREAM,
  drain: Object.freeze({ ended: 'settled', ms: 0, holders: Object.freeze([]) }),
});

/** How much may be kept. Bytes. */
export type KeptLimits = Omit<OutputLimits, 'readBytes'>;
/** How the reading ended. */
export type Drain = Output['drain'];

export class OutputRecord {
  readonly #limits: KeptLimits;
  readonly #redactor: Redactor;
  #stdout: HeadTailKeeper | null = null;
  #stderr: HeadTailKeeper | null = null;
  #postKill: HeadTailKeeper | null = null;
  #killed = false;

  constructor(limits: KeptLimits, redactor: Redactor = NOTHING_KNOWN) {
    this.#limits = limits;
    this.#redactor = redactor;
  }

  /** Everything written, kept or not. */
  get bytesRead(): number {
    return [this.#stdout, this.#stderr, this.#postKill].reduce((sum, kept) => sum + (kept?.bytesRead ?? 0), 0);
  }

  /** `omittedBytes` were dropped just before `bytes`, which belong to the record from now on. */
  write(stream: 'stdout' | 'stderr', bytes: Uint8Array, omittedBytes = 0): void {
    const keeper = this.#keeperOf(stream);
    keeper.skip(omittedBytes);
    keeper.write(bytes);
  }

  #keeperOf(stream: 'stdout' | 'stderr'): HeadTailKeeper {
    if (this.#killed) {
      this.#postKill ??= new HeadTailKeeper(this.#limits.postKillBytes);
      return this.#postKill;
    }
    if (stream === 'stdout') {
      this.#stdout ??= new HeadTailKeeper(this.#limits.stdoutBytes);
      return this.#stdout;
    }
    this.#stderr ??= new HeadTailKeeper(this.#limits.stderrBytes);
    return this.#stderr;
  }

  /** From now on everything is output after the kill. */
  killed(): void {
    this.#killed = true;
  }

  /** The frozen output. `eof` is false when more may have come: the counts are then lower bounds. */
  finish(drain: Drain = EMPTY_OUTPUT.drain, eof = true): Output {
    if (this.bytesRead === 0 && drain === EMPTY_OUTPUT.drain && eof) return EMPTY_OUTPUT;
    const { stdoutBytes, stderrBytes, combinedBytes } = this.#limits;
    const out = this.#stdout?.bytesHeld ?? 0;
    const err = this.#stderr?.bytesHeld ?? 0;
    const share = Math.floor((combinedBytes * stderrBytes) / Math.max(1, stdoutBytes + stderrBytes));
    const errLimit = Math.min(stderrBytes, Math.max(share, combinedBytes - out));
    const outLimit = Math.min(stdoutBytes, combinedBytes - Math.min(err, errLimit));
    const stdout = this.#stream(this.#stdout, outLimit, eof);
    const stderr = this.#stream(this.#stderr, errLimit, eof);
    return Object.freeze({
      stdout,
      stderr,
      combinedBytes: stdout.bytesKept + stderr.bytesKept,
      postKill: this.#stream(this.#postKill, this.#limits.postKillBytes, eof),
      drain: Object.freeze({ ...drain, holders: Object.freeze([...drain.holders]) }),
    });
  }

  #stream(keeper: HeadTailKeeper | null, limitBytes: number, eof: boolean): Stream {
    if (keeper === null) return eof ? EMPTY_STREAM : Object.freeze({ ...EMPTY_STREAM, eof });
    return Object.freeze({ ...keeper.finish(this.#redactor, limitBytes), eof });
  }
}
