/**
 * Holds a chart against a table of its states and events: each pair has a stated answer, and nothing else happens.
 *
 * Invariant: a table is complete by its type, so a new state or event cannot go untested.
 * Deliberately absent: answers that depend on the context; they are named tests of their own.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createActor, type EventObject, type MachineContext, transition } from 'xstate';
import { type ChartLogic, type ChartSnapshot, compile, type Violation } from '../../machines/index.ts';

/** One event of each type. */
export type Samples<Event extends EventObject> = { readonly [Type in Event['type']]: Extract<Event, { type: Type }> };

/** Where each event leads. `-`: it is impossible. A final state has no row: it absorbs everything. */
export type Row<State extends string, Event extends EventObject> = { readonly [Type in Event['type']]: State | '-' };

/** A chart under test: its machine, the types of its events, and a shortest word into each state. */
export interface Subject<State extends string, Event extends EventObject> {
  readonly machine: AnyStateMachine;
  readonly samples: Samples<Event>;
  readonly words: { readonly [Name in State]: readonly Event['type'][] };
}

/** The compiled logic with the violations it has told. */
export function watched(machine: AnyStateMachine): {
  readonly logic: ChartLogic<string, Record<string, unknown>, EventObject>;
  readonly violations: Violation[];
} {
  const violations: Violation[] = [];
  return { logic: compile(machine, { onViolation: (violation) => violations.push(violation) }), violations };
}

/** Writes one test for each pair of a state and an event. */
export function describeTable<State extends string, Final extends State, Event extends EventObject>(
  subject: Subject<State, Event>,
  table: { readonly [Name in Exclude<State, Final>]: Row<State, Event> },
  finals: readonly Final[],
): void {
  const samples = Object.entries<EventObject>(subject.samples);
  const reach = (state: State) => {
    const { logic, violations } = watched(subject.machine);
    const actor = createActor(logic).start();
    for (const type of subject.words[state]) actor.send(subject.samples[type as Event['type']]);
    return { actor, logic, violations };
  };

  for (const [state, row] of Object.entries<Row<State, Event>>(table)) {
    describe(`${state}`, () => {
      for (const [type, event] of samples) {
        const answer = row[type as Event['type']];
        const impossible = answer === '-';
        it(`${state} ${impossible ? `refuses ${type} as impossible` : `on ${type} is ${answer}`}`, () => {
          const { actor, violations } = reach(state as State);
          const before = actor.getSnapshot();
          actor.send(event);
          const next = actor.getSnapshot();
          expect([before.value, next.value]).toEqual([state, impossible ? state : answer]);
          expect(impossible && next !== before).toBe(false);
          const told = { machine: subject.machine.id, actor: actor.id, state, event: type, fault: 'impossible' };
          expect(violations).toEqual(impossible ? [told] : []);
        });
      }
    });
  }

  for (const state of finals) {
    describe(`${state}`, () => {
      it(`${state} absorbs every event`, () => {
        const { actor, logic, violations } = reach(state);
        const end = actor.getSnapshot();
        expect(end).toMatchObject({ status: 'done', value: state });
        for (const [, event] of samples) expect(transition(logic, end, event)[0]).toBe(end);
        expect(violations).toEqual([]);
      });
    });
  }
}

/** The snapshots of a word, the first one included; it goes on after a final state, as no actor would. */
export function snapshotsOf<State extends string, Context extends MachineContext, Event extends EventObject>(
  logic: ChartLogic<State, Context, Event>,
  word: readonly Event[],
): ChartSnapshot<State, Context>[] {
  const snapshots = [createActor(logic).getSnapshot()];
  for (const event of word) {
    const [next] = transition(logic, snapshots.at(-1) as ChartSnapshot<State, Context>, event);
    snapshots.push(next);
  }
  return snapshots;
}

/** Any word of a chart's events, as often begun in one state as in another. */
export function wordsOf<State extends string, Event extends EventObject>(
  subject: Subject<State, Event>,
): fc.Arbitrary<readonly Event[]> {
  const any = fc.constantFrom(...Object.values<Event>(subject.samples));
  const starts = Object.values<readonly Event['type'][]>(subject.words);
  return fc
    .tuple(fc.constantFrom(...starts), fc.array(any, { maxLength: 40 }))
    .map(([start, rest]) => [...start.map((type: Event['type']) => subject.samples[type]), ...rest]);
}

/** The states from the first that is one of `aside` on; none when there is no such state. */
export function statesSince(snapshots: readonly { readonly value: string }[], aside: readonly string[]): string[] {
  const values = snapshots.map(({ value }) => value);
  const first = values.findIndex((value) => aside.includes(value));
  return first < 0 ? [] : values.slice(first);
}
