/**
 * What is to be said of an attempt whose host was lost, from its record alone.
 *
 * Invariants: pure; the status is that of `classify`, with the stop `host-lost`. A value that an output schema had yet to
 * accept counts as none, and an intent without a known end makes the attempt indeterminate, whatever the others say.
 * Deliberately absent: what becomes of open intents, which is the application's to say (`record/recovery.ts`).
 */
import type { IntentRecord } from '../model/result.ts';
import type { Stop } from '../model/stop.ts';
import { classify, type Outcome, type Verdict } from './classify.ts';

export interface LostRecord {
  /** The body of an opaque tool among them is named `''`. */
  readonly intents: readonly IntentRecord[];
  /** An output schema would have had to accept the value. */
  readonly checksOutput: boolean;
}

export interface Aftermath extends Verdict {
  /** Nothing was let go, or all of it is known not to have happened: it can be tried again without a trace. */
  readonly isUntouched: boolean;
}

export function aftermath({ intents, checksOutput }: LostRecord): Aftermath {
  const state = intents.length === 0 ? 'queued' : 'running';
  const stop: Stop = { kind: 'host-lost', atMs: 0, state };
  const body = intents.find(({ name }) => name === '');
  const isKnown = intents.every((intent) => intent.state !== 'dispatched');
  const outcome = isKnown ? outcomeOf(body, checksOutput) : null;
  const verdict = classify({ rejected: null, denied: null, outcome, stops: [stop], intents, discardLate: false });
  const isUntouched = verdict.status === 'interrupted' && intents.every((intent) => intent.state === 'not-applied');
  return { ...verdict, isUntouched };
}

/** How the body of an opaque tool settled tells how the tool ended. Withdrawn, or thrown as not applied: it tells nothing. */
function outcomeOf(body: IntentRecord | undefined, checksOutput: boolean): Outcome | null {
  if (body?.state === 'applied' && !checksOutput) return { kind: 'value', accepted: true };
  if (body?.state === 'failed') return { kind: 'exception', code: 'TOOL_ERROR', ofStop: false };
  return null;
}
