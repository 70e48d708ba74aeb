/** Spawned: a function of the host in a scope, its failures, its stops and its hard timeout. */
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/model/result.ts';
import type { RunScope } from '../../src/scope/run-scope.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';
import { BOUND_MS, namesIn, parkedChild, scopeRig, shutDown, untilStopped } from './scope-rig.ts';

const never = () => new Promise<never>(() => {});

describe('spawn', () => {
  it('runs the function at once, in a scope of its own', async () => {
    const { open } = scopeRig();
    const scope = open({ run: 'r-1' });
    let inner: RunScope | null = null;
    const child = scope.spawn('index', async (own) => {
      inner = own;
      return 7;
    });
    expect(inner).not.toBeNull();
    expect((inner as unknown as RunScope).ctx.run).toBe('r-1');
    expect([child.name, await child.result]).toEqual(['index', 7]);
  });

  it('reports a value as completed, a failure as completed with its error', async () => {
    const { open } = scopeRig();
    const scope = open();
    scope.spawn('fine', async () => 1);
    const failed = scope.spawn('broken', async () => {
      throw new Error('broke');
    });
    await expect(failed.result).rejects.toThrow('broke');
    await settle();
    expect((await scope.shutdown()).completed).toEqual([
      { name: 'fine' },
      { name: 'broken', error: new Error('broke') },
    ]);
  });

  it('takes a function that throws at once, and one that is none, for a failure', async () => {
    const scope = scopeRig().open();
    const thrown = scope.spawn('throws', () => {
      throw new Error('at once');
    });
    await expect(thrown.result).rejects.toThrow('at once');
    const none = scope.spawn('none', 7 as unknown as () => Promise<void>);
    await expect(none.result).rejects.toThrow(/"body" must be a function/);
  });

  it.each([
    ['onFailure', { onFailure: 'explode' }],
    ['hardTimeoutMs', { hardTimeoutMs: 0 }],
    ['hardTimeoutMs', { hardTimeoutMs: Number.NaN }],
    ['timeoutMs', { timeoutMs: 5 }],
  ])('refuses a bad %s by its name and starts nothing: %j', async (name, options) => {
    const scope = scopeRig().open();
    let started = false;
    const spawn = () =>
      scope.spawn(
        'index',
        async () => {
          started = true;
        },
        options as never,
      );
    expect(spawn).toThrow(name);
    expect(started).toBe(false);
    await scope.untilEnded();
  });

  it('starts nothing in a scope that was stopped, and reports it as aborted', async () => {
    const scope = scopeRig().open();
    scope.cancel('user left');
    let started = false;
    const child = scope.spawn('late', async () => {
      started = true;
    });
    await expect(child.result).rejects.toMatchObject({ name: 'AbortError', message: 'user left' });
    await settle();
    expect([started, namesIn(await scope.shutdown())]).toMatchObject([false, { aborted: ['late'] }]);
  });
});

describe('the failure of a child', () => {
  it('stays its own', async () => {
    const scope = scopeRig().open();
    await scope.spawn('broken', () => Promise.reject(new Error('broke'))).result.catch(() => undefined);
    await settle();
    expect(scope.stopped).toBeNull();
  });

  it('cancels the scope it was spawned to fail, and its siblings', async () => {
    const scope = scopeRig().open();
    const sibling = scope.spawn('sibling', untilStopped);
    scope.spawn('broken', () => Promise.reject(new Error('broke')), { onFailure: 'fail-scope' });
    await expect(sibling.result).rejects.toMatchObject({ name: 'AbortError', message: '"broken" failed' });
    expect(scope.stopped).toMatchObject({ kind: 'cancel', scope: scope.id });
  });

  it('cancels nothing when it only answers a stop', async () => {
    const { open } = scopeRig();
    const outer = open();
    const scope = outer.fork();
    const child = scope.spawn('child', (inner) => untilStopped(inner), { onFailure: 'fail-scope', hardTimeoutMs: 50 });
    scope.cancel('enough');
    await expect(child.result).rejects.toThrow('enough');
    expect([scope.stopped?.reason, outer.stopped]).toEqual(['enough', null]);
  });
});

describe('a stop', () => {
  it('aborts a child that obeys', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('obeys', untilStopped);
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ aborted: ['obeys'], abandoned: [] });
  });

  it('lets a child that ends with a value count as completed', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const child = scope.spawn('saves', (inner) => untilStopped(inner).catch(() => 'saved'));
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ completed: ['saves'], aborted: [] });
    expect(await child.result).toBe('saved');
  });

  it('waits for clean-up, and tells what that threw', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('cleans', (inner) =>
      untilStopped(inner).finally(() => {
        throw new Error('no disk');
      }),
    );
    expect((await shutDown(scope, clock)).aborted).toEqual([{ name: 'cleans', error: new Error('no disk') }]);
  });

  it('reports a child that ignores it as abandoned', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('deaf', never);
    const from = clock.now();
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ abandoned: ['deaf'] });
    expect(clock.now() - from).toBe(BOUND_MS);
  });
});

