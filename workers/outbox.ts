/**
 * Outbox: what an isolate posts, and the credit window that output, progress and log lines share.
 *
 * Invariants: every record leaves with the nonce, and the stamped record is never handed to anything a tool could have
 * replaced; the window is charged before a record is posted.
 * Deliberately absent: what is kept while the window is full (`capture.ts`, `tool-context.ts`).
 */
import { CREDIT_BYTES, type InstalledMessage, type IsolateMessage, WORD } from '../src/wire/protocol.ts';
import type { Link } from './link.ts';
import { atomicsAdd, atomicsLoad, atomicsStore } from './references.ts';

type Unstamped<M> = M extends { readonly n: string } ? Omit<M, 'n'> : never;
/** A record before it has the nonce. */
export type Outgoing = Unstamped<IsolateMessage | InstalledMessage>;

/** The most a shared word can say. */
const MAX_WORD = 2 ** 31 - 1;

/** What a message costs beside its text or bytes, so that many small ones cannot swell a host that does not read. */
const MESSAGE_COST = 64;
/** Below it the window may be wider than is known, where the host tells by a message that a busy loop does not read. */
const LOW_BYTES = CREDIT_BYTES / 4;

export interface Outbox {
  /** @throws whatever the clone throws: nothing was posted then. */
  post(record: Outgoing): void;
  /** How many bytes a message may carry now; not positive when the window is full. */
  room(): number;
  /** Takes `bytes` and the cost of a message out of the window and returns the sum: the message's `credit`. */
  charge(bytes: number): number;
  /** Tells the host how many bytes are held back. */
  hold(bytes: number): void;
}

export function openOutbox({ send, sharesWords, glance }: Link, nonce: string, words: Int32Array): Outbox {
  const room = (): number => CREDIT_BYTES - MESSAGE_COST - atomicsLoad(words, WORD.CREDIT);
  return {
    // A literal defines its properties; an assignment could meet a setter that a tool put on a prototype.
    post: (record) => send({ ...record, n: nonce }),
    room() {
      if (glance !== null && room() < LOW_BYTES) glance();
      return room();
    },
    charge(bytes) {
      const credit = bytes + MESSAGE_COST;
      atomicsAdd(words, WORD.CREDIT, credit);
      return credit;
    },
    hold(bytes) {
      const held = bytes > MAX_WORD ? MAX_WORD : bytes;
      const isNews = !sharesWords && atomicsLoad(words, WORD.HELD) > 0 !== held > 0;
      atomicsStore(words, WORD.HELD, held);
      if (isNews) send({ t: 'held', n: nonce, bytes: held });
    },
  };
}
