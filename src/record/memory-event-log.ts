/**
 * An event log in memory: the default, and the reference for the order that every log enforces.
 *
 * Invariants: an append is synchronous, costs the same however long the log is, and records nothing when it throws.
 * Attempts that are open are never dropped; of the closed ones the oldest are, once there are more than `maxAttempts`.
 * Deliberately absent: anything that survives the process.
 */
import { LeaseholdError } from '../model/errors.ts';
import type { EventLog, LogEvent, NewLogEvent, OpenIntent } from '../model/stores.ts';

/** One attempt: its entries, and how far each intent has come. */
interface Entry {
  readonly events: LogEvent[];
  /** Made when the first intent comes; most attempts have none. */
  intents: Map<string, 'dispatched' | 'settled'> | null;
  admitted: boolean;
  closed: boolean;
}

/** An event log whose appends are done when they return. */
export interface MemoryLog extends EventLog {
  append(event: NewLogEvent): LogEvent;
}

class MemoryEventLog implements MemoryLog {
  readonly durability = 'none';
  readonly #maxAttempts: number;
  readonly #attempts = new Map<string, Entry>();
  /** A ring of closed attempts. Not a set read at its front: V8 walks over what was deleted there, which made it 9 µs. */
  readonly #closed: string[] = [];
  #closedCount = 0;
  #seq = 0;

  constructor(maxAttempts: number) {
    this.#maxAttempts = maxAttempts;
  }

  append(event: NewLogEvent): LogEvent {
    const id = `${event.requestId} ${event.attempt}`;
    const known = this.#attempts.get(id);
    const entry: Entry = known ?? { events: [], intents: null, admitted: false, closed: false };
    const fault = faultOf(entry, event);
    if (fault !== null) {
      throw new LeaseholdError('LOG_ORDER', `Entry "${event.kind}" of ${event.requestId} refused: ${fault}.`);
    }
    const { tenant, run, branch, requestId, attempt, intent, kind, atWall, body } = event;
    this.#seq += 1;
    const ord = entry.events.length;
    const logged = {
      seq: this.#seq,
      tenant,
      run,
      branch,
      requestId,
      attempt,
      ord,
      intent,
      kind,
      epoch: 1,
      atWall,
      body,
    };
    entry.events.push(logged);
    if (known === undefined) this.#attempts.set(id, entry);
    if (kind === 'admitted') entry.admitted = true;
    else if (kind === 'dispatched' || kind === 'settled') mark(entry, intent, kind);
    else if (kind === 'reconciled' && body['verdict'] !== 'unknown') mark(entry, intent, 'settled');
    else if (kind === 'closed') this.#close(id, entry);
    return logged;
  }

  #close(id: string, entry: Entry): void {
    entry.closed = true;
    const place = this.#closedCount % this.#maxAttempts;
    this.#closedCount += 1;
    const oldest = this.#closed[place];
    if (oldest !== undefined) this.#attempts.delete(oldest);
    this.#closed[place] = id;
  }

  async *read(filter: { run?: string; after?: number; limit?: number } = {}): AsyncIterable<LogEvent> {
    const { run, after = 0, limit = Number.POSITIVE_INFINITY } = filter;
    const found: LogEvent[] = [];
    for (const { events } of this.#attempts.values()) {
      for (const event of events) if (event.seq > after && (run === undefined || event.run === run)) found.push(event);
    }
    yield* found.sort((a, b) => a.seq - b.seq).slice(0, limit);
  }

  async *openIntents(): AsyncIterable<OpenIntent> {
    const open: OpenIntent[] = [];
    for (const { events, intents } of this.#attempts.values()) {
      for (const event of events) {
        if (event.kind === 'dispatched' && intents?.get(event.intent) === 'dispatched') open.push(openIntentOf(event));
      }
    }
    yield* open;
  }
}

function mark(entry: Entry, intent: string, state: 'dispatched' | 'settled'): void {
  entry.intents ??= new Map();
  entry.intents.set(intent, state);
}

function openIntentOf({ tenant, run, branch, requestId, attempt, intent, atWall, body }: LogEvent): OpenIntent {
  const text = (name: string, otherwise: string): string => {
    const value = body[name];
    return typeof value === 'string' ? value : otherwise;
  };
  const onAmbiguous = text('onAmbiguous', 'hold');
  return {
    tenant,
    run,
    branch,
    requestId,
    attempt,
    intent,
    key: text('key', ''),
    onAmbiguous,
    tool: text('tool', ''),
    atWall,
  };
}

/** Why an entry may not come next in its attempt; null when it may. */
function faultOf(entry: Entry, { kind, intent }: NewLogEvent): string | null {
  const late = kind === 'late' || kind === 'reconciled';
  if (late !== entry.closed) return late ? 'the attempt is not closed' : 'the attempt is closed';
  const state = entry.intents?.get(intent);
  switch (kind) {
    case 'prepared':
      return intent !== '' ? 'it is of an intent' : entry.events.length > 0 ? 'it must come first' : null;
    case 'admitted':
      return intent !== '' ? 'it is of an intent' : entry.admitted ? 'the attempt is admitted already' : null;
    case 'closed':
      return intent !== '' ? 'it is of an intent' : null;
    case 'dispatched':
      if (!entry.admitted) return 'the attempt is not admitted';
      return state === undefined ? null : 'the intent is dispatched already';
    case 'settled':
      if (!entry.admitted) return 'the attempt is not admitted';
      if (state === 'settled') return 'the intent is settled already';
      // The attempt itself may settle without having been an effect.
      return state === 'dispatched' || intent === '' ? null : 'the intent is not dispatched';
    case 'progressed':
      return entry.admitted ? null : 'the attempt is not admitted';
    case 'reconciled':
      return state === 'dispatched' ? null : 'the intent is not open';
    case 'late':
      return null;
    default:
      return 'its kind is unknown';
  }
}

/** A log in memory that keeps the last `maxAttempts` closed attempts (default 1 000) and every open one. */
export function memoryEventLog({ maxAttempts = 1_000 }: { maxAttempts?: number } = {}): MemoryLog {
  return new MemoryEventLog(maxAttempts);
}
