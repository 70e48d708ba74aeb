/**
 * Digests: how blobs are named, and what is said of one that is not there or not whole.
 *
 * Invariants: a text is held against the form of a digest before anything is made of it, a path least of all; bytes are
 * hashed in steps, between which the host's loop goes on. Deliberately absent: where blobs are kept.
 */
import { createHash } from 'node:crypto';
import { LeaseholdError } from '../model/errors.ts';
import { atEndOfTurn } from '../model/time.ts';

/** Bytes that are hashed, read or written at one go. */
export const STEP = 256 * 1024;
const PREFIX = 'sha256:';
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export function isDigest(x: unknown): x is string {
  return typeof x === 'string' && DIGEST.test(x);
}

/** The hexadecimal digits of a digest. @throws LeaseholdError `ERR_LEASEHOLD_BLOB_NOT_FOUND` for any other text. */
export function hexOf(digest: string): string {
  if (!isDigest(digest)) throw notFound();
  return digest.slice(PREFIX.length);
}

export function digestOfHex(hex: string): string {
  return PREFIX + hex;
}

/** @throws TypeError when they are not bytes */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (const step of stepsOf(bytes)) {
    hash.update(step);
    if (step.byteLength === STEP) await nextTurn();
  }
  return digestOfHex(hash.digest('hex'));
}

/** The bytes in steps. @throws TypeError when they are not bytes */
export function* stepsOf(bytes: Uint8Array): Iterable<Uint8Array> {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('A blob is made of Uint8Arrays.');
  for (let at = 0; at < bytes.byteLength; at += STEP) yield bytes.subarray(at, at + STEP);
}

/** Lets the loop come round. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => atEndOfTurn(resolve));
}

export function notFound(): LeaseholdError {
  return new LeaseholdError('BLOB_NOT_FOUND', 'The tenant has no blob of this digest.');
}

export function corrupt(what = 'What is stored is not what the digest names; it is not handed out.'): LeaseholdError {
  return new LeaseholdError('BLOB_CORRUPT', what);
}
