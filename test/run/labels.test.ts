/** Labels as anybody may see them. */
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/output/redaction.ts';
import { redactedLabels, startingLabels } from '../../src/run/labels.ts';

const redactor = createRedactor({ values: ['hunter2'] });

describe('redactedLabels', () => {
  it('hides what is known in names and values, and the values of hidden keys', () => {
    const labels = redactedLabels({ 'of hunter2': 'a', note: 'by hunter2', token: 'x', colour: 'blue' }, redactor);
    expect(labels).toEqual({ 'of [redacted]': 'a', note: 'by [redacted]', token: '[redacted]', colour: 'blue' });
    expect(Object.isFrozen(labels)).toBe(true);
  });

  it('gives back the very labels where there are none', () => {
    const none = Object.freeze({});
    expect(redactedLabels(none, redactor)).toBe(none);
  });
});

describe('startingLabels', () => {
  it('are withheld while the secrets of an input are not known', () => {
    const labels = { order: 's3cret-1' };
    expect(startingLabels({ secrets: null }, labels)).toBe(labels);
    expect(startingLabels({ secrets: () => ['s3cret-1'] }, labels)).toEqual({});
  });
});
