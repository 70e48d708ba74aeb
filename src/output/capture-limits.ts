/**
 * OutputRecord: what one request wrote, within its four limits.
 *
 * Invariants: what comes after a kill never evicts what came before; each stream is sure of its share of the combined
 * limit and may use what the other leaves; no value is seen that the two parts of a window, or the windows of one stream, only
 * have together. Deliberately absent: where the bytes come from, and when they end.
 */
import type { OutputLimits } from '../model/option-shapes.ts';
import type { Output, Stream } from '../model/result.ts';
import type { OutputRules } from '../model/tool.ts';
import { HeadTailKeeper, type Kept } from './keeper.ts';
import { joined, veiled } from './placeholder.ts';
import { NOTHING_KNOWN, type Redactor } from './redaction.ts';

const NOTHING_READ = Object.freeze({
  text: '',
  bytesRead: 0,
  bytesKept: 0,
  bytesOmitted: 0,
  headBytes: 0,
  truncated: false,
  redactions: 0,
});
const EMPTY_STREAM: Stream = Object.freeze({ ...NOTHING_READ, eof: true });

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
/** What becomes of what was kept. */
export type KeptRules = Pick<OutputRules, 'encoding' | 'readStderr'>;
/** Which streams were read to their end. */
export interface Ends {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

const AS_TEXT: KeptRules = Object.freeze({ encoding: 'utf8', readStderr: null });
const ALL_READ: Ends = Object.freeze({ stdout: true, stderr: true });

/** The windows of one stream. Those after the kill are apart by stream too, so that one cannot tear what the other wrote. */
interface Windows {
  live: HeadTailKeeper | null;
  postKill: HeadTailKeeper | null;
}

export class OutputRecord {
  readonly #limits: KeptLimits;
  readonly #redactor: Redactor;
  readonly #rules: KeptRules;
  readonly #stdout: Windows = { live: null, postKill: null };
  readonly #stderr: Windows = { live: null, postKill: null };
  #killed = false;

  constructor(limits: KeptLimits, redactor: Redactor = NOTHING_KNOWN, rules: KeptRules = AS_TEXT) {
    this.#limits = limits;
    this.#redactor = redactor;
    this.#rules = rules;
  }

