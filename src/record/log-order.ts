/**
 * The order of entries within one attempt: what may come next, and what follows of it.
 *
 * Invariants: pure but for `advance`, which changes the order it is given and nothing else; every log enforces this order and
 * no other. Deliberately absent: the place of an entry among other attempts', and any store.
 */
import { LeaseholdError } from '../model/errors.ts';
import type { LogEvent, NewLogEvent, OpenIntent } from '../model/stores.ts';

/** How far an attempt has come. */
export interface AttemptOrder {
  /** Entries so far: the `ord` of the next. */
  count: number;
  /** Made when the first intent comes; most attempts have none. */
  intents: Map<string, 'dispatched' | 'settled'> | null;
  admitted: boolean;
  closed: boolean;
}

type Step = Pick<NewLogEvent, 'kind' | 'intent'>;

export function unbegun(): AttemptOrder {
  return { count: 0, intents: null, admitted: false, closed: false };
}

/** Names an attempt among all. */
export function attemptKey({ requestId, attempt }: Pick<NewLogEvent, 'requestId' | 'attempt'>): string {
  return `${requestId} ${attempt}`;
}

/** Why an entry may not come next in its attempt; null when it may. */
export function faultOf(order: AttemptOrder, { kind, intent }: Step): string | null {
  const late = kind === 'late' || kind === 'reconciled';
  if (late !== order.closed) return late ? 'the attempt is not closed' : 'the attempt is closed';
  const state = order.intents?.get(intent);
  switch (kind) {
    case 'prepared':
      return intent !== '' ? 'it is of an intent' : order.count > 0 ? 'it must come first' : null;
    case 'admitted':
      return intent !== '' ? 'it is of an intent' : order.admitted ? 'the attempt is admitted already' : null;
    case 'closed':
      return intent !== '' ? 'it is of an intent' : null;
    case 'dispatched':
      if (!order.admitted) return 'the attempt is not admitted';
      return state === undefined ? null : 'the intent is dispatched already';
    case 'settled':
      if (!order.admitted) return 'the attempt is not admitted';
      if (state === 'settled') return 'the intent is settled already';
      // The attempt itself may settle without having been an effect.
      return state === 'dispatched' || intent === '' ? null : 'the intent is not dispatched';
    case 'progressed':
      return order.admitted ? null : 'the attempt is not admitted';
    case 'reconciled':
      return state === 'dispatched' ? null : 'the intent is not open';
    case 'late':
      return null;
    default:
      return 'its kind is unknown';
  }
}

/** Takes an entry in that `faultOf` let pass. */
export function advance(order: AttemptOrder, { kind, intent }: Step, verdict: unknown): void {
  order.count += 1;
  if (kind === 'admitted') order.admitted = true;
  else if (kind === 'closed') order.closed = true;
  else if (kind === 'dispatched' || kind === 'settled') mark(order, intent, kind);
  else if (kind === 'reconciled' && verdict !== 'unknown') mark(order, intent, 'settled');
}

function mark(order: AttemptOrder, intent: string, state: 'dispatched' | 'settled'): void {
  order.intents ??= new Map();
  order.intents.set(intent, state);
}

/** The refusal of an entry, for a reason of `faultOf` or of a database. */
export function outOfOrder({ kind, requestId }: NewLogEvent, fault: string): LeaseholdError {
  return new LeaseholdError('LOG_ORDER', `Entry "${kind}" of ${requestId} refused: ${fault}.`);
}

/** What a `dispatched` entry says of its intent. */
export function openIntentOf({ tenant, run, branch, requestId, attempt, intent, atWall, body }: LogEvent): OpenIntent {
  const text = (name: string, otherwise: string): string => {
    const value = body[name];
    return typeof value === 'string' ? value : otherwise;
  };
  const onAmbiguous = text('onAmbiguous', 'hold');
  const [key, tool] = [text('key', ''), text('tool', '')];
  return { tenant, run, branch, requestId, attempt, intent, key, onAmbiguous, tool, atWall };
}
