/**
 * An event log in memory: the default.
 *
 * Invariants: an append is synchronous, costs the same however long the log is, and records nothing when it throws.
 * Attempts that are open are never dropped; of the closed ones the oldest are, once there are more than `maxAttempts`.
 * Deliberately absent: the order of entries (`log-order.ts`), and anything that survives the process.
 */
import type { EventLog, LogEvent, NewLogEvent, OpenIntent } from '../model/stores.ts';
import { type AttemptOrder, advance, attemptKey, faultOf, openIntentOf, outOfOrder, unbegun } from './log-order.ts';

interface Entry {
  readonly events: LogEvent[];
  readonly order: AttemptOrder;
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
    const id = attemptKey(event);
    const known = this.#attempts.get(id);
    const entry: Entry = known ?? { events: [], order: unbegun() };
    const fault = faultOf(entry.order, event);
    if (fault !== null) throw outOfOrder(event, fault);
    const { tenant, run, branch, requestId, attempt, intent, kind, atWall, body } = event;
    this.#seq += 1;
    const names = { tenant, run, branch, requestId, attempt };
    const logged = { seq: this.#seq, ...names, ord: entry.order.count, intent, kind, epoch: 1, atWall, body };
    entry.events.push(logged);
    if (known === undefined) this.#attempts.set(id, entry);
    advance(entry.order, event, body['verdict']);
    if (kind === 'closed') this.#forgetOldest(id);
    return logged;
  }

  #forgetOldest(closed: string): void {
    const place = this.#closedCount % this.#maxAttempts;
    this.#closedCount += 1;
    const oldest = this.#closed[place];
    if (oldest !== undefined) this.#attempts.delete(oldest);
    this.#closed[place] = closed;
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
    const open: LogEvent[] = [];
    for (const { events, order } of this.#attempts.values()) {
      for (const event of events) {
        if (event.kind === 'dispatched' && order.intents?.get(event.intent) === 'dispatched') open.push(event);
      }
    }
    yield* open.sort((a, b) => a.seq - b.seq).map(openIntentOf);
  }
}

/** A log in memory that keeps the last `maxAttempts` closed attempts (default 1 000) and every open one. */
export function memoryEventLog({ maxAttempts = 1_000 }: { maxAttempts?: number } = {}): MemoryLog {
  return new MemoryEventLog(maxAttempts);
}
