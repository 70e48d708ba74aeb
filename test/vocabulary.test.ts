/**
 * One vocabulary: the states of the machines, the words of a result and the keys of the statistics agree.
 *
 * Invariant: each list is compared with where it lives, never with a copy. Deliberately absent: what the words mean.
 */

import { createSupervisor, runResultSchema } from 'leasehold';
import { isolateMachine, leaseMachine, supervisorMachine } from 'leasehold/machines';
import { describe, expect, it } from 'vitest';
import { FINDING_KINDS } from '../src/model/result.ts';
import { LEASE_STATES, STATUSES, STOP_KINDS } from '../src/model/stop.ts';

interface Chart {
  readonly config: { readonly states?: Record<string, { readonly type?: string }> };
}

function statesOf(machine: unknown): string[] {
  return Object.keys((machine as Chart).config.states ?? {});
}

function finalStatesOf(machine: unknown): string[] {
  const states = (machine as Chart).config.states ?? {};
  return Object.keys(states).filter((state) => states[state]?.type === 'final');
}

/** States an isolate passes on its way out, which nobody counts. */
const UNCOUNTED = ['retiring', 'gone'];

describe('the words for a lease', () => {
  it('are the states of its machine', () => {
    expect([...LEASE_STATES].sort()).toEqual(statesOf(leaseMachine).sort());
  });

  it('name as its ends the final states', () => {
    expect(finalStatesOf(leaseMachine).sort()).toEqual(['completed', 'quarantined']);
  });
});

describe('the words for isolates and the supervisor', () => {
  it('are the keys of the statistics', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    const { isolates, state } = supervisor.statistics();
    await supervisor.close();
    const counted = statesOf(isolateMachine).filter((name) => !UNCOUNTED.includes(name));
    expect(Object.keys(isolates).sort()).toEqual(counted.sort());
    expect(statesOf(supervisorMachine)).toContain(state);
  });
});

describe('the words of a result', () => {
  it('are what its schema accepts', () => {
    const text = JSON.stringify(runResultSchema, (_key, value: unknown) => {
      const entries = (value as { entries?: object } | null)?.entries;
      return entries === undefined ? value : Object.keys(entries);
    });
    for (const word of [...STATUSES, ...STOP_KINDS, ...LEASE_STATES, ...FINDING_KINDS]) {
      expect(text).toContain(`"${word}"`);
    }
  });
});
