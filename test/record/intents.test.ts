/** Folding a log into intents, and the keys of intents. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../../src/model/stores.ts';
import { foldIntents, intentKey } from '../../src/record/fold.ts';
import { canonicalJson, type IntentIdentity } from '../../src/record/intent-key.ts';

let ord = 0;
function logged(kind: LogEvent['kind'], intent: string, body: LogEvent['body'] = {}, atWall = 1_000): LogEvent {
  ord += 1;
  const names = { tenant: 't', run: 'r', branch: 'main', requestId: 'req-1', attempt: 1 };
  return { ...names, seq: ord, ord, epoch: 1, intent, kind, atWall, body };
}

describe('foldIntents', () => {
  it('tells each intent in its last known state, in order of dispatch', () => {
    const events = [
      logged('admitted', ''),
      logged('dispatched', 'charge', { key: 'k-1' }, 1_005),
      logged('dispatched', 'mail', { key: 'k-2' }, 1_007),
      logged('settled', 'charge', { state: 'applied' }, 1_009),
    ];
    expect(foldIntents(events)).toEqual([
      { name: 'charge', key: 'k-1', state: 'applied', atMs: 5 },
      { name: 'mail', key: 'k-2', state: 'dispatched', atMs: 7 },
    ]);
  });

  it('names the body of an opaque tool by the tool', () => {
    expect(foldIntents([logged('dispatched', '', { key: 'k', tool: 'pay' })])).toMatchObject([{ name: 'pay' }]);
  });

  it('an end nobody knows leaves the intent dispatched', () => {
    const events = [
      logged('dispatched', 'charge', { key: 'k' }),
      logged('settled', 'charge', { state: 'open' }),
      logged('late', 'charge', { state: 'applied' }),
    ];
    expect(foldIntents(events)).toMatchObject([{ state: 'dispatched' }]);
  });

  it('takes the verdict of a reconciliation', () => {
    const open = logged('dispatched', 'charge', { key: 'k' });
    expect(foldIntents([open, logged('reconciled', 'charge', { verdict: 'not-applied' })])).toMatchObject([
      { state: 'not-applied' },
    ]);
    expect(foldIntents([open, logged('reconciled', 'charge', { verdict: 'unknown' })])).toMatchObject([
      { state: 'dispatched' },
    ]);
  });

  it('the attempt settling is no intent', () => {
    expect(foldIntents([logged('admitted', ''), logged('settled', '', { state: 'applied' })])).toEqual([]);
  });
});

describe('intentKey', () => {
  const identity: IntentIdentity = {
    tenant: 't',
    run: 'r',
    branch: 'main',
    tool: 'pay',
    name: 'charge',
    key: null,
    input: { a: 1, b: 2 },
    seed: null,
  };
  const key = (over: Partial<IntentIdentity> = {}) => intentKey({ ...identity, ...over });

  it('is the key the tool gave, where it gave one', () => {
    expect(key({ key: 'order-7', seed: 's' })).toBe('order-7');
  });

  it('is the same for the same effect, whatever the order of fields', () => {
    expect(key()).toMatch(/^[0-9a-f]{64}$/);
    expect(key({ input: { b: 2, a: 1 } })).toBe(key());
  });

  it.each<Partial<IntentIdentity>>([
    { tenant: 'x' },
    { run: 'x' },
    { branch: 'x' },
    { tool: 'x' },
    { name: 'x' },
    { input: { a: 1 } },
    { seed: 'x' },
  ])('differs with %j', (over) => {
    expect(key(over)).not.toBe(key());
  });

  it('a seed stands for run, branch and input', () => {
    expect(key({ seed: 's', run: 'x', branch: 'y', input: 9 })).toBe(key({ seed: 's' }));
    expect(key({ seed: 's', name: 'mail' })).not.toBe(key({ seed: 's' }));
    expect(key({ seed: 's', tenant: 'x' })).not.toBe(key({ seed: 's' }));
  });

  it('borders of the parts cannot be shifted', () => {
    expect(key({ tool: 'a","b', name: 'c' })).not.toBe(key({ tool: 'a', name: 'b","c' }));
  });
});

describe('canonicalJson', () => {
  it('tells what JSON cannot say', () => {
    const cycle: Record<string, unknown> = { list: [undefined, 1n] };
    cycle['self'] = cycle;
    expect(canonicalJson(cycle)).toBe('{"list":[{"$undefined":0},{"$bigint":"1"}],"self":{"$cycle":0}}');
    expect(canonicalJson(new Map([['a', 1]]))).toBe('{"$entries":[["a",1]]}');
    expect(canonicalJson(Uint8Array.of(1))).toMatch(/^\{"\$bytes":"[0-9a-f]{64}"\}$/);
    expect(canonicalJson(Uint8Array.of(1).buffer)).toBe(canonicalJson(Uint8Array.of(1)));
  });

  it('for any JSON value parses back to it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (x) => {
        expect(JSON.parse(canonicalJson(x))).toEqual(JSON.parse(JSON.stringify(x)));
      }),
    );
  });
});
