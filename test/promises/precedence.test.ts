/**
 * Which of several endings a result tells, for every order of them, on a fake clock and a fake thread.
 *
 * Invariant: the expectation is computed by a model of the rules alone (first stop is the cause, an outcome is not a
 * stop, sweep first, due time beats arrival), and every stop that happened is told. Deliberately absent: real threads
 * (`precedence-on-threads.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/model/result.ts';
import type { StopKind } from '../../src/model/stop.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const DEADLINES = ['run-timeout', 'operation-timeout', 'parent-deadline'] as const;
const HAPPENINGS = ['value', 'exception', 'cancel', ...DEADLINES, 'shutdown', 'exit'] as const;
type Happening = (typeof HAPPENINGS)[number];
type Deadline = (typeof DEADLINES)[number];

const START = 100;
const GAP = 10;
const isDeadline = (happening: Happening): happening is Deadline =>
  (DEADLINES as readonly string[]).includes(happening);

/** Every order of every choice of up to `length` from the list. */
function orders<T>(from: readonly T[], length: number): T[][] {
  if (length === 0) return [[]];
  const rest = from.flatMap((first) =>
    orders(
      from.filter((other) => other !== first),
      length - 1,
    ).map((order) => [first, ...order]),
  );
  return [[], ...rest];
}
function permutations<T>(from: readonly T[]): T[][] {
  if (from.length === 0) return [[]];
  return from.flatMap((first) =>
    permutations(from.filter((other) => other !== first)).map((order) => [first, ...order]),
  );
}

interface Told {
  status: string;
  code: string | null;
  cause: string | null;
  also: string[];
  late: string | null;
}

const STATUS_OF: Partial<Record<StopKind, [string, string]>> = {
  cancel: ['cancelled', 'CANCELLED'],
  'run-timeout': ['timed-out', 'RUN_TIMEOUT'],
  'operation-timeout': ['timed-out', 'OPERATION_TIMEOUT'],
  'parent-deadline': ['timed-out', 'PARENT_DEADLINE'],
  shutdown: ['interrupted', 'SHUTDOWN'],
  'isolate-exit': ['failed', 'ISOLATE_EXITED'],
};

/** The rules, for happenings in the order in which they count. */
function expected(order: readonly Happening[]): Told {
  const stops: { kind: StopKind; state: string }[] = [];
  let outcome: 'value' | 'exception' | 'exit' | null = null;
  let late: string | null = null;
  for (const happening of order) {
    const state = outcome !== null ? 'draining' : stops.length > 0 ? 'terminating' : 'running';
    if (happening === 'value' || happening === 'exception') {
      if (outcome !== null) continue;
      outcome = happening;
      late = stops.length > 0 ? 'within-grace' : null;
    } else if (happening === 'exit') {
      if (outcome === null) stops.push({ kind: 'isolate-exit', state });
      outcome ??= 'exit';
      break;
    } else if (!isDeadline(happening) || outcome === null) {
      stops.push({ kind: happening, state });
    }
  }
  const words = stops.map(({ kind, state }) => `${kind} while ${state}`);
  if (outcome === 'value') return { status: 'succeeded', code: null, cause: null, also: words, late };
  if (outcome === 'exception') return { status: 'failed', code: 'TOOL_ERROR', cause: null, also: words, late };
  const [status, code] = STATUS_OF[stops[0]?.kind ?? 'cancel'] as [string, string];
  return { status, code, cause: words[0] ?? null, also: words.slice(1), late: null };
}

function told(result: RunResult): Told {
  const words = (stop: { kind: string; state: string }) => `${stop.kind} while ${stop.state}`;
  return {
    status: result.status,
    code: result.error?.code.replace('ERR_LEASEHOLD_', '') ?? null,
    cause: result.cause === null ? null : words(result.cause),
    // An exit after the outcome is the isolate's affair, and may or may not be told as a stop.
    also: result.also.map(words).filter((word) => word !== 'isolate-exit while draining'),
    late: result.status === 'succeeded' || result.status === 'failed' ? result.late : null,
  };
}

