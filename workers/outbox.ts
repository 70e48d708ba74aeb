/**
 * Outbox: what an isolate posts, and the credit window that output, progress and log lines share.
 *
 * Invariants: every record leaves with the nonce, and the stamped record is never handed to anything a tool could have
 * replaced; the window is charged before a record is posted; before one that may not leave at once, a host that shares no
 * words is told that what it reads may not be all.
 * Deliberately absent: what is kept while the window is full (`capture.ts`, `tool-context.ts`).
 */
import { CREDIT_BYTES, type InstalledMessage, type IsolateMessage, WORD } from '../src/wire/protocol.ts';
import type { Link } from './link.ts';
import { atomicsAdd, atomicsLoad, atomicsStore, min } from './references.ts';

type Unstamped<M> = M extends { readonly n: string } ? Omit<M, 'n'> : never;
/** A record before it has the nonce. */
export type Outgoing = Unstamped<IsolateMessage | InstalledMessage>;

/** The most a shared word can say. */
const MAX_WORD = 2 ** 31 - 1;

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
  /** The host has read more. */
  onCredit(): void;
  /** Nothing is held back, and if the host reads this, it has read all. */
  onFlushed(): void;
}

export function openOutbox(link: Link, nonce: string, words: Int32Array): Outbox {
  const { send, sharesWords, glance, isBehind, besideBytes, sureBytes } = link;
  const room = (): number => CREDIT_BYTES - besideBytes - atomicsLoad(words, WORD.CREDIT);
  let told: 'all' | 'maybe not all' = 'all';
  /** Of records outside the window since the last receipt: they fill the link as well, and no credit tells of them. */
  let outsideBytes = 0;
  const say = (credit: number): void =>
    send({ t: 'held', n: nonce, bytes: told === 'all' ? 0 : atomicsLoad(words, WORD.HELD) || 1, credit });
  const tell = (news: typeof told): void => {
    if (sharesWords || news === told) return;
    told = news;
    say(0);
  };
  const reconsider = (): void => {
    const isSure = atomicsLoad(words, WORD.HELD) === 0 && atomicsLoad(words, WORD.CREDIT) + outsideBytes <= sureBytes;
    tell(isSure ? 'all' : 'maybe not all');
  };
  const onOutside = (bytes: number): void => {
    outsideBytes += bytes + besideBytes;
    reconsider();
  };
  /** A word that the host credits when it has read what came before. */
  const askReceipt = (): void => {
    const credit = min(outsideBytes, CREDIT_BYTES);
    outsideBytes = 0;
    atomicsAdd(words, WORD.CREDIT, credit);
    say(credit);
  };
  return {
    // A literal defines its properties; an assignment could meet a setter that a tool put on a prototype.
    post(record) {
      const { t } = record;
      if (sharesWords || t === 'output' || t === 'progress' || t === 'log') return send({ ...record, n: nonce });
      send({ ...record, n: nonce }, onOutside);
      if (outsideBytes > sureBytes / 4) askReceipt();
    },
    room() {
      if (glance !== null && room() < LOW_BYTES) glance();
      return isBehind?.() === true ? 0 : room();
    },
    charge(bytes) {
      const credit = bytes + besideBytes;
      atomicsAdd(words, WORD.CREDIT, credit);
      reconsider();
      return credit;
    },
    hold(bytes) {
      atomicsStore(words, WORD.HELD, bytes > MAX_WORD ? MAX_WORD : bytes);
      reconsider();
    },
    onCredit: reconsider,
    onFlushed() {
      if (atomicsLoad(words, WORD.HELD) === 0) tell('all');
    },
  };
}
