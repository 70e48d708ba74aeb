/**
 * An adapter for Stately's inspector that keeps what a viewer would get, and rebuilds actors, charts and paths from it.
 *
 * Invariant: it knows nothing but what was sent to it: no actor, no machine, no logic of ours.
 * Deliberately absent: time. The inspector sends in a later turn of the loop, so readers wait for an event.
 */
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { type AnyStateMachine, createMachine } from 'xstate';

/** One actor as a viewer knows it. */
export interface InspectedActor {
  readonly name: string;
  /** The name of its parent; null for a root. */
  readonly parent: string | null;
  /** The chart drawn from its definition: `state EVENT target`, sorted. */
  readonly chart: readonly string[];
  /** Its states in order, each once for a stay. */
  readonly path: readonly string[];
  /** The types of the events it took. */
  readonly events: readonly string[];
  /** Its last snapshot. */
  readonly last: unknown;
}

export class InspectRecorder {
  readonly #sent: StatelyInspectionEvent[] = [];
  #waiting: { readonly isIt: (event: StatelyInspectionEvent) => boolean; readonly resume: () => void }[] = [];

  send(event: StatelyInspectionEvent): void {
    this.#sent.push(event);
    const due = this.#waiting.filter(({ isIt }) => isIt(event));
    this.#waiting = this.#waiting.filter((waiter) => !due.includes(waiter));
    for (const { resume } of due) resume();
  }

  /** Resolves when an event that is it is sent, or was already. */
  until(isIt: (event: StatelyInspectionEvent) => boolean): Promise<void> {
    if (this.#sent.some(isIt)) return Promise.resolve();
    return new Promise((resume) => this.#waiting.push({ isIt, resume }));
  }

  /** The actors in the order they were made. */
  actors(): InspectedActor[] {
    const names = new Map<string, string>();
    for (const event of this.#sent) if (event.type === '@xstate.actor') names.set(event.sessionId, event.name);
    return this.#sent.flatMap((actor) => {
      if (actor.type !== '@xstate.actor') return [];
      const own = this.#sent.filter(({ sessionId }) => sessionId === actor.sessionId);
      const snapshots = own.flatMap((event) => (event.type === '@xstate.snapshot' ? [event.snapshot] : []));
      const values = snapshots.map((snapshot) => String((snapshot as unknown as { value: unknown }).value));
      return {
        name: actor.name,
        parent: actor.parentId === undefined ? null : (names.get(actor.parentId) ?? null),
        chart: chartOf(createMachine(JSON.parse(actor.definition ?? '{}'))),
        path: values.filter((value, index) => value !== values[index - 1]),
        events: own.flatMap((event) => (event.type === '@xstate.event' ? [event.event.type] : [])),
        last: snapshots.at(-1),
      };
    });
  }
}

/** Every transition of a chart as `state EVENT target`, those without a target as `state EVENT -`; sorted. */
export function chartOf(machine: AnyStateMachine): string[] {
  const { root } = machine;
  return [root, ...Object.values(root.states)]
    .flatMap((node) =>
      [...node.transitions.values()].flat().map(({ eventType, target }) => {
        return `${node.key} ${eventType} ${target?.map(({ key }) => key).join() ?? '-'}`;
      }),
    )
    .sort();
}
