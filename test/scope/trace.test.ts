/** Trace context: made, and spanned. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childSpan, newTrace } from '../../src/scope/trace.ts';

describe('newTrace', () => {
  it('is a sampled W3C parent, another one each time', () => {
    const made = new Set(Array.from({ length: 1_000 }, () => newTrace().traceparent));
    expect(made.size).toBe(1_000);
    for (const traceparent of made) expect(traceparent).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/);
  });
});

describe('childSpan', () => {
  it('keeps the state that came with the trace, and adds none', () => {
    const { traceparent } = newTrace();
    expect(childSpan({ traceparent, tracestate: 'a=1' }).tracestate).toBe('a=1');
    expect('tracestate' in childSpan({ traceparent })).toBe(false);
  });

  it('for any parent, keeps version, trace and flags, and has a span of its own', () => {
    const hex = (length: number) =>
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
    fc.assert(
      fc.property(hex(2), hex(32), hex(16), hex(2), (version, trace, span, flags) => {
        const child = childSpan({ traceparent: `${version}-${trace}-${span}-${flags}` });
        const [ownVersion, ownTrace, ownSpan, ownFlags] = child.traceparent.split('-');
        expect([ownVersion, ownTrace, ownFlags]).toEqual([version, trace, flags]);
        expect(ownSpan).not.toBe(span);
        expect(Object.isFrozen(child)).toBe(true);
      }),
    );
  });
});
