/**
 * Intrinsics: what every tool of an isolate shares is seen when it changes, one place at a time.
 *
 * Invariant: one isolate serves the whole table, each change being taken back by the next lease, which must look clean;
 * so a row shows both that its place is seen, and that nothing else is taken for a change.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { type FarHost, openFar } from './far-host.ts';

const addressOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const changing = addressOf(`
  let undo;
  export default (place) => {
    if (place === null) return undo();
    const { holder, key } = place;
    const object = (0, eval)(holder);
    const name = (0, eval)(key);
    const before = Object.getOwnPropertyDescriptor(object, name);
    const { defineProperty } = Object;
    undo = before ? () => void defineProperty(object, name, before) : () => void delete object[name];
    const after = { configurable: true, enumerable: true, ...before };
    if (after.get) after.get = () => 1;
    else after.value = typeof after.value === 'number' ? after.value + 1 : () => 1;
    defineProperty(object, name, after);
  };
`);

/** The label of the finding, where it is not the place itself; the holder; the key. All are expressions. */
const PLACES: readonly (readonly [holder: string, key: string, label?: string])[] = [
  ['Array.prototype', 'Symbol.iterator'],
  ['Array.prototype', 'Symbol.unscopables'],
  ['String.prototype', 'Symbol.iterator'],
  ['Map.prototype', 'Symbol.iterator'],
  ['Set.prototype', 'Symbol.iterator'],
  ['RegExp.prototype', 'Symbol.replace'],
  ['RegExp.prototype', 'Symbol.match'],
  ['RegExp.prototype', 'Symbol.split'],
  ['Date.prototype', 'Symbol.toPrimitive'],
  ['Symbol.prototype', 'Symbol.toPrimitive'],
  ['Promise.prototype', 'Symbol.toStringTag'],
  ['Reflect.getPrototypeOf([].values())', '"next"', 'ArrayIterator.prototype'],
  ['Reflect.getPrototypeOf(new Map().values())', '"next"', 'MapIterator.prototype'],
  ['Reflect.getPrototypeOf(new Set().values())', '"next"', 'SetIterator.prototype'],
  ['Reflect.getPrototypeOf(""[Symbol.iterator]())', '"next"', 'StringIterator.prototype'],
  ['Reflect.getPrototypeOf("".matchAll(/-/g))', '"next"', 'RegExpStringIterator.prototype'],
  ['Reflect.getPrototypeOf(Reflect.getPrototypeOf([].values()))', 'Symbol.iterator', 'Iterator.prototype'],
  ['Reflect.getPrototypeOf(function* () {}.prototype)', '"next"', 'Generator.prototype'],
  ['Reflect.getPrototypeOf(async function* () {}.prototype)', '"next"', 'AsyncGenerator.prototype'],
  ['Reflect.getPrototypeOf(function* () {})', '"constructor"', 'GeneratorFunction.prototype'],
  ['Reflect.getPrototypeOf(async () => {})', '"constructor"', 'AsyncFunction.prototype'],
  ['Reflect.getPrototypeOf(async function* () {})', '"constructor"', 'AsyncGeneratorFunction.prototype'],
  ['Reflect.getPrototypeOf(Uint8Array)', '"from"', 'TypedArray'],
  ['Reflect.getPrototypeOf(Uint8Array.prototype)', '"length"', 'TypedArray.prototype'],
  ['RegExp.prototype', '"flags"'],
  ['Map.prototype', '"size"'],
  ['Error', '"stackTraceLimit"'],
  ['Error.prototype', '"name"'],
  ['Proxy', '"revocable"'],
  ['WeakRef.prototype', '"deref"'],
  ['DataView.prototype', '"getUint8"'],
  ['Intl', '"NumberFormat"'],
  ['Intl.DateTimeFormat.prototype', '"formatToParts"'],
  ['Intl.Collator', '"supportedLocalesOf"'],
  ['TextEncoder.prototype', '"encode"'],
  ['TextDecoder.prototype', '"decode"'],
  ['URL', '"canParse"'],
  ['URL.prototype', '"href"'],
  ['URLSearchParams.prototype', '"get"'],
  ['AbortController.prototype', '"abort"'],
  ['AbortSignal.prototype', '"aborted"'],
  ['EventTarget.prototype', '"dispatchEvent"'],
  ['MessagePort.prototype', '"postMessage"'],
  ['Buffer', '"from"'],
  ['fs', '"readFileSync"'],
  ['globalThis', '"structuredClone"'],
];
const ADDED = [
  ['Date', 'Symbol("mine")'],
  ['Date', '"mine"'],
  ['Array', 'Symbol.hasInstance'],
  ['String.prototype', 'Symbol("mine")'],
  ['Math', '"mine"'],
  ['Intl', 'Symbol("mine")'],
] as const;

const told = async (far: FarHost, seq: number) => {
  const { findings } = await far.looked(seq);
  return findings.map(({ kind, detail }) => `${kind} ${detail}`);
};

describe('a changed intrinsic', () => {
  let far: FarHost;
  beforeEach(async () => {
    far = await openFar({ full: 'every' });
  });
  const change = async (place: { holder: string; key: string } | null): Promise<string[]> => {
    const { seq, failure } = await far.run('', 'default', place, { module: changing });
    expect(failure).toBeUndefined();
    return told(far, seq);
  };

  it('is found and named, wherever it is, and nothing else is', async () => {
    for (const [holder, key, label = holder] of PLACES) {
      const at = key.startsWith('"') ? `.${JSON.parse(key)}` : `[Symbol(${key})]`;
      const place = holder === 'fs' ? 'process.getBuiltinModule("fs")' : holder;
      expect(await change({ holder: place, key })).toEqual([`intrinsic-changed ${label}${at}`]);
      expect(await change(null)).toEqual([]);
    }
  });

  it('is found when a key was added to it, a symbol included', async () => {
    for (const [holder, key] of ADDED) {
      expect(await change({ holder, key })).toEqual([`intrinsic-changed ${holder}: other keys`]);
      expect(await change(null)).toEqual([]);
    }
  });

  it.each(['globalThis', 'Array.prototype'])(
    'is found when nothing can be added to it any more: %s',
    async (holder) => {
      const module = addressOf(`export default () => void Object.preventExtensions(${holder});`);
      const { seq } = await far.run('', 'default', null, { module });
      expect(await told(far, seq)).toEqual([`intrinsic-changed ${holder}: not extensible`]);
    },
  );
});

describe('the snapshot', () => {
  it('makes no lazy global by looking, and loads nothing', async () => {
    const far = await openFar({ full: 'every' });
    const module = addressOf(
      `export default () => [typeof Object.getOwnPropertyDescriptor(globalThis, 'crypto').get,
        process.moduleLoadList.length];`,
    );
    const before = await far.run('', 'default', null, { module });
    expect(await told(far, before.seq)).toEqual([]);
    const after = await far.run('', 'default', null, { module });
    expect(after.value).toEqual(['function', (before.value as unknown[])[1]]);
  });

  it('is taken although a module replaced what iterates while it loaded', async () => {
    const far = await openFar({ full: 'every' });
    const module = addressOf(
      `const refuse = () => { throw new Error('iterated'); };
       const values = Reflect.getPrototypeOf([].values());
       export default () => 'ran';
       Array.prototype[Symbol.iterator] = refuse;
       Array.prototype.map = refuse;
       values.next = refuse;`,
    );
    const { seq, value, failure } = await far.run('', 'default', null, { module });
    expect({ value, failure }).toEqual({ value: 'ran', failure: undefined });
    expect(await told(far, seq)).toEqual([]);
  });
});
