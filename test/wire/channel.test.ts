/** Channel: calls that settle once, keep their errors, and let nothing else of Comlink through. */
import { transferHandlers } from 'comlink';
import { describe, expect, it } from 'vitest';
import { type Channel, type ChannelEnds, openChannel } from '../../src/wire/channel.ts';
import { MAX_CALLS_IN_FLIGHT } from '../../src/wire/protocol.ts';

interface Calls {
  add(a: number, b: number): Promise<number>;
  fail(): Promise<void>;
  park(): Promise<string>;
  missing(): Promise<void>;
  toString(): never;
}

/** Two sides that hand each other clones, as a port would. */
function openPair(methods: object): { near: Channel<Calls>; far: Channel; posted: unknown[] } {
  const posted: unknown[] = [];
  const link =
    (to: () => Channel): ChannelEnds['post'] =>
    (d) => {
      const copy = structuredClone(d);
      posted.push(copy);
      queueMicrotask(() => to().receive(copy));
    };
  const near: Channel<Calls> = openChannel<Calls>({ post: link(() => far) });
  const far: Channel = openChannel({ post: link(() => near), expose: methods });
  return { near, far, posted };
}

describe('a call', () => {
  it('resolves to the value of the method, called on its object', async () => {
    const { near } = openPair({
      base: 1,
      add(this: { base: number }, a: number, b: number) {
        return this.base + a + b;
      },
    });
    expect(await near.remote.add(2, 3)).toBe(6);
  });

  it('rejects with name, message and code of what the method threw', async () => {
    const refusal = Object.assign(new RangeError('too big'), { code: 'ERR_LEASEHOLD_BLOB_TOO_LARGE' });
    const { near } = openPair({
      fail: () => {
        throw refusal;
      },
    });
    await expect(near.remote.fail()).rejects.toMatchObject({
      name: 'RangeError',
      message: 'too big',
      code: 'ERR_LEASEHOLD_BLOB_TOO_LARGE',
    });
  });

  it('rejects for a method that is not exposed, inherited ones included', async () => {
    const { near } = openPair({});
    await expect(near.remote.missing()).rejects.toThrow('no method missing');
    await expect(Promise.resolve(near.remote.toString())).rejects.toThrow('no method toString');
  });

  it('rejects at once when too many are unanswered', async () => {
    const { near } = openPair({ park: () => new Promise(() => {}) });
    const parked = Array.from({ length: MAX_CALLS_IN_FLIGHT }, () => near.remote.park());
    await expect(near.remote.park()).rejects.toThrow(`${MAX_CALLS_IN_FLIGHT} calls`);
    near.end('over');
    expect((await Promise.allSettled(parked)).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('rejects when its arguments cannot be cloned, and leaves the channel whole', async () => {
    const { near } = openPair({ add: (a: number, b: number) => a + b });
    await expect(near.remote.add((() => {}) as never, 1)).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(await near.remote.add(1, 1)).toBe(2);
  });
});

describe('an answer of a peer that means harm', () => {
  it.each([undefined, null, 5, {}, { ok: false }, { ok: false, failure: 5 }])('%j settles its call', async (value) => {
    const posted: { id: string }[] = [];
    const near = openChannel<Calls>({ post: (d) => posted.push(d as { id: string }) });
    const call = near.remote.add(1, 2);
    near.receive({ id: posted[0]?.id, type: 'RAW', value });
    expect((await Promise.allSettled([call]))[0]?.status).toBe('rejected');
  });
});

describe('end', () => {
  it('rejects what is pending and what comes later, and posts nothing more', async () => {
    const { near, posted } = openPair({ park: () => new Promise(() => {}) });
    const parked = near.remote.park();
    near.end('the isolate has ended');
    near.end('twice');
    await expect(parked).rejects.toThrow('the isolate has ended');
    const count = posted.length;
    await expect(near.remote.park()).rejects.toThrow('the isolate has ended');
    expect(posted).toHaveLength(count);
  });

  it('of the answering side keeps its answers back', async () => {
    let answer: (text: string) => void = () => {};
    const { near, far, posted } = openPair({ park: () => new Promise<string>((resolve) => (answer = resolve)) });
    const parked = near.remote.park();
    await Promise.resolve();
    far.end('over');
    const count = posted.length;
    answer('late');
    await new Promise((resolve) => setImmediate(resolve));
    expect(posted).toHaveLength(count);
    near.end('over');
    await expect(parked).rejects.toThrow('over');
  });
});

describe('receive', () => {
  const apply = (path: unknown, argumentList: unknown) => ({ id: '1', type: 'APPLY', path, argumentList });
  const raw = (value: unknown) => ({ type: 'RAW', value });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['text', 'hello'],
    ['a read', { id: '1', type: 'GET', path: ['invoke', 'constructor'] }],
    ['a write', { id: '1', type: 'SET', path: ['invoke'], value: raw(1) }],
    ['a construction', { id: '1', type: 'CONSTRUCT', path: ['invoke', 'constructor'], argumentList: [raw('x')] }],
    ['a release', { id: '1', type: 'RELEASE' }],
    ['a call along a path', apply(['invoke', 'constructor'], [raw('return 1')])],
    ['a thrown argument', apply(['invoke'], [{ type: 'HANDLER', name: 'throw', value: { isError: false, value: 1 } }])],
    ['no arguments', apply(['invoke'], [])],
  ])('ignores %s', async (_, message) => {
    const { far, posted } = openPair({});
    far.receive(message);
    await new Promise((resolve) => setImmediate(resolve));
    expect(posted).toEqual([]);
  });
});

describe('the global state of Comlink', () => {
  it('is left as it was', () => {
    expect([...transferHandlers.keys()]).toEqual(['proxy', 'throw']);
  });
});
