/**
 * `leasehold log`: the entries of an event log: a line each for people, JSON lines for programs.
 *
 * Invariants: the log is only read, and let go before this settles; what an entry was given as input or value is not in the
 * lines for people. Deliberately absent: redaction; what is in the log has passed it.
 */
import { isLeaseholdError, type LogEvent } from '../index.ts';
import { isoTime } from '../model/time.ts';
import { attemptKey } from '../record/log-order.ts';
import { lostAttempts } from '../record/lost-attempts.ts';
import { type EventLogReader, openForReading } from '../sqlite/index.ts';
import type { LogOrder } from './arguments.ts';
import { wordsOf } from './carry-out.ts';
import { LOG_EXIT_CODES } from './usage.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;
const HEADINGS = ['SEQ', 'TIME', 'RUN', 'REQUEST', 'ENTRY', 'EFFECT', 'SAYS'];
/** Of each column but the last; what is longer moves the rest of its line. */
const WIDTHS = [6, 24, 16, 28, 10, 14];

/** Resolves with the exit code. */
export async function showLog(order: LogOrder): Promise<number> {
  const log = await opened(order.file);
  if (typeof log === 'number') return log;
  try {
    const isShown = order.open ? await amongOpen(log) : () => true;
    if (!order.json) await print(lineOf(HEADINGS));
    for await (const event of log.read(order.run === null ? {} : { run: order.run })) {
      if (isShown(event)) await print(order.json ? JSON.stringify(event) : lineOf(columnsOf(event)));
    }
    return 0;
  } catch (error) {
    return complain(error);
  } finally {
    await log.close();
  }
}

/** A log to read, or the exit code that says why there is none. */
export async function opened(file: string): Promise<EventLogReader | number> {
  return openForReading(file).catch(complain);
}

/** Tells what is wrong, and the exit code for it. */
export function complain(error: unknown): number {
  process.stderr.write(`leasehold: ${wordsOf(error)}\n`);
  const isInUse = isLeaseholdError(error) && error.leaseholdCode === 'ERR_LEASEHOLD_LOG_LOCKED';
  return isInUse ? LOG_EXIT_CODES.inUse : LOG_EXIT_CODES.failed;
}

/** Waits for a slow reader, and for none that went away. */
export function print(line: string): Promise<void> {
  return new Promise((done) => {
    process.stdout.write(`${line}\n`, () => done());
  });
}

async function amongOpen(log: EventLogReader): Promise<(event: LogEvent) => boolean> {
  const found = await lostAttempts({ read: () => log.read() });
  const keys = new Set(found.map(({ first }) => attemptKey(first)));
  return (event) => keys.has(attemptKey(event));
}

function columnsOf({ seq, atWall, run, requestId, attempt, kind, intent, body }: LogEvent): string[] {
  const request = attempt === 1 ? requestId : `${requestId} (${attempt})`;
  return [String(seq), isoTime(atWall), run, request, kind, intent, saying(body)];
}

/** What decides, in the order of the words a reader looks for. */
function saying(body: LogEvent['body']): string {
  const words = ['tool', 'effects', 'state', 'verdict', 'status', 'cause', 'code', 'key', 'onAmbiguous'].flatMap(
    (name) => {
      const value = body[name];
      return typeof value === 'string' ? [name === 'key' ? `key ${value}` : value] : [];
    },
  );
  return words.join(', ');
}

function lineOf(columns: readonly string[]): string {
  return columns
    .map((text, column) => text.replace(CONTROL, ' ').padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd();
}
