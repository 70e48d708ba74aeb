/**
 * Hold: an attempt's hold of one isolate, from the grant until it lets go.
 *
 * Invariants: a run that was taken back never begins; the kill is issued once; the isolate goes back only unharmed.
 * Deliberately absent: when to do any of it (`attempt.ts`).
 */
import type { Isolate } from '../isolate/isolate.ts';
import type { Occupant } from '../isolate/occupant.ts';
import type { CommandRun, InlineRun } from '../isolate/tenure.ts';
import type { RunMessage } from '../wire/protocol.ts';

export class Hold {
  readonly isolate: Isolate;
  readonly grantedAt: number;
  readonly seq: number;
  /** The kill has been issued. */
  killed = false;
  /** The run was posted. */
  posted = false;
  /** It had not begun in time, and its isolate is being ended: whether it ever began shows when all was read. */
  givenUp = false;

  constructor(isolate: Isolate, occupant: Occupant, grantedAt: number) {
    this.isolate = isolate;
    this.grantedAt = grantedAt;
    this.seq = isolate.occupy(occupant);
  }

  /** @throws DataCloneError when the input cannot be cloned; nothing was posted then. */
  post(message: RunMessage | CommandRun | InlineRun, transfer: readonly ArrayBuffer[]): void {
    this.isolate.run(message, transfer);
    this.posted = true;
  }

  get hasStarted(): boolean {
    return this.posted && this.isolate.hasStarted();
  }

  /** What the run was to move is gone from here. Where memory is not shared, it was copied. */
  get hasMoved(): boolean {
    return this.posted && this.isolate.reach.sharesWords;
  }

  /** Takes the run back from an isolate that has not begun it. False when the isolate was faster, or may have been. */
  recall(kind: string): boolean {
    if (!this.posted) return true;
    // Here the flag is set before the look; there the start is marked before the flag is read: one of both sees the other.
    this.isolate.tellStop(kind, null);
    return this.isolate.reach.sharesWords && !this.isolate.hasStarted();
  }

  /** Issues the kill: the isolate's slot is free now, its end is still awaited, at the longest for `withinMs`. */
  kill(withinMs: number): void {
    this.killed = true;
    this.isolate.condemn();
    this.isolate.hurryKill(withinMs);
  }
}
