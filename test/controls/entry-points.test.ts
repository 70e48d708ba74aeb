/**
 * Every entry point with every control: what starts a timer, what notifies, what asks, what claims.
 *
 * Invariant: each cell is measured with one control alone, on a clock that counts its timers. Deliberately absent: what the controls
 * do once a request runs.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import { requestRig } from '../run/request-rig.ts';
import { countedSignal } from '../scope/scope-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';

const CONTROLS = ['none', 'signal', 'operationTimeoutMs', 'onPrepared', 'retry', 'repair', 'observers'] as const;
type Control = (typeof CONTROLS)[number];
type Rig = Awaited<ReturnType<typeof setUp>>;

/** What an entry point did before anybody ran anything for it. */
interface Did {
  readonly timers: number;
  readonly listeners: number;
  readonly notified: number;
  readonly asked: number;
  readonly events: number;
  readonly runs: number;
}
const NOTHING: Did = { timers: 0, listeners: 0, notified: 0, asked: 0, events: 0, runs: 0 };

async function setUp(control: Control) {
  const calls = { asked: 0, notified: 0, heard: 0 };
  const count = (of: keyof typeof calls): undefined => {
    calls[of] += 1;
  };
  const authorize = () => {
    count('asked');
    return { allow: true } as const;
  };
  const rig = await requestRig({}, { authorize });
  const { signal, listening } = countedSignal();
  const options: Record<Control, RunOptions> = {
    none: {},
    signal: { signal },
    operationTimeoutMs: { operationTimeoutMs: 5_000 },
    onPrepared: { onPrepared: () => count('notified') },
    retry: { retry: { attempts: 3 } },
    repair: { repair: () => undefined },
    observers: { observers: [{ onEvent: () => count('heard') }] },
  };
  const idle = rig.clock.pending;
  const told = rig.events.length;
  const did = (): Did => ({
    timers: rig.clock.pending - idle,
    listeners: listening.size,
    notified: calls.notified,
    asked: calls.asked,
    events: rig.events.length - told + calls.heard,
    runs: rig.runs(),
  });
  return { ...rig, options: options[control], did };
}

const idleEntries: Record<string, (rig: Rig) => unknown> = {
  validateRequest: ({ supervisor, options }) => supervisor.validateRequest(fakeTool(), 'x', options),
  prepare: ({ supervisor, options }) => supervisor.prepare(fakeTool(), 'x', options),
  prepareExecution: ({ supervisor, options }) => supervisor.prepareExecution(fakeTool(), 'x', options),
  'details of a handle': async ({ supervisor, options }) =>
    (await supervisor.prepareExecution(fakeTool(), 'x', options)).details(),
  'discard of a handle': async ({ supervisor, options }) =>
    (await supervisor.prepareExecution(fakeTool(), 'x', options)).discard(),
  'validateRequest of a scope': ({ supervisor, options }) =>
    supervisor.openScope({ deadlineMs: 9_000 }).validateRequest(fakeTool(), 'x', options),
  'prepare of a scope': ({ supervisor, options }) =>
    supervisor.openScope({ deadlineMs: 9_000 }).prepare(fakeTool(), 'x', options),
  'prepareExecution of a scope': ({ supervisor, options }) =>
    supervisor.openScope({ deadlineMs: 9_000 }).prepareExecution(fakeTool(), 'x', options),
};
const runEntries: Record<string, (rig: Rig) => Promise<unknown>> = {
  runTool: async ({ supervisor, options }) => void supervisor.runTool(fakeTool(), 'x', options),
  'runTool of a scope': async ({ supervisor, options }) =>
    void supervisor.openScope().runTool(fakeTool(), 'x', options),
  runPrepared: async ({ supervisor, options: { signal, ...options } }) => {
    const handle = await supervisor.prepareExecution(fakeTool(), 'x', options);
    void supervisor.runPrepared(handle, signal === undefined ? {} : { signal });
  },
};
const cells = (entries: object) =>
  Object.keys(entries).flatMap((entry) => CONTROLS.map((control) => ({ entry, control })));

describe('an entry point that runs nothing', () => {
  it.each(cells(idleEntries))('$entry with $control does nothing', async ({ entry, control }) => {
    const rig = await setUp(control);
    await idleEntries[entry]?.(rig);
    await settle();
    expect(rig.did()).toEqual(NOTHING);
    await closeFake(rig);
  });
});

describe('an entry point that runs', () => {
  it.each(cells(runEntries))('$entry with $control does what it must', async ({ entry, control }) => {
    const rig = await setUp(control);
    await runEntries[entry]?.(rig);
    await settle();
    const { timers, events, ...did } = rig.did();
    expect(did).toEqual({
      listeners: control === 'signal' ? 1 : 0,
      notified: control === 'onPrepared' ? 1 : 0,
      asked: 1,
      runs: 1,
    });
    // One timer for whatever it waits for, and started, queued, granted told to whoever listens.
    expect([timers, events]).toEqual([1, control === 'observers' ? 6 : 3]);
    await closeFake(rig);
    expect(rig.clock.pending).toBe(0);
  });

  it.each(['used', 'discarded'])('runPrepared of a handle that is %s claims nothing', async (how) => {
    const rig = await setUp('observers');
    const handle = await rig.supervisor.prepareExecution(fakeTool(), 'x', rig.options);
    if (how === 'used') void rig.supervisor.runPrepared(handle);
    else handle.discard();
    await settle();
    const before = rig.did();
    await rig.supervisor.runPrepared(handle);
    expect(rig.did()).toEqual(before);
    await closeFake(rig);
  });
});

describe('validateRequest', () => {
  const secretive = defineTool({
    name: 'secretive',
    module: 'file:///fake/tool.mjs',
    input: z.object({ amount: z.number() }),
    effects: 'none',
    secrets: ({ amount }) => (amount < 0 ? (undefined as never) : []),
  });

  it('tells the issues of an input that would be refused', async () => {
    const { supervisor, ...rig } = await requestRig();
    const scope = supervisor.openScope();
    for (const place of [supervisor, scope]) {
      expect(place.validateRequest(secretive, { amount: 1 })).toEqual({ ok: true });
      expect(place.validateRequest(secretive, { amount: 'one' })).toMatchObject({
        ok: false,
        issues: [{ path: 'amount', code: 'invalid_type', message: expect.any(String) }],
      });
      expect(place.validateRequest(secretive, { amount: -1 })).toMatchObject({ ok: false, issues: [{ path: '' }] });
    }
    await closeFake({ supervisor, ...rig });
  });

  it('throws for what is wrong with the call, and for a schema that takes its time', async () => {
    const rig = await requestRig();
    const slow = defineTool({
      name: 'slow',
      module: 'file:///fake/tool.mjs',
      input: z.unknown().refine(async () => true),
      effects: 'none',
    });
    expect(() => rig.supervisor.validateRequest(slow, 1)).toThrow(/prepare\(\) waits for it/);
    expect(() => rig.supervisor.validateRequest(slow, 1, { speed: 1 } as never)).toThrow(/"speed"/);
    expect(() => rig.supervisor.validateRequest({} as never, 1)).toThrow(/"tool"/);
    await closeFake(rig);
  });
});
