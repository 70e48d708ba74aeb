/** Inline: calls on the host's own loop under the records of a lease. */
import { describe, expect, it } from 'vitest';
import { InlineCalls } from '../../src/isolate/inline.ts';
import type { InlineRun, TenureExit } from '../../src/isolate/tenure.ts';
import { NotAppliedError } from '../../src/model/not-applied.ts';
import type { InlineContext } from '../../src/model/work.ts';
import type { HostCalls, IsolateMessage } from '../../src/wire/protocol.ts';
import { WORD } from '../../src/wire/protocol.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

function opened(serve: (input: unknown, context: InlineContext) => Promise<unknown>, calls: Partial<HostCalls> = {}) {
  const clock = new FakeClock();
  const tenure = new InlineCalls(clock).open();
  const records: IsolateMessage[] = [];
  const exits: TenureExit[] = [];
  tenure.listen({ onRecord: (record) => records.push(record as IsolateMessage), onExit: (exit) => exits.push(exit) });
  const ctx = { remainingMs: 1_000 } as InlineRun['ctx'];
  const run = (input: unknown = 1) =>
    tenure.post({
      ...{ t: 'inline', seq: 1, serve, input, ctx, calls: calls as HostCalls },
      authorizeHop: () => Promise.resolve(),
    });
  return { clock, tenure, records, exits, run };
}
const pending = () => new Promise<never>(() => {});

describe('an inline call', () => {
  it('has started once it is posted, and answers with its value', async () => {
    const { tenure, records, run } = opened(async (input) => ({ input }));
    run(7);
    expect(Atomics.load(tenure.words, WORD.STARTED)).toBe(1);
    expect(records).toEqual([]);
    await settle();
    expect(records).toMatchObject([{ t: 'started' }, { t: 'settled', ok: true, value: { input: 7 }, clean: true }]);
  });

  it.each([
    ['a rejection', () => Promise.reject(new TypeError('no'))],
    [
      'a throw',
      () => {
        throw new TypeError('no');
      },
    ],
  ])('answers with a failure after %s', async (_what, serve) => {
    const { records, run } = opened(serve);
    run();
    await settle();
    expect(records.at(-1)).toMatchObject({ ok: false, failure: { name: 'TypeError', ofStop: false } });
  });

  it('aborts its signal at a stop, and the reason it throws is the stop own', async () => {
    const { tenure, records, run } = opened(
      (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    run();
    tenure.post({ t: 'stop', seq: 1, kind: 'run-timeout', reason: null });
    await settle();
    expect(records.at(-1)).toMatchObject({ ok: false, failure: { name: 'TimeoutError', ofStop: true } });
  });

  it('tells the time that is left', async () => {
    const seen: number[] = [];
    const { clock, run } = opened(async (_input, context) => {
      seen.push(context.remainingMs());
      clock.jump(400);
      seen.push(context.remainingMs());
      clock.jump(4_000);
      seen.push(context.remainingMs());
    });
    run();
    await settle();
    expect(seen).toEqual([1_000, 600, 0]);
  });

  it('that does not end after its kill leaves no exit before it does', async () => {
    let end: (value: unknown) => void = () => undefined;
    const { tenure, exits, records, run } = opened(() => new Promise((resolve) => (end = resolve)));
    run();
    tenure.terminate();
    await settle();
    expect(exits).toEqual([]);
    end('late');
    await settle();
    expect(records.at(-1)).toMatchObject({ t: 'settled', value: 'late' });
    expect(exits).toEqual([{ code: null, error: null }]);
  });

  it('that never began ends at once', async () => {
    const { tenure, exits } = opened(pending);
    tenure.terminate();
    tenure.terminate();
    expect(exits).toEqual([]);
    await settle();
    expect(exits).toHaveLength(1);
  });

  it.each([
    ['applied', async () => 'sent'],
    ['not-applied', () => Promise.reject(new NotAppliedError('refused'))],
    ['failed', () => Promise.reject(new Error('broken'))],
  ] as [string, () => Promise<string>][])('lets an effect go under an intent that ends %s', async (state, effect) => {
    const told: unknown[] = [];
    const { run } = opened(
      (_input, context): Promise<unknown> => context.perform({ name: 'send' }, effect).catch(() => undefined),
      {
        dispatch: async (...call): Promise<string> => `key ${told.push(call)}`,
        settle: async (...call) => void told.push(call),
      },
    );
    run();
    await settle();
    expect(told).toEqual([
      [1, { name: 'send', key: null, onAmbiguous: 'hold' }],
      [1, 'send', state],
    ]);
  });
});
