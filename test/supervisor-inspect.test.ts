/**
 * `inspect` of a supervisor on real threads: one tree of supervisor, isolates and leases, rebuilt from what Stately's
 * inspector was sent.
 *
 * Invariant: what is compared comes out of the adapter alone. Deliberately absent: the inspector's page and its relay.
 */
import { createInspector } from '@statelyai/inspect';
import { createSupervisor, defineTool, type RunResult } from 'leasehold';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isolateMachine, leaseMachine, supervisorMachine } from '../machines/index.ts';
import { fixture } from './support/fault-adapter.ts';
import { chartOf, type InspectedActor, InspectRecorder } from './support/inspect-recorder.ts';

const tool = (file: string, exportName = 'default') =>
  defineTool({ name: 'tool', module: fixture(file), exportName, input: z.unknown(), effects: 'none' });

let actors: InspectedActor[] = [];
let results: RunResult[] = [];
const named = (prefix: string) => actors.filter(({ name }) => name.startsWith(`${prefix}-`));
const actorOf = (id: string | undefined) => actors.find(({ name }) => name === id);

beforeAll(async () => {
  const recorder = new InspectRecorder();
  const { inspect } = createInspector(recorder);
  const supervisor = createSupervisor({ isolates: 1, standby: 0, inspect, defaults: { graceMs: 50, killMs: 5_000 } });
  results = [
    await supervisor.runTool(tool('echo.mjs'), 1),
    await supervisor.runTool(tool('hang.mjs', 'loopForever'), {}, { runTimeoutMs: 50 }),
    await supervisor.runTool(tool('echo.mjs'), 2),
  ];
  await supervisor.close();
  await recorder.until(
    (event) =>
      event.type === '@xstate.snapshot' && (event.snapshot as unknown as { value: unknown }).value === 'closed',
  );
  actors = recorder.actors();
});

describe('inspect', () => {
  it('shows one tree: the supervisor, its isolates and its leases', () => {
    const roots = actors.filter(({ parent }) => parent === null);
    expect(roots.map(({ name }) => name)).toEqual([expect.stringMatching(/^supervisor-/)]);
    expect(new Set(actors.slice(1).map(({ parent }) => parent))).toEqual(new Set([roots[0]?.name]));
    expect([named('isolate').length, named('lease').length, actors.length]).toEqual([2, 3, 6]);
  });

  it('draws each chart as it was authored', () => {
    for (const [prefix, machine] of [
      ['supervisor', supervisorMachine],
      ['isolate', isolateMachine],
      ['lease', leaseMachine],
    ] as const) {
      for (const { chart } of named(prefix)) expect(chart).toEqual(chartOf(machine));
    }
  });

  it('follows each lease on the path its result tells', () => {
    expect(results.map(({ status }) => status)).toEqual(['succeeded', 'timed-out', 'succeeded']);
    for (const { lease } of results) expect(actorOf(lease?.id)?.path).toEqual(lease?.path);
    expect(results[1]?.lease?.path).toEqual([
      'queued',
      'acquired',
      'running',
      'terminating',
      'draining',
      'quarantined',
    ]);
  });

  it('follows each isolate from its boot to its end', () => {
    const [broken, last] = [results[1], results[2]].map((result) => actorOf(result?.lease?.isolate?.id));
    const served = ['leased', 'resetting', 'idle'];
    expect(broken?.path).toEqual(['booting', 'idle', ...served, 'leased', 'quarantined', 'gone']);
    expect(last?.path).toEqual(['booting', 'idle', ...served, 'retiring', 'gone']);
    expect(last?.last).toMatchObject({ status: 'done', value: 'gone', context: { leases: 1 } });
  });

  it('follows the supervisor, and shows it what its children do', () => {
    const [root] = actors;
    expect(root?.path).toEqual(['opening', 'open', 'draining', 'closing', 'closed']);
    const events = new Set(root?.events);
    for (const type of ['OPENED', 'REQUEST', 'SETTLEMENT', 'EXIT', 'DRAIN', 'CLOSE', 'CLOSED'])
      expect(events).toContain(type);
    expect(root?.events.filter((type) => type === 'REQUEST')).toHaveLength(3);
    expect(root?.events.filter((type) => type === 'SETTLEMENT')).toHaveLength(3);
  });

  it('shows the supervisor each stop that was recorded', () => {
    expect(actors[0]?.events.filter((type) => type === 'STOP')).toHaveLength(1);
  });
});
