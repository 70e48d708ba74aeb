/**
 * What a person sees of a run: a progress line while it lasts, and a summary when it has ended.
 *
 * Invariants: writes to the given stream only; without a terminal it emits whole lines and no control characters of its
 * own. Deliberately absent: the value and the result, which are for programs (`value-text.ts`, standard output).
 */
import type { RunResult } from '../model/result.ts';
import type { Stop } from '../model/stop.ts';

/** The part of a writable stream that is needed here. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\u001b[2K';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;

/** One run's screen. Has a life: a progress line may be standing, and must be erased before anything else is written. */
export class Report {
  readonly #screen: Screen;
  readonly #hide: (text: string) => string;
  #standing = false;
  #told = '';

  /** `hide` takes out of each text what must not be seen. */
  constructor(screen: Screen, hide: (text: string) => string = (text) => text) {
    this.#screen = screen;
    this.#hide = hide;
  }

  /** `value` is 0 to 1, or null when unknown. */
  progress(value: number | null, note: string): void {
    const share = value === null || Number.isNaN(value) ? null : Math.min(1, Math.max(0, value));
    const words = this.#hide(note).replace(CONTROL, ' ').trim();
    if (this.#screen.isTTY) {
      const line = `${share === null ? '' : `${bar(share)} `}${words}`;
      this.#screen.write(ERASE_LINE + line.slice(0, (this.#screen.columns ?? 80) - 1));
      this.#standing = true;
      return;
    }
    // A line for each tenth, or for a new note: a log is not a film.
    const tenth = share === null ? '' : `${Math.floor(share * 10) * 10} %`;
    const line = [tenth, words].filter(Boolean).join(' ');
    if (line !== this.#told) this.#screen.write(`${line}\n`);
    this.#told = line;
  }

  /** Output of the tool, as it came. */
  output(text: string): void {
    this.#erase();
    this.#screen.write(this.#hide(text));
  }

  line(text: string): void {
    this.#erase();
    this.#screen.write(`${this.#hide(text)}\n`);
  }

  summary(result: RunResult): void {
    for (const line of summaryLines(result)) this.line(line);
  }

  #erase(): void {
    if (this.#standing) this.#screen.write(ERASE_LINE);
    this.#standing = false;
  }
}

function bar(share: number): string {
  const full = Math.round(share * BAR_WIDTH);
  const percent = String(Math.round(share * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${percent} %`;
}

/** The result in a few lines of text. */
export function summaryLines(result: RunResult): string[] {
  const { status, error, timing, cause, also, late, lease, exit, intents, output, diagnostics } = result;
  const lines = [`${status} in ${ms(timing.totalMs)}${lease ? ` (ran ${ms(timing.runningMs)})` : ''}`];
  if (error) lines.push(`  error    ${error.code}: ${error.name}: ${error.message}`);
  if (exit) lines.push(`  exit     ${exit.signal === null ? `code ${exit.code}` : `signal ${exit.signal}`}`);
  if (cause) lines.push(`  cause    ${describe(cause)}`);
  for (const stop of also) lines.push(`  also     ${describe(stop)}`);
  if (late) lines.push(`  late     the result came ${late === 'within-grace' ? 'within the grace' : 'after the kill'}`);
  if (lease?.end === 'quarantined') {
    const reasons = lease.findings.filter((finding) => finding.condemns).map((finding) => finding.kind);
    lines.push(`  isolate  quarantined${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}`);
  }
  for (const intent of intents) lines.push(`  effect   ${intent.name}: ${intent.state}`);
  for (const [name, stream] of [
    ['stdout', output.stdout],
    ['stderr', output.stderr],
  ] as const) {
    if (stream.truncated) lines.push(`  ${name}   ${stream.bytesOmitted} of ${stream.bytesRead} bytes omitted`);
  }
  if (output.drain.holders.length > 0) lines.push(`  pipe     still held by ${output.drain.holders.join(', ')}`);
  for (const { code, message } of diagnostics) lines.push(`  note     ${code}: ${message}`);
  return lines;
}

function describe(stop: Stop): string {
  const words = stop.reason === undefined ? '' : ` (${stop.reason})`;
  return `${stop.kind} at ${ms(stop.atMs)}, while ${stop.state}${words}`;
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
