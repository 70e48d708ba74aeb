/**
 * Identities, and how each is minted.
 *
 * Invariant: an id is unique within its process and never reused. Ids carry no meaning beyond identity: nothing parses
 * them. Deliberately absent: names given by the application (`tenant`, `run`, `branch`), which are plain strings.
 */
import { randomBytes } from 'node:crypto';

type Prefix = 'req' | 'lease' | 'isolate' | 'scope' | 'supervisor' | 'run' | 'prepared';

/** Distinguishes this process (and this copy of the library) from every other in a shared log. */
const origin = randomBytes(5).toString('hex');
const counters = new Map<Prefix, number>();

/** Mints an id such as `req-9f0c2ab1d4-1a`. */
export function mintId(prefix: Prefix): string {
  const next = (counters.get(prefix) ?? 0) + 1;
  counters.set(prefix, next);
  return `${prefix}-${origin}-${next.toString(36)}`;
}

/** A secret of 128 bits in hexadecimal, for the records of one isolate. */
export function mintNonce(): string {
  return randomBytes(16).toString('hex');
}
