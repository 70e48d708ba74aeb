/**
 * The supervisor chart: every state with every event, its impairment, and that admission never returns after its end began.
 *
 * Invariant: the table here is written by hand from the design, never derived from the machine.
 * Deliberately absent: how a chart is compiled.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { type SupervisorEvent, type SupervisorState, supervisorLogic } from '../../machines/index.ts';
import { supervisor } from './subjects.ts';
import { describeTable, type Row, snapshotsOf, statesSince, wordsOf } from './table.ts';

/** A row of a state that only takes the messages of its children. */
function only<State extends SupervisorState>(state: State) {
  return {
    OPENED: '-',
    DEGRADE: '-',
    HEAL: '-',
    DRAIN: '-',
    CLOSE: '-',
    CLOSED: '-',
    REQUEST: state,
    STOP: state,
    EXIT: state,
    SETTLEMENT: state,
  } as const satisfies Row<SupervisorState, SupervisorEvent>;
}

describeTable(
  supervisor,
  {
    opening: {
      ...only('opening'),
      OPENED: 'open',
      DEGRADE: 'opening',
      HEAL: 'opening',
      DRAIN: 'draining',
      CLOSE: 'closing',
    },
    open: { ...only('open'), DEGRADE: 'degraded', DRAIN: 'draining', CLOSE: 'closing' },
    degraded: { ...only('degraded'), HEAL: 'open', DEGRADE: 'degraded', DRAIN: 'draining', CLOSE: 'closing' },
    draining: { ...only('draining'), CLOSE: 'closing', DEGRADE: 'draining', HEAL: 'draining' },
    closing: { ...only('closing'), CLOSED: 'closed', DEGRADE: 'closing', HEAL: 'closing' },
  },
  ['closed'],
);

describe('a supervisor', () => {
  const snapshotAfter = (...types: readonly SupervisorEvent['type'][]) => {
    const actor = createActor(supervisorLogic).start();
    for (const type of types) actor.send(supervisor.samples[type]);
    return actor.getSnapshot();
  };

  it('impaired while opening, opens degraded', () => {
    expect(snapshotAfter('DEGRADE', 'OPENED')).toMatchObject({
      value: 'degraded',
      context: { impairment: 'replacements' },
    });
  });

  it('impaired and healed while opening, opens open', () => {
    expect(snapshotAfter('DEGRADE', 'HEAL', 'OPENED')).toMatchObject({ value: 'open', context: { impairment: null } });
  });

  it('healed, names no impairment', () => {
    expect(snapshotAfter('OPENED', 'DEGRADE', 'HEAL').context.impairment).toBeNull();
  });

  it('for any word, admits nothing after it began to end', () => {
    const ending = ['draining', 'closing', 'closed'];
    fc.assert(
      fc.property(wordsOf(supervisor), (word) => {
        const states = statesSince(snapshotsOf(supervisorLogic, word), ending);
        expect(states.filter((state) => !ending.includes(state))).toEqual([]);
      }),
    );
  });
});
