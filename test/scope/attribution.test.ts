/**
 * Whose stop it was: in any nest of scopes with an operation inside, one mark, and by identity.
 *
 * Invariant: the expectation is computed from the plan alone. Deliberately absent: how errors are wrapped on the far side
 * (`wire/failure.test.ts`), which tells the host only whether one is the stop's own.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLeaseholdError, OperationTimeoutError, unwrap } from '../../src/model/errors.ts';
import type { RunResult } from '../../src/model/result.ts';
import type { RunScope } from '../../src/scope/scope-handle.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { FakeTenure } from '../support/fake-tenure.ts';

/** How a tool ends by itself. */
const ENDINGS = {
  value: (tenure: FakeTenure) => tenure.value('done'),
  'its own timeout': (tenure: FakeTenure) => tenure.failure({ name: 'TimeoutError', message: 'the far end is slow' }),
  'an abort of its own': (tenure: FakeTenure) => tenure.failure({ name: 'AbortError', message: 'I gave up' }),
  'a full disk': (tenure: FakeTenure) => tenure.failure({ message: 'disk full' }),
};
type Ending = keyof typeof ENDINGS;

/** What it does when it is told to stop. */
const OBEDIENCE = {
  obeys: (tenure: FakeTenure) => tenure.failure({ ofStop: true, name: 'TimeoutError' }),
  'throws its own timeout': ENDINGS['its own timeout'],
  'answers all the same': ENDINGS.value,
  'hears nothing': () => undefined,
};
type Obedience = keyof typeof OBEDIENCE;

/** Ties are common, and so are durations no timer of the platform can hold. */
const duration = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }).map((tens) => tens * 10) },
  { weight: 2, arbitrary: fc.constantFrom(0.75, 9.75, 2 ** 31, 2 ** 53, 1e300) },
);
const nest = fc.array(fc.record({ ms: fc.option(duration), how: fc.constantFrom('fork', 'spawn') }), {
  minLength: 1,
  maxLength: 7,
});
const plans = fc.record({
  nest,
  operation: fc.option(fc.oneof(duration, fc.constantFrom(0, -20, Number.POSITIVE_INFINITY))),
  cancelAt: fc.option(fc.integer({ min: 1, max: 6 }).map((tens) => tens * 10)),
  // Between the instants of the others, so that it ties with none.
  endsAt: fc.integer({ min: 0, max: 7 }).map((tens) => tens * 10 + 5),
  ending: fc.constantFrom(...(Object.keys(ENDINGS) as Ending[])),
  obedience: fc.constantFrom(...(Object.keys(OBEDIENCE) as Obedience[])),
});
type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never;

/** The one deadline that counts: the earliest, the outermost of equals, the operation last. */
function dueOf({ nest, operation }: Plan): { atMs: number; scope: number | null } | null {
  let due: { atMs: number; scope: number | null } | null = null;
  for (const [scope, { ms }] of nest.entries()) {
    if (ms !== null && (due === null || ms < due.atMs)) due = { atMs: ms, scope };
  }
  const own = operation !== null && operation > 0 && operation < Number.POSITIVE_INFINITY ? operation : null;
  return own !== null && (due === null || own < due.atMs) ? { atMs: own, scope: null } : due;
}

/** Lives until the test ends it, which the scope inside it does not. */
function nested(outer: RunScope, { ms, how }: Plan['nest'][number], leave: Promise<void>): RunScope {
  if (how === 'fork') return outer.fork(ms === null ? {} : { deadlineMs: ms });
  let scope: RunScope = outer;
  const body = (inner: RunScope) => {
    scope = inner;
    return leave;
  };
  outer.spawn('nest', body, ms === null ? {} : { hardTimeoutMs: ms });
  return scope;
}

async function play(plan: Plan) {
  const far = {
    run: (tenure: FakeTenure) => void rig.clock.setTimeout(() => ENDINGS[plan.ending](tenure), plan.endsAt),
    stop: (tenure: FakeTenure) => OBEDIENCE[plan.obedience](tenure),
  };
  const rig = await requestRig(far, { standby: 1, defaults: { graceMs: 1, killMs: 1 } });
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const root = rig.supervisor.openScope();
  const scopes = [root];
  for (const one of plan.nest) scopes.push(nested(scopes.at(-1) as RunScope, one, left));
  const controller = new AbortController();
  if (plan.cancelAt !== null) rig.clock.setTimeout(() => controller.abort(new Error('enough')), plan.cancelAt);
  const options = { signal: controller.signal, runTimeoutMs: 1e6 };
  const operation = plan.operation === null ? {} : { operationTimeoutMs: plan.operation };
  const inner = scopes.at(-1) as RunScope;
  void inner.runTool(fakeTool(), 'x', { ...options, ...operation }).then((result) => rig.ended.push(result));
  await settle();
  await rig.clock.advance(500);
  leave();
  await settle();
  return { rig, scopes: scopes.slice(1), result: rig.ended[0] as RunResult };
}

