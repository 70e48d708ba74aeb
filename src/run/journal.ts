/**
 * Journal: what one attempt writes into the event log, and what the log has acknowledged of it.
 *
 * Invariants: only acknowledged entries decide anything; an entry that could not be written is as if it had not happened.
 * Deliberately absent: the verdict over the entries (`decide/classify.ts`).
 */
import type { IntentRecord } from '../model/result.ts';
import type { EventLog, LogEvent, LogEventKind } from '../model/stores.ts';
import type { Clock } from '../model/time.ts';
import { foldIntents } from '../record/fold.ts';
import { toFailure } from '../wire/failure.ts';

/** Under whose name an attempt writes. */
export interface AttemptNames {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly requestId: string;
  readonly attempt: number;
}

/** Who takes diagnostics. */
export interface Notes {
  note(code: string, message: string): void;
}

type Body = LogEvent['body'];
type Written = ReturnType<EventLog['append']>;

const NO_INTENTS: readonly IntentRecord[] = Object.freeze([]);

export class Journal {
  readonly #log: EventLog;
  readonly #names: AttemptNames;
  readonly #clock: Clock;
  /** Every entry of an intent, and the one from which their times count. */
  readonly #entries: LogEvent[] = [];
  #prepared: LogEvent | null = null;
  #unacknowledged: Set<Promise<unknown>> | null = null;
  /** Settles when the last entry that has to wait for a body before it was handed to the log; null when none has. */
  #turn: Promise<unknown> | null = null;

  constructor(log: EventLog, names: AttemptNames, clock: Clock) {
    this.#log = log;
    this.#names = names;
    this.#clock = clock;
  }

  /**
   * Appends one entry; `intent` is `''` for the attempt itself. Undefined when it is recorded at once, else a promise. A body
   * that is still being made, which must not fail, holds up all entries after it.
   * @throws (or rejects) when the log refuses the entry or cannot write it.
   */
  write(kind: LogEventKind, intent: string, body: Body | Promise<Body>): undefined | Promise<void> {
    const { tenant, run, branch, requestId, attempt } = this.#names;
    const atWall = this.#clock.wall();
    const append = (made: Body) =>
      this.#log.append({ tenant, run, branch, requestId, attempt, intent, kind, atWall, body: made });
    const written = body instanceof Promise || this.#turn !== null ? this.#afterTurn(() => body, append) : append(body);
    // Any thenable, of any realm: what is not acknowledged yet must not pass for recorded.
    if (!isThenable(written)) {
      this.#note(written);
      return undefined;
    }
    const noted = Promise.resolve(written).then((event) => this.#note(event));
    this.track(noted);
    return noted;
  }

  /** Hands an entry to the log once those before it were handed over; not once they were acknowledged. */
  #afterTurn(body: () => Body | Promise<Body>, append: (made: Body) => Written): Promise<LogEvent> {
    return new Promise((resolve) => {
      const handed = Promise.resolve(this.#turn)
        .then(body)
        .then((made) => {
          // Within a promise, a throw of the log is a rejection.
          resolve((async () => append(made))());
        })
        .then(() => {
          if (this.#turn === handed) this.#turn = null;
        });
      this.#turn = handed;
    });
  }

  /** The same for an entry that decides nothing: a failure becomes a diagnostic. Whether, or when, it was recorded. */
  tryWrite(kind: LogEventKind, body: Body | Promise<Body>, notes: Notes): boolean | Promise<boolean> {
    const failed = (error: unknown) => {
      notes.note('LOG_FAILED', `The entry "${kind}" was not recorded: ${toFailure(error, 'TOOL_ERROR').message}`);
      return false;
    };
    try {
      return this.write(kind, '', body)?.then(() => true, failed) ?? true;
    } catch (error) {
      return failed(error);
    }
  }

  /** Makes the attempt's end wait for a chain of entries that are still on their way. */
  track(entries: Promise<unknown>): void {
    this.#unacknowledged ??= new Set();
    const unacknowledged = this.#unacknowledged.add(entries);
    const forget = () => unacknowledged.delete(entries);
    entries.then(forget, forget);
  }

  /** The acknowledged intents, each in its last state. */
  intents(): readonly IntentRecord[] {
    if (this.#entries.length === 0) return NO_INTENTS;
    return foldIntents(this.#prepared === null ? this.#entries : [this.#prepared, ...this.#entries]);
  }

  /** Null when nothing is on its way; else settles once all of it was acknowledged or refused. */
  untilAcknowledged(): Promise<unknown> | null {
    return this.#unacknowledged === null || this.#unacknowledged.size === 0
      ? null
      : Promise.allSettled(this.#unacknowledged);
  }

  #note(event: LogEvent): void {
    // A log may acknowledge in any order.
    if (event.kind === 'prepared') this.#prepared = event;
    else if (event.kind === 'dispatched' || event.kind === 'settled') this.#entries.push(event);
  }
}

function isThenable(x: object): x is PromiseLike<LogEvent> {
  return 'then' in x && typeof x.then === 'function';
}
