/** Calls of the host: an effect runs after its grant only, and how it ended is told truthfully. */
import { describe, expect, it } from 'vitest';
import type { HostCalls } from '../../src/wire/protocol.ts';
import { type FarHost, openFar } from './far-host.ts';

interface Told {
  readonly far: FarHost;
  readonly dispatched: unknown[];
  readonly settled: string[];
}

async function openCalled(
  overrides: Partial<HostCalls> = {},
  onDispatch: (told: Told, seq: number) => void = () => {},
): Promise<Told> {
  const dispatched: unknown[] = [];
  const settled: string[] = [];
  const calls: Partial<HostCalls> = {
    async dispatch(seq, intent) {
      dispatched.push(intent);
      onDispatch(told, seq);
      return `key of ${intent.name}`;
    },
    async settle(_seq, name, state) {
      settled.push(`${name} ${state}`);
    },
    ...overrides,
  };
  const far = await openFar({ calls });
  const told = { far, dispatched, settled };
  return told;
}
const declared = { effects: 'declared' } as const;

describe('perform', () => {
  it('lets the effect run with the granted key, and tells that it applied', async () => {
    const { far, dispatched, settled } = await openCalled();
    expect((await far.run('calling', 'apply', null, declared)).value).toBe('applied with key of charge');
    expect(dispatched).toEqual([{ name: 'charge', key: 'k-1', onAmbiguous: 'hold' }]);
    expect(settled).toEqual(['charge applied']);
  });

  it.each([
    ['fail', 'declined', 'failed'],
    ['notApplied', 'never sent', 'not-applied'],
  ])('tells a throw before any stop: %s', async (name, message, state) => {
    const { far, settled } = await openCalled();
    expect((await far.run('calling', name, null, declared)).failure?.message).toBe(message);
    expect(settled).toEqual([`charge ${state}`]);
  });

  it('leaves the intent open when the effect throws after a stop', async () => {
    const { far, settled } = await openCalled();
    const { failure } = await far.run('calling', 'throwAfterStop', null, { ...declared, remainingMs: 150 });
    expect(failure).toMatchObject({ message: 'socket hang up', ofStop: false });
    expect(settled).toEqual(['charge open']);
  });

  it('asks for nothing after a stop, and throws the reason itself', async () => {
    const { far, dispatched } = await openCalled();
    const { failure } = await far.run('calling', 'stopBeforeDispatch', null, { ...declared, remainingMs: 10 });
    expect(failure).toMatchObject({ name: 'TimeoutError', ofStop: true });
    expect(dispatched).toEqual([]);
  });

  it('tells not-applied when the stop came between the grant and the effect', async () => {
    const { far, settled } = await openCalled({}, (told, seq) => told.far.stop(seq, 'cancel'));
    const { failure } = await far.run('calling', 'apply', null, declared);
    expect(failure).toMatchObject({ name: 'AbortError', ofStop: true });
    expect(settled).toEqual(['charge not-applied']);
  });

  it('runs no effect when the host refuses, and passes its name and code on', async () => {
    const refusal = Object.assign(new Error('no record'), {
      name: 'LeaseholdError',
      code: 'ERR_LEASEHOLD_INTENT_REFUSED',
    });
    const { far, settled } = await openCalled({ dispatch: () => Promise.reject(refusal) });
    const { failure } = await far.run('calling', 'apply', null, declared);
    expect(failure).toMatchObject({ name: 'LeaseholdError', message: 'no record', fields: { code: refusal.code } });
    expect(settled).toEqual([]);
  });

  it("is refused to a tool that declared effects 'none'", async () => {
    const { far, dispatched } = await openCalled();
    const { failure } = await far.run('calling', 'apply', null, { effects: 'none' });
    expect(failure?.message).toMatch(/effects 'none'/);
    expect(dispatched).toEqual([]);
  });

  it.each([
    ['null', /takes an intent first, an object/],
    ["'charge'", /takes an intent first, an object/],
    ['{}, async () => 1', /the intent given to perform needs a name/],
    ["{ name: '' }, async () => 1", /the intent given to perform needs a name/],
    ["{ name: 'q' }", /takes the effect second, a function/],
    ["{ name: 'q' }, 5", /takes the effect second, a function/],
  ])('asks the host for nothing when its arguments are (%s)', async (args, message) => {
    const { far, dispatched, settled } = await openCalled();
    const module = `data:text/javascript,export default (_, ctx) => ctx.perform(${encodeURIComponent(args)})`;
    const { failure } = await far.run('', 'default', null, { ...declared, module });
    expect(failure).toMatchObject({ name: 'TypeError', message: expect.stringMatching(message) });
    expect({ dispatched, settled }).toEqual({ dispatched: [], settled: [] });
  });

  it('has at most 64 calls in flight, and says so to the next', async () => {
    const { far, dispatched } = await openCalled();
    const { value } = await far.run('calling', 'many', 70, declared);
    const refusal = expect.stringMatching(/^at most 64 calls .* await some of them/);
    expect(value).toEqual(Array.from({ length: 6 }, () => refusal));
    expect(dispatched).toHaveLength(64);
  });
});

