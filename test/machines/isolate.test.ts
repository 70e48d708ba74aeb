/**
 * The isolate chart: every state with every event, and that nothing brings a condemned one back.
 *
 * Invariant: the table here is written by hand from the design, never derived from the machine.
 * Deliberately absent: how a chart is compiled.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { isolateLogic } from '../../machines/index.ts';
import { isolate } from './subjects.ts';
import { describeTable, snapshotsOf, statesSince, wordsOf } from './table.ts';

const never = {
  BOOTED: '-',
  BOOT_FAILED: '-',
  LEASED: '-',
  RELEASED: '-',
  FIT: '-',
  CONDEMNED: '-',
  RETIRE: '-',
  EXITED: '-',
  ABANDONED: '-',
} as const;

describeTable(
  isolate,
  {
    booting: {
      ...never,
      BOOTED: 'idle',
      BOOT_FAILED: 'retiring',
      RETIRE: 'retiring',
      CONDEMNED: 'quarantined',
      EXITED: 'gone',
    },
    idle: { ...never, LEASED: 'leased', RETIRE: 'retiring', CONDEMNED: 'quarantined', EXITED: 'gone' },
    leased: { ...never, RELEASED: 'resetting', CONDEMNED: 'quarantined', EXITED: 'gone' },
    resetting: { ...never, FIT: 'idle', CONDEMNED: 'quarantined', EXITED: 'gone' },
    quarantined: { ...never, CONDEMNED: 'quarantined', RETIRE: 'retiring', EXITED: 'gone' },
    retiring: { ...never, CONDEMNED: 'retiring', EXITED: 'gone', ABANDONED: 'abandoned' },
    abandoned: { ...never, CONDEMNED: 'abandoned', EXITED: 'gone' },
  },
  ['gone'],
);

describe('an isolate', () => {
  it('counts the leases it is given', () => {
    const actor = createActor(isolateLogic).start();
    const turn = ['LEASED', 'RELEASED', 'FIT'] as const;
    for (const type of ['BOOTED', ...turn, ...turn, 'LEASED'] as const) actor.send({ type });
    expect(actor.getSnapshot()).toMatchObject({ value: 'leased', context: { leases: 3 } });
  });

  it('for any word, is never idle or leased again once it is set aside', () => {
    const aside = ['quarantined', 'retiring', 'abandoned', 'gone'];
    fc.assert(
      fc.property(wordsOf(isolate), (word) => {
        const states = statesSince(snapshotsOf(isolateLogic, word), aside);
        expect(states.filter((state) => !aside.includes(state))).toEqual([]);
      }),
    );
  });
});
