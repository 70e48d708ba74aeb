/**
 * What the log says of the intents of one attempt, and what names an intent.
 *
 * Invariants: pure; an intent without a known end is `dispatched`, whatever else was logged; a key never holds an
 * attempt or a request id, so that trying again repeats it. Deliberately absent: the attempt's status (`decide/`).
 */
import type { IntentRecord, IntentState } from '../model/result.ts';
import type { LogEvent } from '../model/stores.ts';

const ENDS: readonly unknown[] = ['applied', 'not-applied', 'failed'] satisfies IntentState[];

/** The intents of one attempt, in order of dispatch. `atMs` counts from the first entry given. */
export function foldIntents(events: readonly LogEvent[]): IntentRecord[] {
  const intents = new Map<string, IntentRecord>();
  const startedAt = events[0]?.atWall ?? 0;
  for (const { kind, intent, body, atWall } of events) {
    if (kind === 'dispatched') {
      const atMs = Math.max(0, atWall - startedAt);
      const name = intent === '' ? String(body['tool'] ?? '') : intent;
      intents.set(intent, { name, key: String(body['key'] ?? ''), state: 'dispatched', atMs });
      continue;
    }
    const open = intents.get(intent);
    const end = kind === 'settled' ? body['state'] : kind === 'reconciled' ? body['verdict'] : null;
    if (open !== undefined && ENDS.includes(end)) intents.set(intent, { ...open, state: end as IntentState });
  }
  return [...intents.values()];
}
export { intentKey } from './intent-key.ts';
