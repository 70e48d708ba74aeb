/** Which stop comes first, when several are due. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderOfTie, type PendingStop, stopsToRecord } from '../../src/decide/precedence.ts';
import { STOP_KINDS } from '../../src/model/stop.ts';

const kinds = (stops: PendingStop[]) => stops.map(({ kind }) => kind);
const pending = fc.record({ kind: fc.constantFrom(...STOP_KINDS), atMs: fc.nat(5), depth: fc.nat(3) });

describe('stopsToRecord', () => {
  it('a deadline strictly past is recorded before a cancel, at its own instant', () => {
    expect(stopsToRecord({ kind: 'cancel', atMs: 10 }, [{ kind: 'run-timeout', atMs: 9 }])).toEqual([
      { kind: 'run-timeout', atMs: 9 },
      { kind: 'cancel', atMs: 10 },
    ]);
  });

  it('a deadline of the same instant comes after a cancel', () => {
    expect(kinds(stopsToRecord({ kind: 'cancel', atMs: 10 }, [{ kind: 'run-timeout', atMs: 10 }]))).toEqual([
      'cancel',
      'run-timeout',
    ]);
  });

  it('a deadline still to come is left alone', () => {
    expect(kinds(stopsToRecord({ kind: 'cancel', atMs: 10 }, [{ kind: 'run-timeout', atMs: 10.5 }]))).toEqual([
      'cancel',
    ]);
  });

  it('deadlines of one instant come outermost scope first, then operation, queue, run', () => {
    const incoming: PendingStop = { kind: 'run-timeout', atMs: 5 };
    const due: PendingStop[] = [
      { kind: 'queue-timeout', atMs: 5 },
      { kind: 'parent-deadline', atMs: 5, depth: 2, scope: 'inner' },
      { kind: 'operation-timeout', atMs: 5 },
      { kind: 'parent-deadline', atMs: 5, depth: 0, scope: 'outer' },
    ];
    expect(stopsToRecord(incoming, due).map(({ scope, kind }) => scope ?? kind)).toEqual([
      'outer',
      'inner',
      'operation-timeout',
      'queue-timeout',
      'run-timeout',
    ]);
  });

  it('a shutdown of the same instant comes before everything', () => {
    const due: PendingStop[] = [{ kind: 'run-timeout', atMs: 5 }];
    expect(kinds(stopsToRecord({ kind: 'shutdown', atMs: 5 }, due))).toEqual(['shutdown', 'run-timeout']);
  });

  it('for any stops exactly those that have come are recorded, in order', () => {
    fc.assert(
      fc.property(pending, fc.array(pending, { maxLength: 5 }), (incoming, due) => {
        const recorded = stopsToRecord(incoming, due);
        const come = due.filter(({ atMs }) => atMs <= incoming.atMs);
        expect(new Set(recorded)).toEqual(new Set([incoming, ...come]));
        expect(recorded).toHaveLength(come.length + 1);
        for (const [i, stop] of recorded.entries()) {
          const next = recorded[i + 1];
          if (next === undefined) continue;
          expect(stop.atMs).toBeLessThanOrEqual(next.atMs);
          if (stop.atMs === next.atMs) expect(orderOfTie(stop, next)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });
});

describe('orderOfTie', () => {
  it('ranks kinds as the law does', () => {
    const shuffled: PendingStop[] = [...STOP_KINDS].reverse().map((kind) => ({ kind, atMs: 0 }));
    expect(kinds(shuffled.sort(orderOfTie))).toEqual([
      'shutdown',
      'cancel',
      'parent-deadline',
      'operation-timeout',
      'queue-timeout',
      'run-timeout',
      'output-limit',
      'health-failure',
      'isolate-exit',
      'lease-unavailable',
      'host-lost',
    ]);
  });
});
