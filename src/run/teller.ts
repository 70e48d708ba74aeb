/**
 * Teller: how one request tells its events.
 *
 * Invariant: without hearers nothing is built. Deliberately absent: delivery and its order (`observers.ts`).
 */
import type { Observer } from '../model/event.ts';
import type { BareEvent } from './attempt-setting.ts';
import { silent } from './capture.ts';
import { brokenObserver, type Observers } from './observers.ts';
import type { Particulars } from './particulars.ts';

/** `onBroken` hears of each observer that threw, in words. */
export function tellerOf(
  observers: Observers,
  hearers: readonly Observer[],
  { names, tool }: Particulars,
  onBroken: (message: string) => void,
): (event: BareEvent) => void {
  if (hearers.length === 0) return silent;
  const { requestId, tenant, run, branch } = names;
  const named = { requestId, tool: tool.name, tenant, run, branch };
  return (event) => observers.tellAll(hearers, { ...named, ...event }, (error) => onBroken(brokenObserver(error)));
}
