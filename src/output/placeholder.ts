/**
 * What stands in the place of a hidden value, in text and in bytes.
 *
 * Invariant: everything outside of the hidden spans stays to the byte. Deliberately absent: which spans are hidden.
 */
import type { Span } from './form-matcher.ts';

export const PLACEHOLDER = '[redacted]';
const PLACEHOLDER_BYTES = new TextEncoder().encode(PLACEHOLDER);

/** Bytes as they may be seen. */
export interface Veiled {
  /** A copy, except where nothing was hidden. */
  readonly bytes: Uint8Array;
  /** How many placeholders stand in them. */
  readonly placeholders: number;
}

/** `bytes` between `from` and `to`, with a placeholder for each of the ascending `spans` that reaches in. */
export function veiled(bytes: Uint8Array, spans: readonly Span[], from = 0, to: number = bytes.length): Veiled {
  const seen = spans.filter(({ start, end }) => start < to && end > from);
  if (seen.length === 0) return { bytes: bytes.subarray(from, to), placeholders: 0 };
  const parts: Uint8Array[] = [];
  let at = from;
  for (const { start, end } of seen) {
    if (start > at) parts.push(bytes.subarray(at, start));
    parts.push(PLACEHOLDER_BYTES);
    at = end;
  }
  if (at < to) parts.push(bytes.subarray(at, to));
  return { bytes: joined(...parts), placeholders: seen.length };
}

/** One copy of all `parts`. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
