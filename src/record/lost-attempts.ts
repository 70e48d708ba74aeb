/**
 * Reads a log for what its earlier writers left: attempts without an end, and intents without a known one.
 *
 * Invariants: holds in memory only what is open; entries of the writer that is alive are its own business. An effect that was
 * tried again under its key, and is known to be applied there, is known here.
 * Deliberately absent: any decision, and writing.
 */
import type { IntentRecord } from '../model/result.ts';
import type { EventLog, LogEvent, OpenIntent } from '../model/stores.ts';
import { foldIntents } from './fold.ts';
import { attemptKey, openIntentOf } from './log-order.ts';

/** An intent that is still open, and what the log says about it beside that. */
export interface LostIntent {
  readonly open: OpenIntent;
  /** The body of the last `reconciled` that did not know, as JSON. */
  unknown: string | null;
  /** The request that applied it under the same key. */
  appliedBy: string | null;
}

export interface LostAttempt {
  /** Its first entry. */
  readonly first: LogEvent;
  /** Null when that entry is missing. */
  readonly prepared: LogEvent | null;
  readonly isClosed: boolean;
  readonly intents: readonly IntentRecord[];
  readonly open: readonly LostIntent[];
}

interface Reading {
  readonly events: LogEvent[];
  readonly open: Map<string, LostIntent>;
  isClosed: boolean;
}

/**
 * Attempts that are open, or have an open intent, in order of their first entries.
 * @throws (rejects) when the log cannot be read
 */
export async function lostAttempts({ epoch, read }: LostSource): Promise<readonly LostAttempt[]> {
  const attempts = new Map<string, Reading>();
  /** Open intents that may be tried again, by tenant and key. */
  const byKey = new Map<string, Set<LostIntent>>();
  for await (const event of read()) {
    if (epoch !== undefined && event.epoch >= epoch) continue;
    const key = attemptKey(event);
    const reading = attempts.get(key) ?? { events: [], open: new Map(), isClosed: false };
    attempts.set(key, reading);
    take(reading, event, byKey);
    if (reading.isClosed && reading.open.size === 0) attempts.delete(key);
  }
  return [...attempts.values()].map(({ events, open, isClosed }) => {
    const first = events[0] as LogEvent;
    const prepared = first.kind === 'prepared' ? first : null;
    return { first, prepared, isClosed, intents: foldIntents(events.map(withoutTool)), open: [...open.values()] };
  });
}

export interface LostSource {
  readonly epoch?: number | undefined;
  read(): ReturnType<EventLog['read']>;
}

function take(reading: Reading, event: LogEvent, byKey: Map<string, Set<LostIntent>>): void {
  const { kind, intent, body, tenant, requestId } = event;
  reading.events.push(event);
  const known = reading.open.get(intent);
  if (kind === 'dispatched') {
    const lost: LostIntent = { open: openIntentOf(event), unknown: null, appliedBy: null };
    reading.open.set(intent, lost);
    among(byKey, tenant, lost.open.key).add(lost);
  } else if (kind === 'closed') {
    reading.isClosed = true;
    // There was a value, so the body has ended well, whatever became of the entry that was to say so.
    if (body['status'] === 'succeeded') forget(reading, '', byKey);
  } else if (kind === 'settled' || kind === 'reconciled') {
    const state = kind === 'settled' ? body['state'] : body['verdict'];
    if (known === undefined) return;
    if (state === 'unknown') {
      known.unknown = JSON.stringify(body);
      return;
    }
    forget(reading, intent, byKey);
    // What was found out or assumed of one try says nothing new of another.
    if (kind === 'reconciled' || state !== 'applied') return;
    for (const other of byKey.get(nameOf(tenant, known.open.key)) ?? []) {
      if (other.open.onAmbiguous === 'rerun-same-key') other.appliedBy = requestId;
    }
  }
}

function forget(reading: Reading, intent: string, byKey: Map<string, Set<LostIntent>>): void {
  const lost = reading.open.get(intent);
  if (lost === undefined) return;
  reading.open.delete(intent);
  const name = nameOf(lost.open.tenant, lost.open.key);
  const same = byKey.get(name);
  same?.delete(lost);
  if (same?.size === 0) byKey.delete(name);
}

function among(byKey: Map<string, Set<LostIntent>>, tenant: string, key: string): Set<LostIntent> {
  const name = nameOf(tenant, key);
  const same = byKey.get(name) ?? new Set<LostIntent>();
  byKey.set(name, same);
  return same;
}
function nameOf(tenant: string, key: string): string {
  return JSON.stringify([tenant, key]);
}

/** A body stays nameless here: another intent may have the name of the tool. */
function withoutTool(event: LogEvent): LogEvent {
  if (event.kind !== 'dispatched' || event.intent !== '') return event;
  return { ...event, body: { ...event.body, tool: '' } };
}