  /** Everything written, kept or not. */
  get bytesRead(): number {
    return this.liveBytes + bytesOf(this.#stdout.postKill) + bytesOf(this.#stderr.postKill);
  }

  /** Everything written before the kill. */
  get liveBytes(): number {
    return bytesOf(this.#stdout.live) + bytesOf(this.#stderr.live);
  }

  /** More was written before the kill than a limit lets keep. */
  get isOver(): boolean {
    const { stdoutBytes, stderrBytes, combinedBytes } = this.#limits;
    const [stdout, stderr] = [bytesOf(this.#stdout.live), bytesOf(this.#stderr.live)];
    return stdout > stdoutBytes || stderr > stderrBytes || stdout + stderr > combinedBytes;
  }

  /** `omittedBytes` were dropped just before `bytes`, which belong to the record from now on. */
  write(stream: 'stdout' | 'stderr', bytes: Uint8Array, omittedBytes = 0): void {
    const keeper = this.#keeperOf(stream);
    keeper.skip(omittedBytes);
    keeper.write(bytes);
  }

  /** From now on everything is output after the kill. */
  killed(): void {
    this.#killed = true;
  }

  /**
   * The frozen output. Where a stream was not read to its end more may have come: its counts are then lower bounds. `torn`: whoever
   * wrote was cut off, so that also a stream read to its end may stop in the middle of a value.
   */
  finish(drain: Drain = EMPTY_OUTPUT.drain, ends: Ends = ALL_READ, torn = false): Output {
    const { encoding } = this.#rules;
    if (this.bytesRead === 0 && encoding === 'utf8' && drain === EMPTY_OUTPUT.drain && ends.stdout && ends.stderr)
      return EMPTY_OUTPUT;
    const { stdoutBytes, stderrBytes, combinedBytes, postKillBytes } = this.#limits;
    const share = Math.floor((combinedBytes * stderrBytes) / Math.max(1, stdoutBytes + stderrBytes));
    const [outLimit, errLimit] = shared(combinedBytes, share, heldBy(this.#stdout.live), heldBy(this.#stderr.live));
    const tornOut = torn || !ends.stdout;
    const tornErr = torn || !ends.stderr;
    const stdout = this.#stream(this.#live(this.#stdout, outLimit, tornOut), ends.stdout);
    const stderr = this.#readable(this.#stream(this.#live(this.#stderr, errLimit, tornErr), ends.stderr));
    const [lateOut, lateErr] = shared(
      postKillBytes,
      Math.floor(postKillBytes / 2),
      heldBy(this.#stdout.postKill),
      heldBy(this.#stderr.postKill),
    );
    const postKill = [
      this.#stdout.postKill?.finish(lateOut, { start: this.#stdout.live !== null, end: tornOut }),
      this.#stderr.postKill?.finish(lateErr, { start: this.#stderr.live !== null, end: tornErr }),
    ];
    return Object.freeze({
      stdout,
      stderr,
      combinedBytes: stdout.bytesKept + stderr.bytesKept,
      postKill: this.#stream(both(postKill), ends.stdout && ends.stderr),
      drain: Object.freeze({ ...drain, holders: Object.freeze([...drain.holders]) }),
    });
  }

  #keeperOf(stream: 'stdout' | 'stderr'): HeadTailKeeper {
    const windows = stream === 'stdout' ? this.#stdout : this.#stderr;
    if (this.#killed) {
      windows.postKill ??= new HeadTailKeeper(this.#limits.postKillBytes, this.#redactor);
      return windows.postKill;
    }
    const { stdoutBytes, stderrBytes } = this.#limits;
    windows.live ??= new HeadTailKeeper(stream === 'stdout' ? stdoutBytes : stderrBytes, this.#redactor);
    return windows.live;
  }

  #live({ live, postKill }: Windows, limitBytes: number, torn: boolean): Kept | undefined {
    return live?.finish(limitBytes, { end: torn || postKill !== null });
  }

  #stream(kept: Kept | undefined, eof: boolean): Stream {
    const bytes = this.#rules.encoding === 'bytes' ? { bytes: joined(...(kept?.parts ?? [])) } : {};
    if (kept === undefined) return Object.freeze({ ...NOTHING_READ, ...bytes, eof });
    const { parts: _, ...told } = kept;
    return Object.freeze({ ...told, ...bytes, eof });
  }

  /**
   * Standard error as its tool reads it, where nothing of it was left out. What throws, is no text, or is longer than what may be
   * kept, leaves it as it came.
   */
  #readable(stream: Stream): Stream {
    const { readStderr } = this.#rules;
    if (readStderr === null || stream.text === '' || stream.truncated) return stream;
    try {
      const read: unknown = readStderr(stream.text);
      if (typeof read !== 'string' || read.length > Math.max(stream.text.length, this.#limits.stderrBytes))
        return stream;
      const bytes = Buffer.from(read);
      const { placeholders } = veiled(bytes, this.#redactor.spans(bytes));
      return Object.freeze({
        ...stream,
        text: this.#redactor.text(read),
        redactions: stream.redactions + placeholders,
      });
    } catch {
      return stream;
    }
  }
}

const bytesOf = (keeper: HeadTailKeeper | null): number => keeper?.bytesRead ?? 0;
const heldBy = (keeper: HeadTailKeeper | null): number => keeper?.bytesHeld ?? 0;

/** What two may keep of `limit` that hold so much: the second is sure of its share, and each may use what the other leaves. */
function shared(limit: number, secondShare: number, first: number, second: number): [number, number] {
  const forSecond = Math.max(secondShare, limit - first);
  return [limit - Math.min(second, forSecond), forSecond];
}

/** What both streams wrote after the kill, one after the other, since the order between them is not known for certain. */
function both([stdout, stderr]: readonly (Kept | undefined)[]): Kept | undefined {
  if (stdout === undefined || stderr === undefined) return stdout ?? stderr;
  return {
    text: stdout.text + stderr.text,
    parts: [...stdout.parts, ...stderr.parts],
    bytesRead: stdout.bytesRead + stderr.bytesRead,
    bytesKept: stdout.bytesKept + stderr.bytesKept,
    bytesOmitted: stdout.bytesOmitted + stderr.bytesOmitted,
    headBytes: stdout.headBytes + (stdout.truncated ? 0 : stderr.headBytes),
    truncated: stdout.truncated || stderr.truncated,
    redactions: stdout.redactions + stderr.redactions,
  };
}
