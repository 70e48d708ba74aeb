/** toFailure: total, bounded, cloneable; and whose an error is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Failure, toFailure, toPlain } from '../../src/wire/failure.ts';

/** Objects whose every trap throws, answers nonsense, or answers with more of the same. */
const hostile = fc.constantFrom<() => unknown>(
  () =>
    new Proxy(
      {},
      new Proxy(
        {},
        {
          get: () => () => {
            throw new Error('trap');
          },
        },
      ),
    ),
  () => new Proxy(() => {}, { get: () => Symbol('s'), ownKeys: () => ['prototype', 'a'], has: () => true }),
  () =>
    new Proxy(
      {},
      {
        ownKeys: () => Array.from({ length: 1_000 }, (_, at) => `k${at}`),
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
      },
    ),
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    return proxy;
  },
  () => {
    const bottomless: unknown = new Proxy({}, { get: () => bottomless, ownKeys: () => ['cause'] });
    return bottomless;
  },
  () => {
    const error = new Error('loop');
    error.cause = error;
    return Object.assign(error, { errors: [error], error, suppressed: error });
  },
  () => Object.assign(new Error('x'), { name: 7, message: {}, stack: { at: () => {} }, code: () => {} }),
  () => ({
    get message() {
      throw null;
    },
    get stack() {
      throw this;
    },
    [Symbol.toStringTag]: 7,
  }),
  () => Object.defineProperty([], 'length', { value: 2 ** 32 - 1 }),
  () => ({ errors: { length: Number.MAX_SAFE_INTEGER } }),
  () => Object.create(null) as object,
  () => new AggregateError([null, new Error('inner')], 'many'),
  () => new Date(Number.NaN),
  () => new Map([[{}, () => {}]]),
  () => Promise.resolve(),
);
/** Makers, since fast-check inspects what it generates and would itself trip over the hostile ones. */
const anything: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true })
    .map((value) => () => value),
  hostile,
  fc.tuple(fc.string(), hostile).map(
    ([text, make]) =>
      () =>
        Object.assign(new Error(text), { cause: make(), inner: make() }),
  ),
  fc.constant(() => Symbol('s')),
  fc
    .string({ minLength: 3_000, maxLength: 9_000 })
    .map((text) => () => Object.assign(new Error(text), { text, list: Array(500).fill(text) })),
);

function depthOf(failure: Failure): number {
  return failure.cause === undefined ? 1 : 1 + depthOf(failure.cause);
}

describe('toFailure', () => {
  it('for any thrown value never throws, clones to itself, is JSON-safe and bounded', () => {
    fc.assert(
      fc.property(anything, fc.boolean(), (make, stopped) => {
        const thrown = make();
        const failure = toFailure(thrown, 'TOOL_ERROR', { stopped, reason: thrown });
        expect(structuredClone(failure)).toEqual(failure);
        expect(JSON.parse(JSON.stringify(failure))).toEqual(structuredClone(failure));
        expect(failure.message.length).toBeLessThanOrEqual(4_096);
        expect(failure.stack?.length ?? 0).toBeLessThanOrEqual(16_384);
        expect(Object.keys(failure.fields ?? {}).length).toBeLessThanOrEqual(32);
        expect(depthOf(failure)).toBeLessThanOrEqual(9);
        expect(failure.name).not.toBe('');
      }),
      { numRuns: 400 },
    );
  });

  it('for any value, toPlain is cloneable and JSON-safe', () => {
    fc.assert(
      fc.property(anything, (make) => {
        const { plain } = toPlain(make());
        expect(JSON.parse(JSON.stringify(plain))).toEqual(structuredClone(plain));
      }),
      { numRuns: 400 },
    );
  });

  it.each([
    [null, 'null'],
    [undefined, 'undefined'],
    [0, '0'],
    [Symbol('s'), 'Symbol(s)'],
    [10n, '10'],
  ])('says what was thrown when it is no object: %s', (thrown, message) => {
    expect(toFailure(thrown, 'TOOL_ERROR')).toEqual({
      code: 'TOOL_ERROR',
      name: 'NonError',
      message,
      ofStop: false,
      truncated: false,
    });
  });

  it('keeps name, message, stack, code, own fields and the chain of causes', () => {
    const root = Object.assign(new Error('disk'), { code: 'ENOSPC', errno: -28 });
    const failure = toFailure(Object.assign(new TypeError('write', { cause: root }), { path: '/x' }), 'TOOL_ERROR');
    expect(failure).toMatchObject({ name: 'TypeError', message: 'write', fields: { path: '/x' }, truncated: false });
    expect(failure.stack).toMatch(/^TypeError: write\n/);
    expect(failure.cause).toMatchObject({ name: 'Error', message: 'disk', fields: { code: 'ENOSPC', errno: -28 } });
  });

  it('tells the members of an aggregate in words', () => {
    const failure = toFailure(new AggregateError([new RangeError('a'), null], 'all'), 'TOOL_ERROR');
    expect(failure.fields).toEqual({ errors: ['RangeError: a', null] });
  });

  it('says truncated when something was cut', () => {
    expect(toFailure(new Error('x'.repeat(5_000)), 'TOOL_ERROR')).toMatchObject({ truncated: true });
    expect(toFailure(Object.assign(new Error('x'), { call: () => {} }), 'TOOL_ERROR')).toMatchObject({
      truncated: true,
    });
  });
});

describe('ofStop', () => {
  const reason = new Error('stopped');
  const known = { stopped: true, reason };

  it.each<[string, unknown]>([
    ['the reason itself', reason],
    ['a cause of it', new Error('x', { cause: new Error('y', { cause: reason }) })],
    ['a member of an aggregate', new AggregateError([null, new Error('x', { cause: reason })])],
    ['the error of a suppressed pair', { error: { suppressed: reason }, suppressed: 7 }],
    ['an abort error without a cause', new DOMException('gone', 'AbortError')],
    ['an abort code without a cause', Object.assign(new Error('gone'), { code: 'ABORT_ERR' })],
  ])('is true for %s', (_, thrown) => {
    expect(toFailure(thrown, 'TOOL_ERROR', known).ofStop).toBe(true);
  });

  it.each<[string, unknown]>([
    ['an equal error that is not the reason', new Error('stopped')],
    [
      'an abort error with a cause of its own',
      Object.assign(new Error('x', { cause: new Error('y') }), { name: 'AbortError' }),
    ],
    ["a timeout error of the tool's own", Object.assign(new Error('slow'), { name: 'TimeoutError' })],
    ['a primitive', 'AbortError'],
  ])('is false for %s', (_, thrown) => {
    expect(toFailure(thrown, 'TOOL_ERROR', known).ofStop).toBe(false);
  });

  it('is false for everything while nothing was stopped', () => {
    expect(toFailure(reason, 'TOOL_ERROR', { stopped: false, reason }).ofStop).toBe(false);
    expect(toFailure(new DOMException('gone', 'AbortError'), 'TOOL_ERROR').ofStop).toBe(false);
  });
});
