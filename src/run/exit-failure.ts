/**
 * What an unasked exit of a thread says beyond its code.
 *
 * Invariant: a failure here was reported by Node itself, when nothing in the thread was left to report it.
 * Deliberately absent: exits that follow our own kill; they say nothing.
 */
import type { ThreadExit } from '../isolate/tenure.ts';
import { type Failure, toFailure } from '../wire/failure.ts';

/** A failure of a thread: the far side's codes, and the heap limit, which only the host learns of. */
export type ExitFailure = Omit<Failure, 'code'> & { readonly code: Failure['code'] | 'OUT_OF_MEMORY' };

/** Null when the thread simply exited. */
export function failureOfExit({ error }: ThreadExit): ExitFailure | null {
  if (error === null) return null;
  const exhausted = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return { ...toFailure(error, 'UNCAUGHT'), code: exhausted ? 'OUT_OF_MEMORY' : 'UNCAUGHT' };
}