describe('blobs', () => {
  it('are put and got through the host', async () => {
    const { far } = await openCalled({ putBlob: async () => 'sha256:1', getBlob: async () => new Uint8Array([1, 2]) });
    expect((await far.run('calling', 'blobs', new Uint8Array([1]))).value).toEqual([
      'sha256:1',
      new Uint8Array([1, 2]),
    ]);
  });
});

describe('calls of a lease that is over', () => {
  const never: Partial<HostCalls> = { putBlob: () => new Promise(() => {}) };

  it.each([1, 64])('take nothing from the next one when %i were left unanswered', async (count) => {
    const asked: number[] = [];
    const putBlob = (seq: number) => {
      asked.push(seq);
      return seq === 1 ? new Promise<string>(() => {}) : Promise.resolve(`of ${seq}`);
    };
    const { far } = await openCalled({ putBlob, getBlob: async () => new Uint8Array([1, 2]) });
    expect((await far.run('calling', 'leaveUnanswered', count)).value).toBe('left');
    const { value } = await far.run('calling', 'blobs', new Uint8Array([1]));
    expect(value).toEqual(['of 2', new Uint8Array([1, 2])]);
    expect(asked).toHaveLength(count + 1);
  });

  it('are rejected', async () => {
    const { far } = await openCalled(never);
    const { seq } = await far.run('calling', 'leaveUnanswered', 3);
    await far.looked(seq);
    const { value } = await far.run('calling', 'rejections');
    expect(value).toEqual(Array.from({ length: 3 }, () => 'the lease of this call is over'));
  });

  it('that nobody awaited are blamed on no later lease', async () => {
    const { far } = await openCalled(never);
    await far.run('calling', 'rejections');
    const { seq } = await far.run('calling', 'leaveUncaught');
    expect(await far.until('fatal')).toMatchObject({ seq: 0, failure: { message: 'the lease of this call is over' } });
    expect(far.of('settled').find((settled) => settled.seq === seq)?.ok).toBe(true);
  });

  it('reach the host no more, and no effect runs', async () => {
    const asked: string[] = [];
    const told = (name: string) => async (): Promise<never> => {
      asked.push(name);
      throw new Error('asked');
    };
    const { far } = await openCalled({ getBlob: told('get'), putBlob: told('put'), dispatch: told('dispatch') });
    const { seq } = await far.run('calling', 'leaveContext', null, declared);
    await far.looked(seq);
    const { value } = await far.run('calling', 'useLeftContext', null, declared);
    const over = 'rejected: getBlob: the lease of this call is over';
    expect(value).toEqual([over, over.replace('getBlob', 'putBlob'), over.replace('getBlob', 'dispatch')]);
    expect(asked).toEqual([]);
  });
});
