/**
 * How one outside effect is let go, wherever it happens: in an isolate, or on the host's own loop.
 *
 * Invariants: the effect runs only after its intent was granted, and how it ended is told before the caller goes on; a throw
 * after a stop leaves the intent open, since an aborted call proves nothing.
 * Deliberately absent: the record of the intent and the grant (`run/effects.ts`), and checks of what a tool passes.
 */
import { isNotApplied } from '../model/not-applied.ts';
import type { HostCalls } from './protocol.ts';

/** Whether the run is to end, and the reason its signal aborted with. */
export interface StopView {
  stopped(): boolean;
  readonly reason: unknown;
}

/** @throws what the effect throws, the reason of a stop that came first, or the refusal of the record */
export async function performEffect<T>(
  calls: Pick<HostCalls, 'dispatch' | 'settle'>,
  seq: number,
  intent: Parameters<HostCalls['dispatch']>[1],
  effect: (key: string) => Promise<T>,
  stop: StopView,
): Promise<T> {
  if (stop.stopped()) throw stop.reason;
  let granted: string;
  try {
    granted = await calls.dispatch(seq, intent);
  } catch (error) {
    // Refused because of the stop, or beside it: nothing was let go, and the stop says why the run ends.
    throw stop.stopped() ? stop.reason : error;
  }
  // A refusal of the record does not undo the effect: the tool goes on with what happened.
  const settle = async (state: 'applied' | 'not-applied' | 'failed' | 'open'): Promise<void> => {
    try {
      await calls.settle(seq, intent.name, state);
    } catch {}
  };
  if (stop.stopped()) {
    await settle('not-applied');
    throw stop.reason;
  }
  let value: T;
  try {
    value = await effect(granted);
  } catch (error) {
    await settle(isNotApplied(error) ? 'not-applied' : stop.stopped() ? 'open' : 'failed');
    throw error;
  }
  await settle('applied');
  return value;
}
