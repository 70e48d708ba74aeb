/** Records of an isolate: what passes has the nonce and its fields, whatever else is posted. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isIsolateMessage } from '../../src/wire/records.ts';

const n = 'nonce';
const failure = { code: 'TOOL_ERROR', name: 'Error', message: 'broke' };
const RECORDS = {
  started: { t: 'started', n, seq: 1 },
  settled: { t: 'settled', n, seq: 1, ok: true, ranMs: 0, clean: true },
  failed: { t: 'settled', n, seq: 1, ok: false, failure, ranMs: 2.5, clean: false },
  looked: { t: 'looked', n, seq: 1, findings: [{ kind: 'residual-handle' }], heapBytes: null },
  output: { t: 'output', n, seq: 1, stream: 'stdout', bytes: new Uint8Array(1), omittedBytes: 0, credit: 1 },
  progress: { t: 'progress', n, seq: 1, value: null, credit: 1 },
  log: { t: 'log', n, seq: 1, level: 'info', message: '', fields: null, dropped: 0, credit: 1 },
  fatal: { t: 'fatal', n, seq: 0, failure },
  child: { t: 'child', n, pid: 1, alive: true },
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
  ] as const)('refuses a %s with %j', (kind, over) => {
    expect(isIsolateMessage({ ...RECORDS[kind], ...over }, n)).toBe(false);
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
