/** Ledger: the order in which stops are entered, and the deadlines that may still come. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/output/redaction.ts';
import { Ledger } from '../../src/run/ledger.ts';

const ledger = () => new Ledger(1_000, createRedactor({ values: ['hunter2'] }));

describe('Ledger', () => {
  it('counts from the start of the request, not below zero, and freezes what it enters', () => {
    const own = ledger();
    const early = own.enter({ kind: 'parent-deadline', atMs: 900, scope: 'scope-1' }, 'queued');
    const stop = own.enter({ kind: 'cancel', atMs: 1_250 }, 'running');
    expect(early).toEqual({ kind: 'parent-deadline', atMs: 0, state: 'queued', scope: 'scope-1' });
    expect(stop).toEqual({ kind: 'cancel', atMs: 250, state: 'running' });
    expect(Object.isFrozen(stop)).toBe(true);
    expect(own.stops).toEqual([early, stop]);
  });

  it('hides known values in a reason', () => {
    const { reason } = ledger().enter({ kind: 'cancel', atMs: 1_000, reason: 'hunter2 leaked' }, 'running');
    expect(reason).toBe('[redacted] leaked');
  });

  it('bounds a reason after it hid what is known', () => {
    const reason = `${'x'.repeat(1_015)} hunter2 ${'y'.repeat(5_000)}`;
    const stop = ledger().enter({ kind: 'cancel', atMs: 1_000, reason }, 'running');
    expect(Buffer.byteLength(stop.reason ?? '')).toBeLessThanOrEqual(1_024);
    expect(stop.reason).toMatch(/x \[reda…$/);
  });

  it('enters a deadline that was due before the stop that is noticed', () => {
    const own = ledger();
    own.expect({ kind: 'run-timeout', atMs: 1_050 });
    own.expect({ kind: 'operation-timeout', atMs: 2_000 });
    const due = own.dueWith({ kind: 'cancel', atMs: 1_100 }, 1_100);
    expect(due.map(({ kind, atMs }) => [kind, atMs])).toEqual([
      ['run-timeout', 1_050],
      ['cancel', 1_100],
    ]);
  });

  it('knows each kind of deadline once, the last one told', () => {
    const own = ledger();
    own.expect({ kind: 'run-timeout', atMs: 1_050 });
    own.expect({ kind: 'run-timeout', atMs: 1_500 });
    expect(own.expected('run-timeout')?.atMs).toBe(1_500);
    own.enter({ kind: 'run-timeout', atMs: 1_500 }, 'running');
    expect(own.expected('run-timeout')).toBeUndefined();
    expect(own.earliest()).toBeUndefined();
  });

  it('names the earliest deadline, the outermost of equals', () => {
    const own = ledger();
    own.expect({ kind: 'run-timeout', atMs: 1_500 });
    own.expect({ kind: 'operation-timeout', atMs: 1_500 });
    own.expect({ kind: 'parent-deadline', atMs: 1_500, scope: 'scope-1' });
    expect(own.earliest()?.kind).toBe('parent-deadline');
    own.forget('parent-deadline');
    expect(own.earliest()?.kind).toBe('operation-timeout');
  });

  it('expects nothing once disarmed', () => {
    const own = ledger();
    own.expect({ kind: 'run-timeout', atMs: 1_500 });
    own.disarm();
    expect(own.earliest()).toBeUndefined();
    expect(own.dueWith({ kind: 'cancel', atMs: 9_000 }, 9_000)).toHaveLength(1);
  });

  it('for any deadlines, enters with a stop exactly those due, in their order', () => {
    const kinds = ['run-timeout', 'operation-timeout', 'parent-deadline', 'queue-timeout'] as const;
    const deadlines = fc.uniqueArray(
      fc.record({ kind: fc.constantFrom(...kinds), atMs: fc.integer({ min: 1_000, max: 1_100 }) }),
      { selector: ({ kind }) => kind, maxLength: 4 },
    );
    fc.assert(
      fc.property(deadlines, fc.integer({ min: 1_000, max: 1_100 }), (list, now) => {
        const own = ledger();
        for (const deadline of list) own.expect(deadline);
        const entered = own.dueWith({ kind: 'cancel', atMs: now }, now);
        const due = list.filter(({ atMs }) => atMs <= now).length;
        expect(entered).toHaveLength(due + 1);
        const times = entered.map(({ atMs }) => atMs);
        expect(times).toEqual([...times].sort((a, b) => a - b));
      }),
    );
  });
});
