/** The small pure choices: condemning, recycling, admission, placement, restarts. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit } from '../../src/decide/admission.ts';
import { CONDEMN_DEFAULTS, judge, recycleFor } from '../../src/decide/condemn.ts';
import { type IdleIsolate, place } from '../../src/decide/placement.ts';
import { restartDecision } from '../../src/decide/restart.ts';
import { FINDING_KINDS } from '../../src/model/result.ts';

describe('judge', () => {
  it('condemns by the defaults and keeps the detail', () => {
    expect(judge([{ kind: 'residual-handle', detail: 'Timeout' }, { kind: 'env-changed' }])).toEqual([
      { kind: 'residual-handle', condemns: true, detail: 'Timeout' },
      { kind: 'env-changed', condemns: false },
    ]);
  });

  it('only tells of symbols, stack formatting, env and orphans', () => {
    const told = FINDING_KINDS.filter((kind) => !CONDEMN_DEFAULTS[kind]);
    expect(told).toEqual([
      ...['global-symbol-added', 'prepare-stack-trace-changed', 'env-changed'],
      ...['orphans-killed', 'orphans-left', 'unverified'],
    ]);
  });

  it('follows the policy both ways', () => {
    const policy = { 'residual-handle': false, 'env-changed': true };
    expect(
      judge([{ kind: 'residual-handle' }, { kind: 'env-changed' }], policy).map(({ condemns }) => condemns),
    ).toEqual([false, true]);
  });

  it.each(['killed', 'abandoned', 'exited', 'contaminated'] as const)(
    'condemns a %s isolate whatever the policy says',
    (kind) => {
      expect(judge([{ kind }], { [kind]: false })).toEqual([{ kind, condemns: true }]);
    },
  );
});

describe('recycleFor', () => {
  const MIB = 1024 * 1024;

  it('wants three high heaps in a row', () => {
    expect(recycleFor([9 * MIB, 9 * MIB], { maxHeapMb: 8 })).toBe(null);
    expect(recycleFor([9 * MIB, 9 * MIB, 9 * MIB], { maxHeapMb: 8 })).toBe('heap');
    expect(recycleFor([9 * MIB, 9 * MIB, 9 * MIB, 8 * MIB], { maxHeapMb: 8 })).toBe(null);
  });

  it('counts leases where a limit is set', () => {
    expect(recycleFor([], { maxHeapMb: 8, maxLeases: 3 }, 2)).toBe(null);
    expect(recycleFor([], { maxHeapMb: 8, maxLeases: 3 }, 3)).toBe('leases');
    expect(recycleFor([], { maxHeapMb: 8, maxLeases: null }, 1_000_000)).toBe(null);
  });
});

describe('admit', () => {
  const open = { state: 'open', waiting: 0, capacity: 2, ahead: 0, idle: 0 } as const;

  it('lets wait while there is room', () => {
    expect(admit({ ...open, waiting: 1 })).toBe('ok');
    expect(admit({ ...open, waiting: 2 })).toBe('QUEUE_FULL');
    expect(admit({ ...open, state: 'opening' })).toBe('ok');
  });

  it('with a capacity of 0 takes as many as isolates of the lane are idle', () => {
    expect(admit({ ...open, capacity: 0 })).toBe('QUEUE_FULL');
    expect(admit({ ...open, capacity: 0, idle: 1 })).toBe('ok');
    expect(admit({ ...open, capacity: 0, idle: 1, waiting: 1, ahead: 1 })).toBe('QUEUE_FULL');
    expect(admit({ ...open, capacity: 0, idle: 1, waiting: 1 })).toBe('ok');
  });

  it.each(['draining', 'closing', 'closed'] as const)('refuses while %s', (state) => {
    expect(admit({ ...open, state, idle: 4 })).toBe('CLOSED');
  });

  it('tells degraded from full', () => {
    expect(admit({ ...open, state: 'degraded', waiting: 9 })).toBe('DEGRADED');
  });
});

describe('place', () => {
  const request = { tenant: 'acme', tool: 'render' };
  const served = (id: string, tenant: string, tool: string, idleSince: number): IdleIsolate => ({
    id,
    tenant,
    tool,
    idleSince,
    leases: 1,
  });
  const fresh: IdleIsolate = { id: 'fresh', tenant: null, tool: null, idleSince: 5, leases: 0 };

  it('waits when none is idle', () => {
    expect(place(request, [], 'any')).toBe(null);
  });

  it('prefers one that served the tenant to a fresh one', () => {
    expect(place(request, [fresh, served('a', 'acme', 'parse', 1)], 'tenant')).toEqual({ use: 'a' });
  });

  it('prefers the same tool, then the one used last', () => {
    const idle = [served('a', 'acme', 'parse', 9), served('b', 'acme', 'render', 1), served('c', 'acme', 'render', 2)];
    expect(place(request, idle, 'tenant')).toEqual({ use: 'c' });
  });

  it('takes a fresh one where no served one may be used', () => {
    expect(place(request, [served('a', 'other', 'render', 1), fresh], 'tenant')).toEqual({ use: 'fresh' });
    expect(place(request, [served('a', 'acme', 'parse', 1), fresh], 'tool')).toEqual({ use: 'fresh' });
    expect(place(request, [served('a', 'acme', 'render', 1), fresh], 'none')).toEqual({ use: 'fresh' });
  });

  it('else retires the one unused for longest', () => {
    const idle = [served('a', 'other', 'render', 7), served('b', 'third', 'render', 3)];
    expect(place(request, idle, 'tenant')).toEqual({ retire: 'b' });
  });

  const tenant = fc.constantFrom('acme', 'other');
  const tool = fc.constantFrom('render', 'parse');
  const isolates = fc.array(
    fc.oneof(
      fc.record({ tenant, tool, idleSince: fc.nat(9), leases: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ tenant: fc.constant(null), tool: fc.constant(null), idleSince: fc.nat(9), leases: fc.constant(0) }),
    ),
    { maxLength: 5 },
  );

  it('for any idle isolates never brings together who may not meet', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('any', 'tenant', 'tool', 'none'),
        isolates,
        tenant,
        tool,
        (share, list, asksTenant, asksTool) => {
          const idle = list.map((isolate, i) => ({ ...isolate, id: `i${i}` }));
          const placed = place({ tenant: asksTenant, tool: asksTool }, idle, share);
          expect(placed === null).toBe(idle.length === 0);
          if (placed === null || 'retire' in placed) return;
          const used = idle.find(({ id }) => id === placed.use);
          if (used === undefined) throw new Error('an isolate that is not idle was placed');
          if (used.leases === 0 || share === 'any') return;
          expect(share).not.toBe('none');
          expect(used.tenant).toBe(asksTenant);
          if (share === 'tool') expect(used.tool).toBe(asksTool);
        },
      ),
    );
  });
});

describe('restartDecision', () => {
  const limit = { maxReplacements: 2, withinMs: 1_000 };

  it('replaces at once, then backs off, doubling up to a cap', () => {
    const delays = [0, 1, 2, 3, 4, 20].map((n) => restartDecision(Array(n).fill(0), 10, limit).delayMs);
    expect(delays).toEqual([0, 0, 100, 200, 400, 5_000]);
  });

  it('degrades beyond the limit and heals when failures age out', () => {
    expect(restartDecision([0, 1], 10, limit).degraded).toBe(false);
    expect(restartDecision([0, 1, 2], 10, limit).degraded).toBe(true);
    expect(restartDecision([0, 1, 2], 1_000, limit)).toEqual({ degraded: false, delayMs: 100 });
  });
});
