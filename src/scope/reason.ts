/**
 * The reason a scope's signal aborts with, by the kind of its stop.
 *
 * Invariant: always an error with a code, so that whoever meets it knows whose stop it was.
 * Deliberately absent: the reason inside an isolate, which is made there: identity does not cross.
 */
import { CancelledError, DeadlineError, InterruptedError } from '../model/errors.ts';
import type { ScopeStop } from './child.ts';

export function reasonOf({ kind, reason }: ScopeStop): Error {
  switch (kind) {
    case 'cancel':
      return new CancelledError('CANCELLED', reason ?? 'The scope was cancelled.');
    case 'parent-deadline':
      return new DeadlineError('PARENT_DEADLINE', 'The deadline of the scope has passed.');
    case 'shutdown':
      return new InterruptedError('SHUTDOWN', 'The supervisor is closing.');
  }
}
