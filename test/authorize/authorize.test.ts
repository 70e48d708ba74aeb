/** Authorize: what is asked, and that nothing but a clear yes is one, whatever is thrown, returned or resolved. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { authorize, type Question, unanswered } from '../../src/authorize/authorize.ts';
import type { AuthorizeRequest, Authorizer } from '../../src/model/option-shapes.ts';
import { fakeTool } from '../support/fake-host.ts';

const names = { requestId: 'req-1', tenant: 'acme', run: 'r-1', branch: 'main', attempt: 1 };
const question: Question = {
  names,
  tool: fakeTool('opaque'),
  input: { page: 1 },
  labels: { colour: 'blue' },
  hop: null,
};
const { signal } = new AbortController();
const ruledOn = (answer: unknown) => authorize(() => answer as never, question, signal);
const refuse = () => {
  throw new Error('hands off');
};
/** A thenable. */
const later = (then: (yes: (x: unknown) => void, no: (why: unknown) => void) => void, on: object = {}) =>
  Object.defineProperty(on, 'then', { value: then });
const hostile = (trap: keyof ProxyHandler<object>) => new Proxy({ allow: true }, { [trap]: refuse });

describe('the question', () => {
  function asked(over: Partial<Question> = {}) {
    const heard: Parameters<Authorizer>[] = [];
    const authorizer: Authorizer = (...told) => {
      heard.push(told);
      return { allow: true };
    };
    void authorize(authorizer, { ...question, ...over }, signal);
    const [[request, context] = []] = heard;
    return { request, context };
  }

  it('says who asks, what will run and with which effects', () => {
    const { request, context } = asked();
    expect(request).toEqual<AuthorizeRequest>({
      kind: 'run',
      requestId: 'req-1',
      tool: 'fake',
      input: { page: 1 },
      tenant: 'acme',
      run: 'r-1',
      branch: 'main',
      effects: 'opaque',
      isolation: 'thread',
      permissions: null,
      labels: { colour: 'blue' },
      hop: null,
    });
    expect(context).toEqual({ signal });
  });

  it('is frozen, and holds the very input', () => {
    const { request, context } = asked();
    expect([request, context].map(Object.isFrozen)).toEqual([true, true]);
    expect(request?.input).toBe(question.input);
  });

  it('names the permissions of the tool, frozen to the last list', () => {
    const permissions = Object.freeze({
      fsRead: Object.freeze(['/a']),
      fsWrite: [],
      childProcess: false,
      worker: false,
    });
    const tool = Object.freeze({ ...question.tool, isolation: 'process' as const, permissions });
    expect(asked({ tool }).request).toMatchObject({ isolation: 'process', permissions });
  });

  it('of a hop is of kind redirect and says where it leads, in a copy', () => {
    const hop = { url: 'https://example.org/next', method: 'GET', number: 1 };
    const { request } = asked({ hop });
    expect(request).toMatchObject({ kind: 'redirect', hop });
    expect([request?.hop === hop, Object.isFrozen(request?.hop)]).toEqual([false, true]);
  });
});