/** A run that is under way, whose far side and callers do as they are told. */
async function underWay(due: Partial<Record<Deadline, number>>) {
  const host = await openFakeHost({ schedule: 'manual' }, { standby: 0, defaults: { graceMs: 10_000, killMs: 1_000 } });
  const scope = host.supervisor.openScope(
    due['parent-deadline'] === undefined ? {} : { deadlineMs: due['parent-deadline'] },
  );
  const controller = new AbortController();
  let result: RunResult | null = null;
  const ending = scope
    .runTool(fakeTool(), 'x', {
      signal: controller.signal,
      runTimeoutMs: due['run-timeout'] ?? 1_000_000,
      operationTimeoutMs: due['operation-timeout'] ?? 0,
    })
    .then((ended) => {
      result = ended;
    });
  await settle();
  const tenure = host.tenures.all[0];
  if (tenure === undefined) throw new Error('no tenure was opened');
  tenure.deliver();
  await settle();
  let closing: Promise<unknown> = Promise.resolve();
  const act = (happening: Happening | 'deadlines') => {
    if (happening === 'value') tenure.value('done', false);
    if (happening === 'exception') tenure.failure({}, false);
    if (happening === 'exit') tenure.die({ code: 3, error: null });
    if (happening === 'cancel') controller.abort(new Error('enough'));
    if (happening === 'shutdown')
      closing = host.supervisor.close({ withinMs: host.supervisor.statistics().worstCaseStopMs });
    if (happening === 'deadlines') host.clock.fireDue();
  };
  /** Lets the far side obey if nothing has ended it yet, then walks to the end. */
  const finish = async (): Promise<RunResult> => {
    const seq = tenure.current?.seq ?? 1;
    if (tenure.current !== null) tenure.failure({ ofStop: true, name: 'AbortError' }, false);
    tenure.looked(seq);
    for (let turns = 0; result === null && turns < 200; turns += 1) {
      for (const each of host.tenures.all) {
        if (each.terminated) each.die({ code: 1, error: null });
        each.deliver();
      }
      await settle();
      if (result === null) await host.clock.step();
    }
    await ending;
    for (const each of host.tenures.all) each.die({ code: 1, error: null });
    for (const each of host.tenures.all) each.deliver();
    await closeFake(host);
    await closing;
    if (result === null) throw new Error('the request did not end');
    return result;
  };
  return { host, scope, tenure, act, finish };
}

async function apart(order: readonly Happening[]): Promise<RunResult> {
  const at = (happening: Deadline) => (order.includes(happening) ? START + GAP * order.indexOf(happening) : undefined);
  const due: Partial<Record<Deadline, number>> = {};
  for (const deadline of DEADLINES) {
    const instant = at(deadline);
    if (instant !== undefined) due[deadline] = instant;
  }
  const { host, tenure, act, finish } = await underWay(due);
  await host.clock.advance(START);
  for (const [index, happening] of order.entries()) {
    if (index > 0) await host.clock.advance(GAP);
    if (!isDeadline(happening)) act(happening);
    tenure.deliver();
    await settle();
  }
  return finish();
}

/** Everything within one instant: deadlines are due, and their timers fire when the order says so. */
async function atOnce(order: readonly (Happening | 'deadlines')[], due: readonly Deadline[], deliver: boolean) {
  const { host, tenure, act, finish } = await underWay(Object.fromEntries(due.map((deadline) => [deadline, START])));
  host.clock.jump(START);
  for (const happening of order) {
    act(happening);
    if (deliver) tenure.deliver();
  }
  return finish();
}

describe('several endings apart in time', () => {
  it('are told by the rules in every order of up to four', async () => {
    for (const order of orders(HAPPENINGS, 4)) {
      if (order.length === 0) continue;
      expect(told(await apart(order)), order.join(' → ')).toEqual(expected(order));
    }
  });

  it('are told by the rules in every order of all five stops and an outcome', async () => {
    for (const order of permutations(['cancel', ...DEADLINES, 'shutdown', 'value'] as Happening[])) {
      expect(told(await apart(order)), order.join(' → ')).toEqual(expected(order));
    }
  });

  it('for any order of all eight, are told by the rules', async () => {
    const order = fc.shuffledSubarray([...HAPPENINGS], { minLength: HAPPENINGS.length });
    await fc.assert(
      fc.asyncProperty(order, async (happenings) => {
        expect(told(await apart(happenings)), happenings.join(' → ')).toEqual(expected(happenings));
      }),
      { verbose: fc.VerbosityLevel.Verbose, numRuns: 500 },
    );
  });

  it('tell each deadline at its own instant', async () => {
    const result = await apart(['cancel', 'parent-deadline', 'operation-timeout', 'run-timeout']);
    expect([result.cause, ...result.also].map((stop) => stop?.atMs)).toEqual([100, 110, 120, 130]);
  });
});

