/** Validation: total, and synchronous where the schema is. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { validate } from '../../src/run/validate.ts';

describe('validate', () => {
  it('answers at once for a synchronous schema, with what the schema made', () => {
    const schema = z.object({ pages: z.coerce.number() });
    expect(validate(schema, { pages: '3' }, 'The input')).toEqual({ ok: true, value: { pages: 3 } });
  });

  it('tells where and why a value was refused, without the value', () => {
    const refused = validate(
      z.object({ user: z.object({ age: z.number() }) }),
      { user: { age: 'hunter2' } },
      'The input',
    );
    expect(refused).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^The input was refused by the schema: user\.age: /),
      fields: { issues: [{ path: 'user.age', code: 'invalid_type' }] },
    });
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  });

  it('tells at most sixteen issues', () => {
    const refused = validate(
      z.array(z.number()),
      Array.from({ length: 50 }, () => 'x'),
      'The input',
    );
    expect(refused).toMatchObject({ ok: false, fields: { issues: { length: 16 } } });
  });

  it('leaves out the place of an issue of the whole', () => {
    expect(
      validate(
        z.string().refine(() => false, 'not this'),
        'x',
        'The value',
      ),
    ).toMatchObject({
      message: 'The value was refused by the schema: not this',
    });
  });

  it.each([
    ['an error', new Error('broken'), 'broken'],
    ['null', null, 'null'],
    ['a symbol', Symbol('odd'), 'odd'],
    [
      'a thing nobody can read',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
      '',
    ],
  ])('takes a schema that throws %s for a refusal', (_, thrown, word) => {
    const schema = z.unknown().refine(() => {
      throw thrown;
    });
    const refused = validate(schema, 1, 'The input');
    expect(refused).toMatchObject({ ok: false, message: expect.stringMatching(/^The input could not be validated: /) });
    expect((refused as { message: string }).message).toContain(word);
  });

  it('waits for an asynchronous schema, accepting', async () => {
    const schema = z.string().transform(async (text) => text.length);
    const validated = validate(schema, 'four', 'The input');
    expect(validated).toBeInstanceOf(Promise);
    expect(await validated).toEqual({ ok: true, value: 4 });
  });

  it('waits for an asynchronous schema, refusing', async () => {
    const schema = z.string().refine(async () => false, 'taken');
    expect(await validate(schema, 'x', 'The value')).toMatchObject({
      ok: false,
      message: expect.stringContaining('taken'),
    });
  });

  it('asks an asynchronous schema once', async () => {
    let asked = 0;
    const schema = z.string().refine(async () => {
      asked += 1;
      return true;
    });
    expect(await validate(schema, 'x', 'The input')).toEqual({ ok: true, value: 'x' });
    expect(asked).toBe(1);
  });

  it('takes a schema that rejects for a refusal, and leaves no rejection unhandled', async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    const schema = z.string().refine(() => Promise.reject(new Error('the store is down')));
    const refused = await validate(schema, 'x', 'The input');
    await new Promise(setImmediate);
    process.off('unhandledRejection', hear);
    expect(refused).toMatchObject({ ok: false, message: 'The input could not be validated: the store is down' });
    expect(unhandled).toEqual([]);
  });
});