describe('what a child starts', () => {
  it('ends with the child, before the scope does', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const ends: string[] = [];
    const child = scope.spawn('outer', async (inner) => {
      inner.spawn('inner', (own) => untilStopped(own).finally(() => ends.push('inner')));
      return 'done';
    });
    expect(await child.result).toBe('done');
    await scope.untilEnded();
    ends.push('scope');
    expect(ends).toEqual(['inner', 'scope']);
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ completed: ['outer'] });
  });

  it('is told of by the child alone, and not beside it, when it hangs', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('outer', (inner) => {
      inner.spawn('deaf', never);
      const fork = inner.fork();
      const { child } = parkedChild('tool');
      fork.adopt(child);
      fork.release(child, 'killed');
      return never();
    });
    const report = namesIn(await shutDown(scope, clock));
    expect(report).toEqual({ completed: [], aborted: [], killed: [], abandoned: ['outer'] });
  });

  it('makes a stopped child abandoned when it is', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('outer', (inner) => {
      inner.spawn('deaf', never);
      return untilStopped(inner);
    });
    const { aborted, abandoned } = namesIn(await shutDown(scope, clock));
    expect(aborted).toEqual([]);
    expect(abandoned).toContain('outer');
  });

  it('makes a stopped child killed when its isolate was', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    scope.spawn('outer', (inner) => {
      const { child } = parkedChild('tool');
      child.stop = () => inner.release(child, 'killed');
      inner.adopt(child);
      return untilStopped(inner);
    });
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ aborted: [], killed: ['outer'] });
  });
});

describe('a request of a child', () => {
  it.each([
    ['cancel', 'before'],
    ['cancel', 'after'],
    ['parent-deadline', 'before'],
    ['parent-deadline', 'after'],
    ['shutdown', 'before'],
  ] as const)('hears a %s of the scope once, with signals asked for %s it began', async (kind, when) => {
    const host = await openFakeHost(obedientFar, { defaults: { graceMs: 20, killMs: 20 } });
    const scope = host.supervisor.openScope(kind === 'parent-deadline' ? { deadlineMs: 50 } : {});
    const ended: RunResult[] = [];
    const scopes: Pick<RunScope, 'ctx'>[] = [scope];
    /** From then on each listens on its own, too. */
    const listen = () => scopes.map(({ ctx }) => ctx.signal);
    scope.spawn('outer', (outer) => {
      const { result } = outer.spawn('inner', async (inner) => {
        scopes.push(outer, inner);
        if (when === 'before') listen();
        ended.push(await inner.runTool(fakeTool(), 'hang'));
      });
      return result;
    });
    await host.clock.advance(20);
    listen();
    if (kind === 'cancel') scope.cancel('enough');
    if (kind === 'shutdown') void host.supervisor.close({ withinMs: 10 });
    await host.clock.advance(100);
    expect(ended).toMatchObject([{ cause: { kind }, also: [] }]);
    expect(host.events.filter(({ type }) => type === 'stop.recorded')).toHaveLength(1);
    await closeFake(host);
  });
});

describe('hardTimeoutMs', () => {
  it('stops the child at its instant, and not the scope', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const child = scope.spawn('slow', untilStopped, { hardTimeoutMs: 50 });
    await clock.advance(50);
    await expect(child.result).rejects.toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_PARENT_DEADLINE' });
    expect([scope.stopped, clock.pending]).toEqual([null, 0]);
    expect(namesIn(await scope.shutdown())).toMatchObject({ aborted: ['slow'] });
  });

  it('gives up a child that does not hear it, after the bound, and lets the scope end', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const child = scope.spawn('deaf', never, { hardTimeoutMs: 50 });
    await clock.advance(50 + BOUND_MS);
    await expect(child.result).rejects.toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_PARENT_DEADLINE' });
    await scope.untilEnded();
    expect(namesIn(await scope.shutdown())).toMatchObject({ abandoned: ['deaf'] });
    expect(clock.pending).toBe(0);
  });

  it('tells of a child as abandoned that returned and left something running', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const child = scope.spawn('outer', async (inner) => {
      inner.spawn('stuck', never);
      return 'left';
    });
    expect(await child.result).toBe('left');
    const report = namesIn(await shutDown(scope, clock));
    expect(report).toMatchObject({ completed: [], abandoned: ['outer'] });
  });

  it('is told of once though it ends after it was given up, also in a fork', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    let end = (): void => undefined;
    scope.fork().spawn('late', () => new Promise<void>((resolve) => (end = resolve)), { hardTimeoutMs: 10 });
    await clock.advance(10 + BOUND_MS);
    end();
    await settle();
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ completed: [], abandoned: ['late'] });
  });

  it('rejects the result of a child that a shutdown gives up', async () => {
    const { clock, open } = scopeRig();
    const scope = open();
    const child = scope.spawn('deaf', never);
    const nested = scope.spawn('outer', (inner) => inner.spawn('inner', never).result);
    expect(namesIn(await shutDown(scope, clock))).toMatchObject({ abandoned: ['deaf', 'outer'] });
    await expect(child.result).rejects.toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_CANCELLED' });
    await expect(nested.result).rejects.toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_CANCELLED' });
  });

  it('leaves no timer behind a child that ended in time', async () => {
    const { clock, open } = scopeRig();
    await open().spawn('quick', async () => 1, { hardTimeoutMs: 50 }).result;
    await settle();
    expect(clock.pending).toBe(0);
  });
});
