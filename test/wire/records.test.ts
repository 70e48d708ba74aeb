/** Records of an isolate: what passes has the nonce and its fields, whatever else is posted. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOST_CAUSES, toFailure } from '../../src/wire/failure.ts';
import { areFindings, isIsolateMessage } from '../../src/wire/records.ts';

const n = 'nonce';
const failure = { code: 'TOOL_ERROR', name: 'Error', message: 'broke', ofStop: false, truncated: false };
const hooks = { reset: false, healthCheck: false };
const RECORDS = {
  started: { t: 'started', n, seq: 1 },
  settled: { t: 'settled', n, seq: 1, ok: true, ranMs: 0, clean: true, ...hooks },
  failed: { t: 'settled', n, seq: 1, ok: false, failure, ranMs: 2.5, clean: false, ...hooks },
  ended: { t: 'settled', n, seq: 1, ok: true, ranMs: 0, clean: true, ...hooks, exit: { code: 0, signal: null } },
  drained: { t: 'drained', n, seq: 1, ended: 'eof', ms: 0.5, holders: ['sleep (7)'], stdoutEof: true, stderrEof: true },
  looked: { t: 'looked', n, seq: 1, findings: [{ kind: 'residual-handle' }], heapBytes: null },
  output: { t: 'output', n, seq: 1, stream: 'stdout', bytes: new Uint8Array(1), omittedBytes: 0, credit: 1 },
  progress: { t: 'progress', n, seq: 1, value: null, credit: 1 },
  log: { t: 'log', n, seq: 1, level: 'info', message: '', fields: null, dropped: 0, credit: 1 },
  fatal: { t: 'fatal', n, seq: 0, failure },
  child: { t: 'child', n, pid: 4_242, alive: true },
  call: { t: 'call', n, d: {} },
  hook: { t: 'hook', n, d: {} },
} as const;

describe('isIsolateMessage', () => {
  it.each(Object.entries(RECORDS))('lets a whole %s through', (_, record) => {
    expect(isIsolateMessage(record, n)).toBe(true);
  });

  it.each(Object.entries(RECORDS))('refuses a %s without the nonce, and one of another', (_, record) => {
    expect(isIsolateMessage({ ...record, n: 'guessed' }, n)).toBe(false);
    const { n: _nonce, ...bare } = record;
    expect(isIsolateMessage(bare, n)).toBe(false);
  });

  it.each([
    ['settled', { failure: undefined, ok: false }],
    ['settled', { ok: 'yes' }],
    ['settled', { ranMs: Number.NaN }],
    ['looked', { findings: [null] }],
    ['looked', { findings: 'none' }],
    ['output', { bytes: 'text' }],
    ['output', { omittedBytes: -1 }],
    ['progress', { value: '1' }],
    ['log', { message: Symbol('odd') }],
    ['fatal', { failure: { code: 1 } }],
    ['child', { pid: -1 }],
    ['call', { d: null }],
    ['settled', { failure }],
    ['settled', { reset: 1 }],
    ['settled', { recalled: 'yes' }],
    ['settled', { exit: { code: '0', signal: null } }],
    ['settled', { ranMs: Number.POSITIVE_INFINITY }],
    ['looked', { findings: [{ kind: 'residual-handle', detail: 5 }] }],
    ['looked', { findings: [{ kind: 'no-such-kind' }] }],
    ['looked', { heapBytes: undefined }],
    ['output', { stream: 'stdin' }],
    ['output', { credit: { valueOf: 1 } }],
    ['output', { omittedBytes: Number.POSITIVE_INFINITY }],
    ['output', { credit: 0.5 }],
    ['drained', { holders: [5] }],
    ['drained', { ended: 'never' }],
    ['drained', { stdoutEof: undefined }],
    ['progress', { note: 5 }],
    ['log', { level: 'loud' }],
    ['log', { fields: {} }],
    ['log', { dropped: 'many' }],
    ['child', { pid: 0 }],
    ['child', { pid: 1 }],
    ['child', { pid: 4_242.5 }],
  ] as const)('refuses a %s with %j', (kind, over) => {
    expect(isIsolateMessage({ ...RECORDS[kind], ...over }, n)).toBe(false);
  });

  it.each([
    ['code', 'LOUD'],
    ['name', 5],
    ['message', undefined],
    ['stack', {}],
    ['cause', 5],
    ['cause', null],
    ['fields', 'none'],
    ['ofStop', undefined],
    ['truncated', 0],
  ])('refuses a failure, and one anywhere in its causes, with a %s of %j', (field, value) => {
    for (let depth = 0, broken: object = { ...failure, [field]: value }; depth <= MOST_CAUSES; depth += 1) {
      expect(isIsolateMessage({ ...RECORDS.failed, failure: broken }, n)).toBe(false);
      expect(isIsolateMessage({ ...RECORDS.fatal, failure: broken }, n)).toBe(false);
      broken = { ...failure, cause: broken };
    }
  });

  it('lets as many causes through as an isolate tells, and no more', () => {
    const nested = (depth: number): object => (depth === 0 ? failure : { ...failure, cause: nested(depth - 1) });
    let thrown: Error | undefined;
    for (let count = 0; count < 20; count += 1) thrown = new Error('deep', { cause: thrown });
    for (const told of [nested(MOST_CAUSES), toFailure(thrown, 'TOOL_ERROR')])
      expect(isIsolateMessage({ ...RECORDS.failed, failure: told }, n)).toBe(true);
    expect(isIsolateMessage({ ...RECORDS.failed, failure: nested(MOST_CAUSES + 1) }, n)).toBe(false);
  });

  it('refuses a failure that is its own cause', () => {
    const loop: Record<string, unknown> = { ...failure };
    loop['cause'] = loop;
    expect(isIsolateMessage({ ...RECORDS.failed, failure: loop }, n)).toBe(false);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''])('refuses a tag that is no tag: %j', (t) => {
    expect(isIsolateMessage({ t, n, seq: 1 }, n)).toBe(false);
  });

  it('for any value, answers without throwing', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withTypedArray: true, withNullPrototype: true }), (x) => {
        expect(isIsolateMessage(x, n)).toBe(false);
      }),
    );
  });

  it('for any whole record with any field made strange, answers without throwing', () => {
    const record = fc.constantFrom(...Object.values(RECORDS));
    fc.assert(
      fc.property(
        record,
        fc.nat({ max: 8 }),
        fc.anything({ withBigInt: true, withTypedArray: true }),
        (whole, at, x) => {
          const keys = Object.keys(whole);
          const key = keys[at % keys.length] as string;
          const strange = { ...whole, [key]: x };
          const answer = isIsolateMessage(strange, n);
          if (key === 'n' || key === 't') expect(answer).toBe(false);
          else expect(typeof answer).toBe('boolean');
        },
      ),
    );
  });
});

describe('areFindings', () => {
  it.each([undefined, null, 5, 'text', {}, [5], [{ kind: 'other' }]])('refuses %j', (x) => {
    expect(areFindings(x)).toBe(false);
  });

  it('takes none, and any of a known kind', () => {
    expect(areFindings([])).toBe(true);
    expect(areFindings([{ kind: 'killed' }, { kind: 'exited', detail: 'exit code 1' }])).toBe(true);
  });
});