describe('attribution', () => {
  it('for any nest, cancel and end of the tool, marks one stop as the cause, or none', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { rig, scopes, result } = await play(plan);
        const due = dueOf(plan);
        const cancelAt = plan.cancelAt ?? Number.POSITIVE_INFINITY;
        const stopAt = Math.min(due?.atMs ?? Number.POSITIVE_INFINITY, cancelAt);
        const stops = [...(result.cause === null ? [] : [result.cause]), ...result.also];
        const succeeded = { status: 'succeeded', cause: null, error: null };
        const failed = { status: 'failed', cause: null, error: { code: 'ERR_LEASEHOLD_TOOL_ERROR' } };
        if (plan.endsAt < stopAt) {
          expect(result).toMatchObject(plan.ending === 'value' ? succeeded : failed);
          expect(stops).toEqual([]);
        } else {
          const [first] = stops;
          const isCancel = cancelAt <= (due?.atMs ?? Number.POSITIVE_INFINITY);
          const scope = due === null || due.scope === null ? undefined : scopes[due.scope]?.id;
          const kind = isCancel ? 'cancel' : scope === undefined ? 'operation-timeout' : 'parent-deadline';
          expect(first).toMatchObject({ kind, atMs: stopAt, ...(kind === 'parent-deadline' ? { scope } : {}) });
          const deadlines = stops.filter((stop) => stop.kind === 'parent-deadline');
          expect(deadlines.length).toBeLessThanOrEqual(1);
          if (plan.obedience === 'answers all the same') expect(result).toMatchObject(succeeded);
          else if (plan.obedience === 'throws its own timeout') expect(result).toMatchObject(failed);
          else expect(result).toMatchObject({ status: isCancel ? 'cancelled' : 'timed-out', cause: first });
        }
        expect(result.error?.code === 'ERR_LEASEHOLD_OPERATION_TIMEOUT').toBe(
          result.cause?.kind === 'operation-timeout',
        );
        await closeFake(rig);
        expect(rig.clock.pending).toBe(0);
      }),
      { numRuns: 400 },
    );
  });

  it('of the operation is known by its class, and by the name the platform uses', async () => {
    const rig = await requestRig({ stop: (tenure) => tenure.failure({ ofStop: true }) });
    await rig.run(fakeTool(), 'x', { operationTimeoutMs: 20 });
    await rig.clock.advance(20);
    const thrown = caught(rig.ended[0] as RunResult);
    expect(thrown).toBeInstanceOf(OperationTimeoutError);
    expect(thrown).toBeInstanceOf(DOMException);
    expect(thrown).toMatchObject({ name: 'TimeoutError', leaseholdCode: 'ERR_LEASEHOLD_OPERATION_TIMEOUT' });
    expect(isLeaseholdError(thrown)).toBe(true);
    await closeFake(rig);
  });

  it.each([
    ['a tool that throws a timeout of its own', { 0: 'its own timeout' }],
    ['a tool that aborts by itself', { 0: 'an abort of its own' }],
  ] as const)('never goes to the operation for %s', async (_, { 0: ending }) => {
    const rig = await requestRig({ run: ENDINGS[ending] });
    await rig.run(fakeTool(), 'x', { operationTimeoutMs: 20 });
    const thrown = caught(rig.ended[0] as RunResult);
    expect(thrown).not.toBeInstanceOf(OperationTimeoutError);
    expect(thrown).toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_TOOL_ERROR' });
    await closeFake(rig);
  });

  it('leaves a success alone that a slow observer kept past the deadline', async () => {
    const rig = await requestRig({ run: ENDINGS.value });
    const slow = { onEvent: () => rig.clock.jump(1_000) };
    const quick = rig.supervisor.openScope();
    await rig.run(fakeTool(), 'x', { operationTimeoutMs: 2_500, observers: [slow] }, quick);
    await rig.clock.advance(10_000);
    expect(rig.ended[0]?.timing.totalMs).toBeGreaterThan(2_500);
    expect(rig.ended[0]).toMatchObject({ status: 'succeeded', value: 'done', cause: null });
    await closeFake(rig);
  });
});

function caught(result: RunResult): unknown {
  try {
    return unwrap(result);
  } catch (error) {
    return error;
  }
}
