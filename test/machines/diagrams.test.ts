/**
 * The diagrams in the documents are those of the machines. `npm run diagrams` renews them.
 *
 * Invariant: a document that has drifted fails here. Deliberately absent: Mermaid itself.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { leaseMachine } from '../../machines/index.ts';
import { DOCUMENT, mermaid, withDiagrams } from '../../scripts/mermaid.ts';
import { chartOf } from '../support/inspect-recorder.ts';

describe('mermaid', () => {
  it('draws arrows with their events and guards, ends, and what every state takes', () => {
    const machine = createMachine({
      initial: 'here',
      on: { ANY: {} },
      states: {
        here: { on: { GO: [{ guard: 'isReady', target: 'there' }, { target: 'here' }], LEAP: 'there', RUN: 'there' } },
        there: { type: 'final' },
      },
    });
    expect(mermaid(machine).split('\n')).toEqual([
      'stateDiagram-v2',
      '  [*] --> here',
      '  here --> there : GO [isReady]',
      '  here --> here : GO [else]',
      '  here --> there : LEAP, RUN',
      '  there --> [*]',
      '  note right of here : every state also takes ANY',
    ]);
  });

  it('leaves no transition of the lease out', () => {
    const drawn = [...mermaid(leaseMachine).matchAll(/(\w+) --> (\w+) : ([A-Z, _]+)/g)].flatMap(
      ([, from, to, events]) =>
        (events ?? '')
          .trim()
          .split(', ')
          .map((event) => `${from} ${event} ${to}`),
    );
    const authored = chartOf(leaseMachine).map((line) => line.replace(/^(\w+) (\w+) -$/, '$1 $2 $1'));
    expect(drawn.sort()).toEqual(authored.sort());
  });
});

describe('withDiagrams', () => {
  it('finds the document as the machines draw it', async () => {
    const document = await readFile(new URL(`../../${DOCUMENT}`, import.meta.url), 'utf8');
    expect(withDiagrams(document) === document, 'run `npm run diagrams`').toBe(true);
  });

  it('refuses a document without markers', () => {
    expect(() => withDiagrams('# Architecture')).toThrow('lacks the markers');
  });
});
