/**
 * Link: an isolate's connection with its host, whatever carries it.
 *
 * Invariant: messages are taken in the order they were posted, one after the other. Deliberately absent: what they mean
 * (`assembly.ts`), and each kind of link (`isolate.ts` on a port, `frame-link.ts` on a descriptor).
 */
import type { HostMessage } from '../src/wire/protocol.ts';

export interface Link {
  /** Whether the host sees the words at once, and sets STOP and POSTED in them itself. */
  readonly sharesWords: boolean;
  /** What a record takes of the window beside its text or bytes, so that many small ones cannot swell a host. */
  readonly besideBytes: number;
  /** Up to this much of the window all leaves at once, and a word of what is held back would too. */
  readonly sureBytes: number;
  /** Whether something posted has not left yet: more would only wait behind it. Null where all leaves at once. */
  readonly isBehind: (() => boolean) | null;
  /**
   * Posts a record that has its nonce; where words are not shared, its size is told just before it leaves.
   * @throws whatever the clone throws: nothing was posted then.
   */
  readonly send: (record: object, onSize?: (bytes: number) => void) => void;
  /** Hears every message from now on. */
  listen(take: (message: HostMessage) => void): void;
  /** Takes what the host has posted so far. */
  readonly readNow: () => void;
  /** Where no shared word tells of a message: takes what is here, as often as is worth it. Null where a word tells. */
  readonly poll: (() => void) | null;
  /** As `poll`, but the turn of what is here comes later: a tool in the middle of a write is told nothing. */
  readonly glance: (() => void) | null;
}
