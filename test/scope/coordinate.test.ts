/** `coordinate`: turns, what the application decides between them, and every way it ends. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { PreparedContext } from '../../src/model/control-shapes.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { SupervisorOptions } from '../../src/model/options.ts';
import type { RunResult } from '../../src/model/result.ts';
import type { CoordinationError, Done, NextTurn, Turn } from '../../src/scope/coordinate.ts';
import type { RunScope } from '../../src/scope/scope-handle.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const tool = fakeTool();
const turn = (input: string, options?: RunOptions): Turn => ({ tool, input, options });
const caught = (work: Promise<unknown>): Promise<CoordinationError> =>
  work.then(
    () => {
      throw new Error('it resolved');
    },
    (error: CoordinationError) => error,
  );

async function opened(options: Partial<SupervisorOptions> = {}, deadlineMs?: number) {
  const host = await openFakeHost(obedientFar, { standby: 0, ...options });
  const scope = host.supervisor.openScope({ run: 'r-1', ...(deadlineMs !== undefined && { deadlineMs }) });
  return { ...host, scope };
}

describe('coordinate', () => {
  it('runs turn after turn and resolves with the value and every result', async () => {
    const { scope, ...host } = await opened();
    const { value, turns } = await scope.coordinate(turn('value'), (result) =>
      result.ok ? turn('throw') : { done: 'enough' },
    );
    expect(value).toBe('enough');
    expect(turns.map(({ status }) => status)).toEqual(['succeeded', 'failed']);
    expect(turns.every(({ request }) => request.run === 'r-1')).toBe(true);
    expect(Object.isFrozen(turns)).toBe(true);
    await closeFake(host);
  });

  it('tells next every result, a failed, a timed-out and a rejected one included', async () => {
    const { scope, ...host } = await opened();
    const heard: string[] = [];
    const plan = [turn('hang', { runTimeoutMs: 10 }), turn('throw'), { done: null }];
    const coordinating = scope.coordinate(turn('value'), (result) => {
      heard.push(result.status);
      return plan.shift() as Turn | Done<null>;
    });
    await settle();
    await host.clock.advance(10_000);
    await coordinating;
    expect(heard).toEqual(['succeeded', 'timed-out', 'failed']);
    await closeFake(host);
  });

  it('calls next with its own scope, the turn ended and its isolate free', async () => {
    const { scope, ...host } = await opened({ queue: { capacity: 0 } });
    const inner: RunResult[] = [];
    await scope.coordinate(turn('value'), async (_result, given) => {
      expect(given).toBe(scope);
      expect(host.supervisor.statistics().isolates).toMatchObject({ idle: 1, leased: 0 });
      inner.push(await given.runTool(tool, 'value'), await host.supervisor.runTool(tool, 'value'));
      return { done: undefined };
    });
    expect(inner.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    await closeFake(host);
  });

  it('gives each turn the budget of its own options', async () => {
    const { scope, ...host } = await opened();
    const budget = { operationTimeoutMs: 50 };
    let left = 2;
    const coordinating = scope.coordinate(turn('hang', budget), () => {
      left -= 1;
      host.clock.jump(1_000);
      return left > 0 ? turn('value', budget) : { done: left };
    });
    await settle();
    await host.clock.advance(10_000);
    const { turns } = await coordinating;
    expect(turns.map(({ cause, status }) => cause?.kind ?? status)).toEqual(['operation-timeout', 'succeeded']);
    await closeFake(host);
  });

  it('gives each turn a scope of its own, which has ended when next is called', async () => {
    const { scope, ...host } = await opened();
    const signals: AbortSignal[] = [];
    const onPrepared = (ctx: PreparedContext): undefined => void signals.push(ctx.signal);
    let left = 2;
    await scope.coordinate(turn('value', { onPrepared }), (_result, given) => {
      expect(signals.map(({ aborted }) => aborted)).toEqual(signals.map(() => true));
      expect(given.ctx.signal.aborted).toBe(false);
      left -= 1;
      return left > 0 ? turn('value', { onPrepared }) : { done: left };
    });
    expect(new Set(signals).size).toBe(2);
    await closeFake(host);
  });

  it('leaves nothing that listens to its scope', async () => {
    const { scope, ...host } = await opened();
    await scope.coordinate(turn('value'), async () => ({ done: 1 }));
    await caught(scope.coordinate(turn('value'), () => Promise.reject(new Error('mine'))));
    expect(getEventListeners(scope.ctx.signal, 'abort')).toEqual([]);
    await closeFake(host);
  });

  it('starts no timer of its own while next is at work', async () => {
    const { scope, ...host } = await opened();
    let finish: (done: Done<string>) => void = () => undefined;
    const before = host.clock.pending;
    const coordinating = scope.coordinate(
      turn('value'),
      () => new Promise<Done<string>>((resolve) => (finish = resolve)),
    );
    await settle();
    expect(host.clock.pending).toBe(before);
    finish({ done: 'late' });
    expect((await coordinating).value).toBe('late');
    await closeFake(host);
  });
});

describe('coordinate, ended otherwise', () => {
  it('by a throw of next, carries the turns and the very error as its cause', async () => {
    const { scope, ...host } = await opened();
    const mine = new Error('mine');
    const failure = await caught(
      scope.coordinate(turn('value'), () => {
        throw mine;
      }),
    );
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_NEXT_FAILED', turns: [{ status: 'succeeded' }] });
    expect(failure.cause).toBe(mine);
    expect((await scope.runTool(tool, 'value')).status).toBe('succeeded');
    await closeFake(host);
  });

  it('by a rejection of next, is told as by a throw', async () => {
    const { scope, ...host } = await opened();
    const failure = await caught(scope.coordinate(turn('value'), () => Promise.reject(null)));
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_NEXT_FAILED', cause: null, turns: [{ ok: true }] });
    await closeFake(host);
  });

  it('after maxTurns, starts no further turn', async () => {
    const { scope, ...host } = await opened();
    const failure = await caught(scope.coordinate(turn('value'), () => turn('value'), { maxTurns: 3 }));
    expect(failure.code).toBe('ERR_LEASEHOLD_MAX_TURNS');
    expect(failure.turns).toHaveLength(3);
    expect(host.supervisor.statistics().requests.succeeded).toBe(3);
    await closeFake(host);
  });

  it('with a value at the last allowed turn, resolves', async () => {
    const { scope, ...host } = await opened();
    const next: NextTurn<string, RunScope> = () => ({ done: 'in time' });
    expect((await scope.coordinate(turn('value'), next, { maxTurns: 1 })).value).toBe('in time');
    await closeFake(host);
  });

  it('by a cancel of its scope in mid-turn, does not call next again', async () => {
    const { scope, ...host } = await opened();
    let asked = 0;
    const failing = caught(
      scope.coordinate(turn('obey'), () => {
        asked += 1;
        return { done: null };
      }),
    );
    await settle();
    scope.cancel('user left');
    await host.clock.advance(10_000);
    expect(await failing).toMatchObject({
      code: 'ERR_LEASEHOLD_CANCELLED',
      message: 'user left',
      turns: [{ status: 'cancelled' }],
    });
    expect(asked).toBe(0);
    await closeFake(host);
  });

  it('by a cancel while next waits, rejects at once and is told as left behind', async () => {
    const { scope, ...host } = await opened();
    const failing = caught(scope.coordinate(turn('value'), () => new Promise<Turn>(() => {})));
    await settle();
    scope.cancel('user left');
    expect(await failing).toMatchObject({ code: 'ERR_LEASEHOLD_CANCELLED', turns: [{ status: 'succeeded' }] });
    const reporting = scope.shutdown();
    await host.clock.advance(60_000);
    expect((await reporting).abandoned).toEqual([{ name: 'coordinate' }]);
    await closeFake(host);
  });

  it('by the deadline of its scope while next waits, rejects with that deadline', async () => {
    const { scope, ...host } = await opened({}, 100);
    const failing = caught(scope.coordinate(turn('value'), () => new Promise<Turn>(() => {})));
    await host.clock.advance(100);
    expect(await failing).toMatchObject({ code: 'ERR_LEASEHOLD_PARENT_DEADLINE', name: 'TimeoutError' });
    await closeFake(host);
  });

  it('by its own next, which cancels the scope and goes on, takes no further turn', async () => {
    const { scope, ...host } = await opened();
    const failure = await caught(
      scope.coordinate(turn('value'), (_result, given) => {
        given.cancel('from within');
        return turn('value');
      }),
    );
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_CANCELLED', message: 'from within' });
    expect(failure.turns).toHaveLength(1);
    await closeFake(host);
  });

  it.each([
    ['waits for ever', () => new Promise<Turn>(() => {})],
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
  ])('by its own next, which cancels the scope and %s, is told of the cancel', async (_, then) => {
    const { scope, ...host } = await opened();
    const failing = scope.coordinate(turn('value'), (_result, given) => {
      given.cancel('from within');
      return then();
    });
    expect(await caught(failing)).toMatchObject({ code: 'ERR_LEASEHOLD_CANCELLED', turns: [{ ok: true }] });
    void scope.shutdown();
    await host.clock.advance(60_000);
    await closeFake(host);
  });

  it('by a close of the supervisor that lets the turn finish, asks no more', async () => {
    const { scope, ...host } = await opened();
    let asked = 0;
    const failing = caught(
      scope.coordinate(turn('obey'), () => {
        asked += 1;
        return turn('value');
      }),
    );
    await settle();
    const closing = host.supervisor.close({ withinMs: 60_000 });
    await settle();
    host.tenures.working[0]?.value('late');
    await host.clock.advance(60_000);
    await closing;
    expect(await failing).toMatchObject({ code: 'ERR_LEASEHOLD_SCOPE_CLOSED', turns: [{ status: 'succeeded' }] });
    expect(asked).toBe(0);
  });

  it('in a closed scope, starts nothing', async () => {
    const { scope, ...host } = await opened();
    await scope.shutdown();
    const failure = await caught(scope.coordinate(turn('value'), () => ({ done: null })));
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_SCOPE_CLOSED', turns: [] });
    expect(host.events).toEqual([]);
    await closeFake(host);
  });

  it.each([
    ['nothing', undefined],
    ['a string', 'done'],
    ['an object of neither kind', {}],
    ['a turn with an unknown member', { tool, input: 1, retries: 1 }],
    ['both', { tool, input: 1, done: 1 }],
    ['something that is no tool', { tool: {}, input: 1 }],
    ['an unknown option', { tool, input: 1, options: { timeout: 1 } }],
  ])('by a next that returns %s, says so with the turns', async (_, returned) => {
    const { scope, ...host } = await opened();
    const failure = await caught(scope.coordinate(turn('value'), () => returned as unknown as Turn));
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_INVALID_OPTION', turns: [{ status: 'succeeded' }] });
    await closeFake(host);
  });

  it.each([
    ['maxTurns 0', [turn('value'), () => ({ done: 1 }), { maxTurns: 0 }]],
    ['an unknown option', [turn('value'), () => ({ done: 1 }), { turns: 1 }]],
    ['no next', [turn('value'), undefined]],
    ['no first turn', [undefined, () => ({ done: 1 })]],
  ])('by %s, before anything has run', async (_, given) => {
    const { scope, ...host } = await opened();
    const failure = await caught(scope.coordinate(...(given as unknown as [Turn, NextTurn<number, RunScope>])));
    expect(failure).toMatchObject({ code: 'ERR_LEASEHOLD_INVALID_OPTION', turns: [] });
    expect(host.events).toEqual([]);
    await closeFake(host);
  });
});
