/** Impairments: a supervisor is told that something is wrong, and that nothing is, and not of each part between. */
import { describe, expect, it } from 'vitest';
import { Impairments } from '../src/impairments.ts';

function heard() {
  const told: (string | null)[] = [];
  return { told, impairments: new Impairments((reason) => told.push(reason)) };
}

describe('impairments', () => {
  it('of two parts are one, until both are well', () => {
    const { told, impairments } = heard();
    impairments.note('log', 'the disk is full');
    impairments.note('isolates', 'they die at boot');
    impairments.note('log', null);
    expect(told).toEqual(['the disk is full']);
    impairments.note('isolates', null);
    expect(told).toEqual(['the disk is full', null]);
  });

  it('that never were are not told as healed, nor is one told twice', () => {
    const { told, impairments } = heard();
    impairments.note('recovery', null);
    impairments.note('log', 'it failed');
    impairments.note('log', 'it is closed');
    expect(told).toEqual(['it failed']);
  });
});
