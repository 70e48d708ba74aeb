/**
 * What `run` and `exec` have in common: one tool, one request, one exit code.
 *
 * Invariants: the only place with signal handlers, and they are gone when the request has ended; standard output carries
 * the value, the result or the command's own output and nothing else; secrets are hidden on both streams. Uses the public
 * surface as any embedder would, and the redactor. Deliberately absent: which tool it is.
 */
import type { OutputPiece, RunScope, Supervisor, Tool } from '../index.ts';
import { createSupervisor } from '../index.ts';
import { systemClock } from '../model/time.ts';
import { createRedactor } from '../output/redaction.ts';
import type { RequestOrder } from './arguments.ts';
import { Flow, printed } from './flow.ts';
import { openRecord, recoveredLines } from './record.ts';
import { Report } from './report.ts';
import { EXIT_CODES, EXIT_USAGE } from './usage.ts';
import { resultText, valueText } from './value-text.ts';

/** Nothing runs any more when this is waited for: what has not ended by then will not. */
const CLOSE_MS = 1_000;

export interface CarriedOut {
  readonly exitCode: number;
  /** A thread could not be ended, or a reader takes nothing, which would hold the process for ever. */
  readonly stuck: boolean;
}

/** What is to be run. `passthrough`: standard output carries the tool's instead of the value. */
export interface Errand {
  readonly tool: Tool;
  readonly input: unknown;
  readonly passthrough: boolean;
}

/** Carries out the order. What `prepare` throws is a usage error, and then nothing has been started. */
export async function carryOut(order: RequestOrder, prepare: () => Promise<Errand>): Promise<CarriedOut> {
  // A reader that went away is no reason to leave what runs behind.
  process.stderr.on('error', () => undefined);
  let hide = (text: string): string => text;
  try {
    const values = secretsIn(order.secretEnv);
    if (values.length > 0) hide = hidden(values);
    const errand = await prepare();
    const report = new Report(process.stderr, hide);
    const record = order.log === null ? null : await openRecord(order.log);
    try {
      const stores = record === null ? {} : { eventLog: record.eventLog, blobs: record.blobs };
      const supervisor = createSupervisor({ isolates: 1, standby: 0, redact: { values }, ...stores });
      if (record !== null) for (const line of recoveredLines(await supervisor.recover())) report.line(line);
      return await request(order, errand, supervisor, report, hide);
    } finally {
      await record?.eventLog.close();
    }
  } catch (error) {
    new Report(process.stderr, hide).line(`leasehold: ${wordsOf(error)}`);
    return { exitCode: EXIT_USAGE, stuck: false };
  }
}

async function request(
  order: RequestOrder,
  { tool, input, passthrough }: Errand,
  supervisor: Supervisor,
  report: Report,
  hide: (text: string) => string,
): Promise<CarriedOut> {
  const scope = supervisor.openScope({ tenant: 'cli' });
  const forget = followProcess(supervisor, scope, report);
  const tellOmitted = (bytes: number) => report.line(`leasehold: ${bytes} bytes of output were left out`);
  const toStderr = new Flow(process.stderr, (text) => report.output(text), tellOmitted);
  const toStdout = new Flow(process.stdout, (text) => process.stdout.write(Buffer.from(hide(text))), tellOmitted);
  const onOutput = ({ stream, text, omittedBytes }: OutputPiece) => {
    if (passthrough && stream === 'stdout') toStdout.write(text, omittedBytes);
    else toStderr.write(text);
  };
  try {
    const result = await scope.runTool(tool, input, {
      ...(order.runTimeoutMs === null ? {} : { runTimeoutMs: order.runTimeoutMs }),
      ...(order.operationTimeoutMs === null ? {} : { operationTimeoutMs: order.operationTimeoutMs }),
      ...(order.graceMs === null ? {} : { graceMs: order.graceMs }),
      onProgress: ({ value, note }) => report.progress(value, note ?? ''),
      onOutput,
    });
    for (const flow of [toStdout, toStderr]) flow.end();
    report.summary(result);
    const closing = supervisor.close({ withinMs: CLOSE_MS });
    const words = order.json ? resultText(result, hide) : valueText(result.value, hide);
    const isPrinted = await printed(process.stdout, passthrough || words === '' ? '' : `${words}\n`, systemClock);
    const { abandoned } = await closing;
    const stuck = abandoned.some(({ kind }) => kind === 'thread');
    if (stuck) report.line('leasehold: the tool is stuck in a system call; ending the process');
    else if (abandoned.length > 0) report.line('leasehold: processes of the command may still be running');
    if (!isPrinted) report.line('leasehold: nobody reads standard output; ending the process');
    return { exitCode: EXIT_CODES[result.status], stuck: stuck || !isPrinted };
  } finally {
    forget();
  }
}

/**
 * The first Ctrl-C cancels, the second forces; a third finds no handler and ends the process as the system does. Told to
 * end or hung up on, the supervisor closes and the run counts as interrupted. Nobody reading standard output cancels.
 */
function followProcess(supervisor: Supervisor, scope: RunScope, report: Report): () => void {
  let interrupts = 0;
  const onInterrupt = (): void => {
    interrupts += 1;
    const force = interrupts > 1;
    report.line(force ? 'forcing the end' : 'cancelling; Ctrl-C again forces the end');
    scope.cancel(force ? 'second Ctrl-C' : 'Ctrl-C', { force });
    if (force) process.off('SIGINT', onInterrupt);
  };
  const onEnd = (signal: NodeJS.Signals): void => {
    report.line(`closing on ${signal}`);
    void supervisor.close();
  };
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onEnd);
  process.on('SIGHUP', onEnd);
  // It stays: a write may fail after the end as well.
  process.stdout.on('error', () => scope.cancel('standard output was closed'));
  return () => {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onEnd);
    process.off('SIGHUP', onEnd);
  };
}

function secretsIn(names: readonly string[]): string[] {
  return names.map((name) => {
    const value = process.env[name];
    if (value === undefined) throw new Error(`--secret-env: there is no variable '${name}'`);
    return value;
  });
}

function hidden(values: readonly string[]): (text: string) => string {
  const redactor = createRedactor({ values });
  return (text) => redactor.text(text);
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A name for a tool, made of the name of a file. */
export function toolNameOf(stem: string): string {
  const name = stem
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z]+/, '');
  return name.slice(0, 64) || 'tool';
}
