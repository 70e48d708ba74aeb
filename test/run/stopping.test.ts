/** Stopping: a bound that only shrinks, and a deadline that the isolate saw before the host did. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { requestRig } from './request-rig.ts';

const later = fc.array(
  fc.record({ gapMs: fc.integer({ min: 0, max: 120 }), how: fc.constantFrom('cancel', 'force', 'close') }),
  { maxLength: 8 },
);

describe('the end after a stop', () => {
  it('for any later stops, comes no later than grace and kill allow', async () => {
    await fc.assert(
      fc.asyncProperty(later, async (stops) => {
        const rig = await requestRig({ dies: () => false }, { defaults: { graceMs: 50, killMs: 300 } });
        const scope = rig.supervisor.openScope();
        await rig.run(fakeTool(), 'hang', {}, scope);
        const from = rig.clock.now();
        scope.cancel('first');
        for (const { gapMs, how } of stops) {
          await rig.clock.advance(gapMs);
          if (how === 'close') void rig.supervisor.close({ withinMs: 1_000 });
          else scope.cancel('again', { force: how === 'force' });
        }
        await rig.clock.advance(Math.max(0, from + 350 - rig.clock.now()));
        expect(rig.ended).toMatchObject([{ status: 'cancelled', cause: { reason: 'first' } }]);
        expect(rig.ended[0]?.timing.totalMs).toBeLessThanOrEqual(350);
        if (!stops.some(({ how }) => how === 'force')) expect(rig.ended[0]?.timing.terminatingMs).toBe(350);
        await closeFake(rig);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a grace that is longer than the default', () => {
  it('is waited for by the shutdown of the scopes around it', async () => {
    const short = { graceMs: 20, killMs: 20, sweepMs: 20, resetMs: 20, healthMs: 20 };
    const rig = await requestRig({}, { defaults: short });
    const scope = rig.supervisor.openScope();
    await rig.run(fakeTool(), 'hang', { graceMs: 5_000 }, scope.fork({ branch: 'b' }));
    const reports: unknown[] = [];
    void scope.shutdown().then((report) => reports.push(report));
    await rig.clock.advance(4_999);
    expect(reports).toEqual([]);
    await rig.clock.advance(1);
    expect(reports).toMatchObject([{ completed: [], aborted: [], killed: [{ name: 'fake' }], abandoned: [] }]);
    await closeFake(rig);
  });
});

describe('an abort by the deadline the isolate keeps itself', () => {
  it.each([
    ['run-timeout', 'fatal'],
    ['run-timeout', 'settled'],
    ['operation-timeout', 'fatal'],
    ['parent-deadline', 'fatal'],
  ] as const)('is a %s, though it came first and as %s', async (kind, t) => {
    const rig = await requestRig();
    const scope = rig.supervisor.openScope(kind === 'parent-deadline' ? { deadlineMs: 100 } : {});
    const options = kind === 'run-timeout' ? { runTimeoutMs: 100 } : { operationTimeoutMs: 100 };
    await rig.run(fakeTool(), 'hang', kind === 'parent-deadline' ? {} : options, scope);
    rig.clock.jump(99.5);
    const failure = { code: 'UNCAUGHT', name: 'TimeoutError', message: 'over', ofStop: true, truncated: false };
    const hooks = { reset: false, healthCheck: false };
    rig.leased().emit({ t, seq: 1, failure, ok: false, clean: true, ...hooks, ranMs: 99.5 });
    await settle();
    expect(rig.ended).toMatchObject([
      {
        status: 'timed-out',
        cause: { kind, atMs: 99.5 },
        also: [],
        lease: { end: t === 'fatal' ? 'quarantined' : 'completed' },
      },
    ]);
    await closeFake(rig);
  });

  it('is told apart from an error of its own that nothing caught', async () => {
    const rig = await requestRig();
    await rig.run(fakeTool(), 'hang', { runTimeoutMs: 100 });
    rig.clock.jump(99.5);
    rig.leased().emit({ t: 'fatal', seq: 1, failure: { ...FAILURE, code: 'UNCAUGHT' } });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'failed', error: { code: 'ERR_LEASEHOLD_UNCAUGHT' }, cause: null }]);
    await closeFake(rig);
  });
});
