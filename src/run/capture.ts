/**
 * Capture: what one attempt wrote, logged and reported, on its way to the result and to whoever listens.
 *
 * Invariants: bounded in every direction, and what is over is counted; all text passes the redactor; a callback that throws
 * is told once through a diagnostic and hears no more. Deliberately absent: limits of the far side (its credit window).
 */
import type { OutputPiece } from '../model/event.ts';
import type { Diagnostic, LogLine, Output } from '../model/result.ts';
import { boundText, deepFrozen, TEXT_LIMITS } from '../output/bounded.ts';
import { EMPTY_OUTPUT, type Ends, OutputRecord } from '../output/capture-limits.ts';
import { Pieces } from '../output/pieces.ts';
import { toFailure } from '../wire/failure.ts';
import type { DrainedMessage, LogMessage, OutputMessage, ProgressMessage } from '../wire/protocol.ts';
import type { AttemptSetting } from './attempt-setting.ts';

type Hearing = Pick<
  AttemptSetting,
  'clock' | 'startedAt' | 'redactor' | 'output' | 'tool' | 'emit' | 'onProgress' | 'onOutput'
>;

const NONE: readonly never[] = Object.freeze([]);
/** Programs that still held a pipe: so many are told. */
const MOST_HOLDERS = 16;
/** The isolate cuts long text, and does not say where it did. */
const MAYBE_CUT = Object.freeze({ end: true });

export class Capture {
  /** Facts that came after the outcome was decided. */
  lateEvents = 0;
  readonly #setting: Hearing;
  #onProgress: Hearing['onProgress'];
  #onOutput: Hearing['onOutput'];
  #record: OutputRecord | null = null;
  #drained: DrainedMessage | null = null;
  #pieces: Record<OutputPiece['stream'], Pieces> | null = null;
  #isOver = false;
  #logs: LogLine[] | null = null;
  #diagnostics: Diagnostic[] | null = null;
  #droppedLogs = 0;
  #droppedDiagnostics = 0;

  constructor(setting: Hearing) {
    this.#setting = setting;
    this.#onProgress = setting.onProgress;
    this.#onOutput = setting.onOutput;
  }

  /**
   * `killed`: the kill of the isolate had been issued when the host read this. True once, when the run is to be stopped for its
   * output: what it wrote before the kill passed `readBytes`, or passed what may be kept and the tool is to stop there.
   */
  take(message: OutputMessage | DrainedMessage | ProgressMessage | LogMessage, killed: boolean): boolean {
    switch (message.t) {
      case 'output':
        return this.#takeOutput(message, killed || message.postKill === true);
      case 'drained':
        this.#drained = message;
        return false;
      case 'progress':
        this.#takeProgress(message);
        return false;
      case 'log':
        this.#takeLog(message);
        return false;
    }
  }