describe('a deadline of a scope whose signal is watched', () => {
  it('is told once', async () => {
    const { host, scope, finish } = await underWay({ 'parent-deadline': START });
    expect(scope.ctx.signal.aborted).toBe(false);
    await host.clock.advance(START);
    expect(scope.ctx.signal.aborted).toBe(true);
    const result = await finish();
    expect([result.cause, ...result.also].map((stop) => stop?.kind)).toEqual(['parent-deadline']);
  });
});

describe('several endings in one instant', () => {
  /** Deadlines that are due together count outermost first, with whatever stop is noticed at their instant. */
  const TIE: readonly Deadline[] = ['parent-deadline', 'operation-timeout', 'run-timeout'];
  const DUE: readonly (readonly Deadline[])[] = [
    [],
    ...DEADLINES.map((one) => [one]),
    ['operation-timeout', 'run-timeout'],
    TIE,
  ];
  const unfold = (order: readonly (Happening | 'deadlines')[], due: readonly Deadline[]): Happening[] => {
    const noticed = order.findIndex((each) => each === 'cancel' || each === 'shutdown' || each === 'deadlines');
    return order.flatMap((each, index) => {
      const own = each === 'deadlines' ? [] : [each];
      return index === noticed ? [...own, ...TIE.filter((deadline) => due.includes(deadline))] : own;
    });
  };

  it.each([
    // An exit is seen by its event alone: it cannot wait in the port.
    ['read at once', true, ['value', 'exception', 'cancel', 'shutdown', 'deadlines', 'exit']],
    ['left in the port until a stop sweeps it', false, ['value', 'exception', 'cancel', 'shutdown', 'deadlines']],
  ] as const)('are told by the rules in every order, records %s', async (_, deliver, happenings) => {
    for (const due of DUE) {
      for (const order of orders<Happening | 'deadlines'>(happenings, 4)) {
        if (order.length === 0) continue;
        const result = await atOnce(order, due, deliver);
        const model = expected(unfold(order, due));
        if (model.cause === null && model.status !== 'succeeded' && model.status !== 'failed') continue;
        expect(told(result), `${order.join(' → ')}, due: ${due.join(', ')}`).toEqual(model);
      }
    }
  });

  it('put the outermost deadline first when three are due together', async () => {
    const result = await atOnce(['deadlines'], [...DEADLINES], true);
    expect([result.cause, ...result.also].map((stop) => stop?.kind)).toEqual([...TIE]);
  });
});

describe('a host whose loop was blocked', () => {
  it.each(DEADLINES)('tells a %s that passed before the cancel as the cause', async (deadline) => {
    const { host, act, finish } = await underWay({ [deadline]: START });
    host.clock.jump(START + 50);
    act('cancel');
    const result = await finish();
    expect(result.cause).toMatchObject({ kind: deadline, atMs: START });
    expect(result.also).toMatchObject([{ kind: 'cancel', atMs: START + 50 }]);
    expect(result.status).toBe('timed-out');
  });

  it.each(DEADLINES)('takes a value that came before it looked over a %s', async (deadline) => {
    const { host, act, finish } = await underWay({ [deadline]: START });
    act('value');
    host.clock.jump(START + 50);
    act('deadlines');
    const result = await finish();
    expect(result).toMatchObject({ status: 'succeeded', value: 'done', cause: null, also: [], late: null });
  });
});

describe('a result after the kill', () => {
  it('counts when it was posted before the thread died', async () => {
    const { host, tenure, act, finish } = await underWay({});
    act('cancel');
    await host.clock.advance(10_000);
    expect(tenure.terminated).toBe(true);
    tenure.value('done', false);
    tenure.die({ code: 1, error: null });
    const result = await finish();
    expect(result).toMatchObject({ status: 'succeeded', value: 'done', late: 'after-kill' });
    expect(result.also).toMatchObject([{ kind: 'cancel' }]);
    expect(result.lease?.end).toBe('quarantined');
  });
});
