/**
 * ToolContext: what a tool is given, bound to one lease.
 *
 * Invariants: after `end` nothing of it posts progress or log lines any more; every effect runs only after its intent
 * was granted, and how it ended is told before the tool goes on; a throw after a stop leaves the intent open, since an
 * aborted call proves nothing. Progress and log lines yield to the credit window, the last of each is kept and sent.
 * Deliberately absent: any decision on statuses, and the keys of intents, which the host computes.
 */
import { toPlain } from '../src/wire/failure.ts';
import { performEffect } from '../src/wire/perform.ts';
import { type HostCalls, type LogMessage, MAX_CALLS_IN_FLIGHT, type RunMessage } from '../src/wire/protocol.ts';
import { freeze, isNaN, sliceText, stringify, textOf } from '../src/wire/uncurried.ts';
import type { ToolContext } from './index.ts';
import type { Outbox } from './outbox.ts';
import { Error, now, Uint8Array } from './references.ts';
import type { StopWatch } from './stop-watch.ts';

/** At most one progress message per this many milliseconds. */
const PROGRESS_MS = 50;
/** Characters of a log line's message, and of its fields. */
const LINE_LENGTH = 2_048;
/** In place of what is too long, as JSON. */
const CUT = '{"truncated":true}';

export interface LiveContext {
  readonly context: ToolContext;
  /** Sends what was withheld, and mutes the context. */
  end(): void;
}

export function createToolContext(
  run: RunMessage,
  watch: StopWatch,
  outbox: Outbox,
  calls: () => HostCalls,
): LiveContext {
  const { seq, ctx, effects } = run;
  const progress = openProgress(seq, outbox);
  const log = openLog(seq, outbox);
  let ended = false;
  let inFlight = 0;

  const bounded = async <T>(call: () => Promise<T>): Promise<T> => {
    if (inFlight >= MAX_CALLS_IN_FLIGHT)
      throw new Error(
        `at most ${MAX_CALLS_IN_FLIGHT} calls of perform and blobs may be unanswered at once, and as many are: ` +
          'await some of them before the next',
      );
    inFlight += 1;
    try {
      return await call();
    } finally {
      inFlight -= 1;
    }
  };
  const perform: ToolContext['perform'] = async (intent, effect) => {
    if (effects === 'none') throw new Error("a tool with effects 'none' cannot perform an effect");
    if (typeof intent !== 'object' || intent === null)
      throw new TypeError("perform takes an intent first, an object such as { name: 'charge' }");
    const { name, key, onAmbiguous } = intent;
    if (typeof name !== 'string' || name === '')
      throw new TypeError('the intent given to perform needs a name of at least one character');
    if (typeof effect !== 'function')
      throw new TypeError('perform takes the effect second, a function that is called with the key');
    const wanted = { name, key: key ?? null, onAmbiguous: onAmbiguous ?? 'hold' };
    const stop = {
      stopped: () => watch.stopped(),
      get reason() {
        return watch.known().reason;
      },
    };
    return bounded(() => performEffect(calls(), seq, wanted, effect, stop));
  };

  const context: ToolContext = freeze({
    tenant: ctx.tenant,
    run: ctx.run,
    branch: ctx.branch,
    requestId: ctx.requestId,
    attempt: ctx.attempt,
    trace: freeze(ctx.trace),
    get signal() {
      return watch.signal;
    },
    deadline: freeze({ remainingMs: () => watch.remainingMs() }),
    stopRequested: () => watch.stopped(),
    progress(value: number | null, note?: string) {
      if (!ended) progress.tell(value, note);
    },
    logger: freeze({
      debug: (message: string, fields?: object) => ended || log.line('debug', message, fields),
      info: (message: string, fields?: object) => ended || log.line('info', message, fields),
      warn: (message: string, fields?: object) => ended || log.line('warn', message, fields),
      error: (message: string, fields?: object) => ended || log.line('error', message, fields),
    }) as ToolContext['logger'],
    perform,
    blobs: freeze({
      async put(bytes: Uint8Array) {
        if (!(bytes instanceof Uint8Array)) throw new TypeError('blobs.put takes a Uint8Array');
        return bounded(() => calls().putBlob(seq, bytes));
      },
      get: (digest: string) => bounded(() => calls().getBlob(seq, textOf(digest))),
    }),
  });
  return {
    context,
    end() {
      ended = true;
      progress.flush();
      log.flush();
    },
  };
}

function openProgress(seq: number, outbox: Outbox): { tell(value: unknown, note: unknown): void; flush(): void } {
  let sentAt = Number.NEGATIVE_INFINITY;
  let withheld: { readonly value: number | null; readonly note: string | null } | null = null;
  const send = (): void => {
    if (withheld === null) return;
    const { value, note } = withheld;
    withheld = null;
    sentAt = now();
    const credit = outbox.charge(note === null ? 0 : note.length * 2);
    outbox.post({ t: 'progress', seq, value, ...(note === null ? {} : { note }), credit });
  };
  return {
    tell(value, note) {
      const known = typeof value === 'number' && !isNaN(value);
      withheld = {
        value: known ? (value < 0 ? 0 : value > 1 ? 1 : value) : null,
        note: typeof note === 'string' ? sliceText(note, 0, LINE_LENGTH) : null,
      };
      if (now() - sentAt >= PROGRESS_MS && outbox.room() >= LINE_LENGTH * 2) send();
    },
    flush: send,
  };
}

type Line = Pick<LogMessage, 'level' | 'message' | 'fields'>;

function openLog(
  seq: number,
  outbox: Outbox,
): { line(level: Line['level'], message: unknown, fields: unknown): void; flush(): void } {
  let dropped = 0;
  let withheld: Line | null = null;
  const send = (line: Line): void => {
    const credit = outbox.charge((line.message.length + (line.fields?.length ?? 0)) * 2);
    outbox.post({ t: 'log', seq, ...line, dropped, credit });
    dropped = 0;
  };
  const flush = (): void => {
    if (withheld !== null) send(withheld);
    withheld = null;
  };
  return {
    line(level, message, fields) {
      const line = { level, message: lineText(message), fields: fieldsText(fields) };
      if (outbox.room() < LINE_LENGTH * 8) {
        if (withheld !== null) dropped += 1;
        withheld = line;
        return;
      }
      flush();
      send(line);
    },
    flush,
  };
}

function lineText(message: unknown): string {
  const { plain, truncated } = toPlain(message);
  if (typeof message === 'string' || typeof plain === 'string')
    return sliceText(typeof message === 'string' ? message : (plain as string), 0, LINE_LENGTH);
  // Within JSON the host could not see where a text was cut, nor hide the torn rest of a value there.
  return truncated ? CUT : sliceText(stringify(plain) ?? '', 0, LINE_LENGTH);
}

function fieldsText(fields: unknown): string | null {
  if (fields === undefined || fields === null) return null;
  try {
    const text = stringify(toPlain(fields).plain);
    return text.length <= LINE_LENGTH ? text : CUT;
  } catch {
    // A tool may have put a `toJSON` on a prototype.
    return null;
  }
}
