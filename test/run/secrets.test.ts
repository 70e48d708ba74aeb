/** Secrets of an input: known, or the request is refused. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { redactorFor } from '../../src/run/secrets.ts';

const known = createRedactor({ values: ['hunter2'] });
type Secrets = (input: unknown) => readonly string[];

function asked(secrets?: unknown, input: unknown = 'tok-abc') {
  const given = secrets === undefined ? {} : { secrets: secrets as Secrets };
  const tool = defineTool({ name: 'fake', module: 'file:///fake.mjs', input: z.unknown(), effects: 'none', ...given });
  return redactorFor(tool, input, known);
}

describe('redactorFor', () => {
  it('knows the secrets beside what was known', () => {
    const redactor = asked((input: unknown) => [input]);
    expect('text' in redactor && redactor.text('tok-abc hunter2')).toBe('[redacted] [redacted]');
  });

  it('is the one it was given where the tool has no secrets', () => {
    expect(asked()).toBe(known);
    expect(asked(() => [])).toBe(known);
  });

  it.each([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a string', () => 'tok-abc'],
    ['a set', () => new Set(['tok-abc'])],
    ['an object with a length', () => ({ length: 1, 0: 'tok-abc' })],
    ['a promise', async () => ['tok-abc']],
    ['an array of another thing', () => ['tok-abc', 7]],
    ['an array with a hole that says nothing', () => [null]],
  ])('refuses %s, with no word of the input', (_, secrets) => {
    expect(asked(secrets)).toEqual({ message: 'secrets() of the tool must return an array of strings, and at once.' });
  });

  it('refuses more than can be hidden', () => {
    expect(asked(() => ['tok-abc'.repeat(80_000)])).toEqual({
      message: 'secrets() of the tool returned more than can be hidden: 524288 bytes with all encodings, about 40 KiB.',
    });
  });

  it('refuses when they throw', () => {
    const secrets = () => {
      throw new RangeError('tok-abc');
    };
    expect(asked(secrets)).toEqual({ message: 'secrets() of the tool threw a RangeError.' });
  });

  it('leaves no rejection unhandled', async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    expect(asked(() => Promise.reject(new Error('late')))).toHaveProperty('message');
    await new Promise(setImmediate);
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
  });
});
