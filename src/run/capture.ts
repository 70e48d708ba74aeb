/**
 * Capture: what one attempt wrote, logged and reported, on its way to the result and to whoever listens.
 *
 * Invariants: bounded in every direction, and what is over is counted; all text passes the redactor; a callback that throws
 * is told once through a diagnostic and hears no more. Deliberately absent: limits of the far side (its credit window).
 */
import type { Diagnostic, LogLine, Output } from '../model/result.ts';
import { boundText, deepFrozen, TEXT_LIMITS } from '../output/bounded.ts';
import { EMPTY_OUTPUT, OutputRecord } from '../output/capture-limits.ts';
import { toFailure } from '../wire/failure.ts';
import type { LogMessage, OutputMessage, ProgressMessage } from '../wire/protocol.ts';
import type { AttemptSetting } from './attempt-setting.ts';

type Hearing = Pick<AttemptSetting, 'clock' | 'startedAt' | 'redactor' | 'output' | 'emit' | 'onProgress' | 'onOutput'>;

const NONE: readonly never[] = Object.freeze([]);
/** The isolate cuts long text, and does not say where it did. */
const MAYBE_CUT = Object.freeze({ end: true });

export class Capture {
  /** Facts that came after the outcome was decided. */
  lateEvents = 0;
  readonly #setting: Hearing;
  #onProgress: Hearing['onProgress'];
  #onOutput: Hearing['onOutput'];
  #record: OutputRecord | null = null;
  #logs: LogLine[] | null = null;
  #diagnostics: Diagnostic[] | null = null;
  #droppedLogs = 0;
  #droppedDiagnostics = 0;

  constructor(setting: Hearing) {
    this.#setting = setting;
    this.#onProgress = setting.onProgress;
    this.#onOutput = setting.onOutput;
  }

  /** `killed`: the kill of the isolate had been issued when the host read this. */
  take(message: OutputMessage | ProgressMessage | LogMessage, killed: boolean): void {
    switch (message.t) {
      case 'output':
        this.#takeOutput(message, killed);
        break;
      case 'progress':
        this.#takeProgress(message);
        break;
      case 'log':
        this.#takeLog(message);
    }
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

  /** `complete`: nothing more can come. */
  output(complete: boolean): Output {
    if (this.#record === null && complete) return EMPTY_OUTPUT;
    this.#record ??= new OutputRecord(this.#setting.output, this.#setting.redactor);
    const ended = complete ? 'settled' : 'cap';
    return this.#record.finish(complete ? EMPTY_OUTPUT.drain : { ended, ms: 0, holders: NONE }, complete);
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

  #takeOutput({ stream, bytes, omittedBytes }: OutputMessage, killed: boolean): void {
    const { output, redactor, emit } = this.#setting;
    this.#record ??= new OutputRecord(output, redactor);
    if (killed) this.#record.killed();
    this.#record.write(stream, bytes, omittedBytes);
    if (this.#onOutput === null && emit === silent) return;
    const piece = Object.freeze({ stream, text: redactor.text(Buffer.from(bytes).toString('utf8')), omittedBytes });
    emit({ type: 'tool.output', ...piece });
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
