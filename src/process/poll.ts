/**
 * Letting the host's loop read once.
 *
 * Invariant: `then` runs after one whole poll phase: what was readable when it was called has been read. Deliberately
 * absent: time. A timer that fired says nothing about bytes that came while the host was blocked.
 */

/** Calls back after a poll phase of the loop. */
export type AfterPoll = (then: () => void) => void;

// A turn of the loop is no time, and the clock has none: this is the one place of the host that counts turns.
// oxlint-disable-next-line no-restricted-globals
const nextCheck = setImmediate;

/** The first callback may run in the turn that called, before its poll phase; the second cannot. */
export const afterPoll: AfterPoll = (then) => {
  nextCheck(() => nextCheck(then));
};
