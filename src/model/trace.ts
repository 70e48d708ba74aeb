/**
 * Trace: the W3C trace context that a scope has and its requests carry on.
 *
 * Invariant: plain text, checked where it comes in. Deliberately absent: making one (`scope/trace.ts`).
 */

/** W3C trace context. */
export interface Trace {
  readonly traceparent: string;
  readonly tracestate?: string;
}
