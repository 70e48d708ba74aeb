/** Bounds: whose word holds, and how long a stop may take under it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundsOf, stopBoundMs } from '../../src/decide/bounds.ts';
import { DEFAULTS } from '../../src/model/options.ts';

const { bounds } = DEFAULTS;
const ms = fc.option(fc.integer({ min: 1, max: 1_000_000 }));
const said = fc.record({ runTimeoutMs: ms, graceMs: ms, queueTimeoutMs: ms });

describe('boundsOf', () => {
  it('is the defaults themselves where nobody says anything', () => {
    expect(boundsOf(bounds, {}, {})).toBe(bounds);
    expect(boundsOf(bounds, { runTimeoutMs: null, graceMs: null }, { queueTimeoutMs: null })).toBe(bounds);
  });

  it('for any words, is that of the request, then of the tool, then the default', () => {
    fc.assert(
      fc.property(said, said, (tool, request) => {
        const { runTimeoutMs, graceMs, queueTimeoutMs, ...rest } = boundsOf(bounds, tool, request);
        expect([runTimeoutMs, graceMs]).toEqual([
          request.runTimeoutMs ?? tool.runTimeoutMs ?? bounds.runTimeoutMs,
          request.graceMs ?? tool.graceMs ?? bounds.graceMs,
        ]);
        // How long a request may wait is no business of its tool.
        expect(queueTimeoutMs).toBe(request.queueTimeoutMs ?? bounds.queueTimeoutMs);
        expect({ ...bounds, ...rest }).toEqual(bounds);
      }),
    );
  });
});

describe('stopBoundMs', () => {
  it('adds up everything that may follow a stop', () => {
    expect(stopBoundMs(bounds)).toBe(2_000 + 2_000 + 500 + 500 + 1_000 + 1_000);
  });

  it.each(['graceMs', 'killMs', 'sweepMs', 'resetMs', 'healthMs'] as const)('grows with %s', (name) => {
    expect(stopBoundMs({ ...bounds, [name]: bounds[name] + 7 })).toBe(stopBoundMs(bounds) + 7);
  });

  it.each(['runTimeoutMs', 'queueTimeoutMs', 'bootMs', 'startMs', 'validateMs'] as const)(
    'has nothing to do with %s',
    (name) => {
      expect(stopBoundMs({ ...bounds, [name]: bounds[name] + 7 })).toBe(stopBoundMs(bounds));
    },
  );
});
