/**
 * W3C trace context: made where none was given, and a child span for each attempt.
 *
 * Invariant: the trace id never changes along a run; span ids are random and not zero.
 * Deliberately absent: sampling decisions and exporters. The flags of a given parent are kept.
 */
import { randomFillSync } from 'node:crypto';
import type { Trace } from '../model/option-shapes.ts';

const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Random hexadecimal digits for `bytes` bytes; drawn in bulk, since a call for each span costs more than the span. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const hex = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /[^0]/.test(hex) ? hex : randomHex(bytes);
}

export function newTrace(): Trace {
  return Object.freeze({ traceparent: `00-${randomHex(16)}-${randomHex(8)}-01` });
}

/** The same trace with a span id of its own. */
export function childSpan({ traceparent, tracestate }: Trace): Trace {
  const span = `${traceparent.slice(0, 36)}${randomHex(8)}${traceparent.slice(52)}`;
  return Object.freeze({ traceparent: span, ...(tracestate === undefined ? {} : { tracestate }) });
}
