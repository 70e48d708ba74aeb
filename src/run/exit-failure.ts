/**
 * What an unasked exit of a thread says beyond its code.
 *
 * Invariant: a failure here was reported by Node itself, when nothing in the thread was left to report it.
 * Deliberately absent: exits that follow our own kill; they say nothing.
 */
import type { TenureExit } from '../isolate/tenure.ts';
import { type Failure, toFailure } from '../wire/failure.ts';

/** Null when the thread simply exited. */
export function failureOfExit({ error }: TenureExit): Failure | null {
  if (error === null) return null;
  const exhausted = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return { ...toFailure(error, 'UNCAUGHT'), code: exhausted ? 'OUT_OF_MEMORY' : 'UNCAUGHT' };
}

/** An exit in words. */
export function exitText({ code, signal = null }: TenureExit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