  /** Tells those who listen what was held back of the output. To be called before the end is told. Arguments: as of `output`. */
  flush(complete = true, torn = false): void {
    if (this.#pieces === null) return;
    const { stdout, stderr } = this.#ends(complete);
    this.#pieces.stdout.end(torn || !stdout);
    this.#pieces.stderr.end(torn || !stderr);
  }

  note(code: string, message: string): void {
    this.#diagnostics ??= [];
    if (this.#diagnostics.length >= TEXT_LIMITS.diagnostics) {
      this.#droppedDiagnostics += 1;
      return;
    }
    const text = boundText(this.#setting.redactor.text(message, MAYBE_CUT), TEXT_LIMITS.logLineBytes);
    this.#diagnostics.push(Object.freeze({ code, message: text, atMs: this.#elapsed() }));
  }

  /**
   * `complete`: nothing more can come. Where reading was ended by the isolate, it has said so itself. `torn`: the tool was cut off,
   * and what it wrote last may be the beginning of a known value.
   */
  output(complete: boolean, torn = false): Output {
    const drained = this.#drained;
    if (this.#record === null && complete && drained === null && this.#setting.tool.outputRules.encoding === 'utf8')
      return EMPTY_OUTPUT;
    return this.#kept.finish(this.#drain(complete), this.#ends(complete), torn);
  }
  get logs(): readonly LogLine[] {
    return this.#logs === null ? NONE : Object.freeze([...this.#logs]);
  }
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics === null ? NONE : Object.freeze([...this.#diagnostics]);
  }
  get dropped(): { readonly diagnostics: number; readonly logLines: number; readonly lateEvents: number } {
    return { diagnostics: this.#droppedDiagnostics, logLines: this.#droppedLogs, lateEvents: this.lateEvents };
  }

  get #kept(): OutputRecord {
    const { output, redactor, tool } = this.#setting;
    this.#record ??= new OutputRecord(output, redactor, tool.outputRules);
    return this.#record;
  }

  #drain(complete: boolean): Output['drain'] {
    const { redactor } = this.#setting;
    if (this.#drained === null) return complete ? EMPTY_OUTPUT.drain : { ended: 'cap', ms: 0, holders: NONE };
    const { ended, ms, holders } = this.#drained;
    const told = holders.slice(0, MOST_HOLDERS);
    return { ended, ms, holders: told.map((holder) => boundText(redactor.text(holder), TEXT_LIMITS.nameBytes)) };
  }

  #ends(complete: boolean): Ends {
    if (this.#drained === null) return { stdout: complete, stderr: complete };
    return { stdout: this.#drained.stdoutEof, stderr: this.#drained.stderrEof };
  }

  #takeOutput({ stream, bytes, omittedBytes }: OutputMessage, killed: boolean): boolean {
    const record = this.#kept;
    if (killed) record.killed();
    record.write(stream, bytes, omittedBytes);
    if (this.#onOutput !== null || this.#setting.emit !== silent) this.#livePieces()[stream].write(bytes, omittedBytes);
    if (this.#isOver) return false;
    const { output, tool } = this.#setting;
    this.#isOver = record.liveBytes > output.readBytes || (tool.outputRules.onLimit === 'stop' && record.isOver);
    return this.#isOver;
  }

  #livePieces(): Record<OutputPiece['stream'], Pieces> {
    const { redactor } = this.#setting;
    const hear = (piece: OutputPiece) => this.#tell(piece);
    this.#pieces ??= { stdout: new Pieces('stdout', redactor, hear), stderr: new Pieces('stderr', redactor, hear) };
    return this.#pieces;
  }

  #tell(piece: OutputPiece): void {
    this.#setting.emit({ type: 'tool.output', ...piece });
    this.#call(
      'onOutput',
      () => this.#onOutput?.(piece),
      () => {
        this.#onOutput = null;
      },
    );
  }

  #takeProgress({ value, note }: ProgressMessage): void {
    const { redactor, emit } = this.#setting;
    const text =
      note === undefined ? {} : { note: boundText(redactor.text(note, MAYBE_CUT), TEXT_LIMITS.logLineBytes) };
    const progress = Object.freeze({ value, ...text });
    emit({ type: 'tool.progress', ...progress });
    this.#call(
      'onProgress',
      () => this.#onProgress?.(progress),
      () => {
        this.#onProgress = null;
      },
    );
  }

  #takeLog({ level, message, fields, dropped }: LogMessage): void {
    this.#droppedLogs += dropped;
    this.#logs ??= [];
    if (this.#logs.length >= TEXT_LIMITS.logLines) {
      this.#droppedLogs += 1;
      return;
    }
    const { redactor } = this.#setting;
    const plain = fields === null ? undefined : redactor.plain(parsed(fields), MAYBE_CUT);
    this.#logs.push(
      Object.freeze({
        level,
        message: boundText(redactor.text(message, MAYBE_CUT), TEXT_LIMITS.logLineBytes),
        ...(typeof plain === 'object' && plain !== null
          ? { fields: deepFrozen(plain) as Record<string, unknown> }
          : {}),
        atMs: this.#elapsed(),
      }),
    );
  }

  #call(name: string, call: () => unknown, drop: () => void): void {
    const broken = (error: unknown) => {
      drop();
      this.note('CALLBACK_THREW', `${name} threw and hears no more: ${toFailure(error, 'TOOL_ERROR').message}`);
    };
    try {
      const returned = call();
      if (returned instanceof Promise) returned.catch(broken);
    } catch (error) {
      broken(error);
    }
  }

  #elapsed(): number {
    return this.#setting.clock.now() - this.#setting.startedAt;
  }
}

/** The emitter of a request nobody observes. */
export const silent: AttemptSetting['emit'] = () => undefined;

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