describe('the answer', () => {
  it.each([
    ['an object', { allow: true }],
    ['a frozen object', Object.freeze({ allow: true })],
    ['an object without a prototype', Object.assign(Object.create(null), { allow: true })],
    ['an object with an undefined reason', { allow: true, reason: undefined }],
    [
      'a getter that says true',
      {
        get allow() {
          return true;
        },
      },
    ],
  ])('{ allow: true } as %s allows', (_, answer) => {
    expect(ruledOn(answer)).toEqual({ allowed: true });
  });

  it.each([
    ['without a reason', { allow: false }, 'The authorizer said no.'],
    ['with an empty reason', { allow: false, reason: '' }, 'The authorizer said no.'],
    ['with a reason', { allow: false, reason: 'not on Sundays' }, 'The authorizer said no: not on Sundays'],
  ])('{ allow: false } %s denies in its words', (_, answer, message) => {
    expect(ruledOn(answer)).toEqual({ allowed: false, code: 'DENIED', message, truncated: false });
  });

  it('cuts an endless reason, and says so', () => {
    const ruling = ruledOn({ allow: false, reason: 'x'.repeat(100_000) });
    expect(ruling).toMatchObject({ code: 'DENIED', truncated: true });
    expect(JSON.stringify(ruling).length).toBeLessThan(5_000);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['true', true],
    ['a string', 'allow'],
    ['a symbol', Symbol('allow')],
    ['a function', Object.assign(() => ({ allow: true }), { allow: true })],
    ['an empty object', {}],
    ['an allow that is a string', { allow: 'true' }],
    ['an allow that is a number', { allow: 1 }],
    ['an allow that is a Boolean object', { allow: Object(true) }],
    ['one member too many', { allow: true, until: 'tomorrow' }],
    ['a symbol too many', { allow: true, [Symbol('also')]: 1 }],
    ['a yes with a reason', { allow: true, reason: 'because' }],
    ['a reason that is no string', { allow: false, reason: 7 }],
    ['an inherited yes', Object.create({ allow: true })],
    ['an allow that is not enumerable', Object.defineProperty({}, 'allow', { value: true })],
    ['a getter that throws', Object.defineProperty({}, 'allow', { get: refuse, enumerable: true })],
    ['a then that throws', Object.defineProperty({ allow: true }, 'then', { get: refuse })],
    ['a proxy whose keys throw', hostile('ownKeys')],
    ['a proxy whose members throw', hostile('get')],
    ['a proxy that shows nothing of itself', hostile('getOwnPropertyDescriptor')],
  ])('%s fails the authorizer', (_, answer) => {
    expect(ruledOn(answer)).toMatchObject({ allowed: false, code: 'AUTHORIZER_FAILED' });
  });

  it('is not taken from a polluted prototype', () => {
    const prototype = Object.prototype as { allow?: boolean };
    prototype.allow = true;
    try {
      expect(ruledOn({})).toMatchObject({ code: 'AUTHORIZER_FAILED' });
    } finally {
      delete prototype.allow;
    }
  });

  it('is read once, so that it cannot be another one the second time', () => {
    let reads = 0;
    const answer = {
      get allow() {
        reads += 1;
        return reads === 1;
      },
    };
    expect([ruledOn(answer), reads]).toEqual([{ allowed: true }, 1]);
  });

  it('for any value, allows exactly { allow: true }', () => {
    const near = fc.record(
      {
        allow: fc.constantFrom(true, false, 'true', 1, null),
        reason: fc.constantFrom('no', undefined, 7),
        x: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), near), (answer) => {
        const own: object = typeof answer === 'object' && answer !== null ? answer : {};
        const { allow, reason, ...more } = own as Record<string, unknown>;
        const exact = typeof answer === 'object' && Reflect.ownKeys(more).length === 0;
        const ruling = ruledOn(answer);
        expect(ruling).toMatchObject({ allowed: exact && allow === true && reason === undefined });
      }),
    );
  });
});

describe('a thrown error', () => {
  it.each([
    ['an error', new TypeError('no database'), 'The authorizer threw: no database'],
    ['a word', 'gone', 'The authorizer threw: gone'],
    ['nothing', undefined, 'The authorizer threw: undefined'],
  ])('fails the authorizer in its words: %s', (_, error, message) => {
    const threw = () => {
      throw error;
    };
    expect(authorize(threw, question, signal)).toEqual({
      allowed: false,
      code: 'AUTHORIZER_FAILED',
      message,
      truncated: false,
    });
  });
});

describe('a later answer', () => {
  it('is waited for and judged as one that comes at once', async () => {
    expect(await ruledOn(Promise.resolve({ allow: true }))).toEqual({ allowed: true });
    expect(await ruledOn(Promise.resolve({ allow: 'yes' }))).toMatchObject({ code: 'AUTHORIZER_FAILED' });
    expect(await ruledOn(Promise.reject(new Error('no database')))).toMatchObject({
      code: 'AUTHORIZER_FAILED',
      message: 'The authorizer threw: no database',
    });
  });

  it.each([
    ['throws when it is asked', later(refuse)],
    ['rejects with a hostile proxy', later((_, no) => no(hostile('get')))],
    ['resolves with a hostile proxy', later((yes) => queueMicrotask(() => yes(hostile('ownKeys'))))],
    ['is a promise whose own then throws', later(refuse, Promise.resolve({ allow: true }))],
  ])('of a thenable that %s fails the authorizer', async (_, answer) => {
    expect(await ruledOn(answer)).toMatchObject({ allowed: false, code: 'AUTHORIZER_FAILED' });
  });

  it('counts once, whatever a thenable says after it', async () => {
    const fickle = later((yes) => {
      yes({ allow: false });
      yes({ allow: true });
    });
    expect(await ruledOn(fickle)).toMatchObject({ code: 'DENIED' });
  });

  it('that is a promise without an answer stays one', () => {
    expect(ruledOn(later(() => undefined))).toBeInstanceOf(Promise);
  });
});

describe('unanswered', () => {
  it('names the bound', () => {
    expect(unanswered(250)).toMatchObject({
      code: 'AUTHORIZER_FAILED',
      message: 'The authorizer did not answer within authorizeMs (250 ms).',
    });
  });
});
