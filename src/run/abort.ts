/**
 * The abort of a caller's signal.
 *
 * Invariant: heard at most once, and at once where it has happened already. Deliberately absent: what it stops.
 */
import { wordsOf } from '../scope/run-scope.ts';

/** Hears of an abort with its reason in words. Returns what ends the hearing. @throws what a foreign signal throws */
export function onAbort(signal: AbortSignal, hear: (reason: string) => void): () => void {
  const abort = () => hear(wordsOf(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
