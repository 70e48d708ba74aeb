/**
 * What an unasked exit of an isolate says beyond its code.
 *
 * Invariant: a failure here was reported by Node itself, when nothing in the isolate was left to report it.
 * Deliberately absent: exits that follow our own kill; they say nothing.
 */
import type { TenureExit } from '../isolate/tenure.ts';
import { type Failure, toFailure } from '../wire/failure.ts';

/** As a thread's `Worker` and as a process's last words tell it. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['ERR_WORKER_OUT_OF_MEMORY', 'ERR_LEASEHOLD_OUT_OF_MEMORY']);

/** Null when the isolate simply exited. */
export function failureOfExit({ error }: TenureExit): Failure | null {
  if (error === null) return null;
  const exhausted = EXHAUSTED.has((error as NodeJS.ErrnoException).code);
  return { ...toFailure(error, 'UNCAUGHT'), code: exhausted ? 'OUT_OF_MEMORY' : 'UNCAUGHT' };
}

/** How it ended, in words. */
export function exitText({ code, signal }: TenureExit): string {
  return signal == null ? `exit code ${code}` : `signal ${signal}`;
}
