/**
 * Walks over the charts with XState's own graph functions, as a user of `leasehold/machines` would take them.
 *
 * Invariant: each state is reached, and the compiled chart has the very graph of the authored one.
 * Deliberately absent: words longer than the shortest; the properties cover them.
 */

import { describe, expect, it } from 'vitest';
import { getShortestPaths } from 'xstate/graph';
import { compile } from '../../machines/index.ts';
import { subjects } from './subjects.ts';

/** The context is bounded here by leaving out what only counts. */
function serialized(snapshot: unknown): string {
  const { value, context } = snapshot as { value: string; context: Record<string, unknown> };
  return JSON.stringify([value, context['losses'], context['isolateEnd'], context['impairment']]);
}

describe('getShortestPaths', () => {
  for (const [name, { machine, samples, words }] of Object.entries(subjects)) {
    const options = { events: Object.values(samples), serializeState: serialized };

    it(`reaches every state of the ${name} machine`, () => {
      const ends = getShortestPaths(machine, options).map(({ state }) => state.value as string);
      expect([...new Set(ends)].sort()).toEqual(Object.keys(words).sort());
    });

    it(`finds the same paths in the ${name} machine as compiled`, () => {
      const walk = (paths: readonly { steps: readonly { event: { type: string } }[]; state: unknown }[]) =>
        paths.map(({ steps, state }) => [serialized(state), ...steps.map(({ event }) => event.type)].join(' ')).sort();
      expect(walk(getShortestPaths(compile(machine), options))).toEqual(walk(getShortestPaths(machine, options)));
    });
  }
});
