/** Recovery: what each record comes to, what is listed where, and that nothing in it can hold or spoil the rest. */
import { describe, expect, it } from 'vitest';
import type { Reconciliation } from '../../src/model/recovery.ts';
import { begun, dispatched, type Entry, entryOf, lostLog, recovered } from './lost-log.ts';

const closedOf = async (log: ReturnType<typeof lostLog>) =>
  (await log.written()).filter(({ kind }) => kind === 'closed').map(({ body }) => body);

describe('an attempt without an end', () => {
  it.each<[string, Entry[], object]>([
    [
      'that was only prepared',
      begun('a').slice(0, 1),
      { status: 'interrupted', cause: 'host-lost', code: 'HOST_LOST' },
    ],
    ['that let nothing go', begun('a'), { status: 'interrupted', cause: 'host-lost', code: 'HOST_LOST' }],
    ['with an effect let go', [...begun('a'), dispatched('a')], { status: 'indeterminate', cause: 'host-lost' }],
    [
      'with one effect known and one not',
      [
        ...begun('a'),
        dispatched('a'),
        ['a', 'settled', 'charge', { state: 'applied' }],
        dispatched('a', 'hold', 'mail'),
      ],
      { status: 'indeterminate', code: 'INDETERMINATE' },
    ],
    [
      'whose effects are all known',
      [...begun('a'), dispatched('a'), ['a', 'settled', 'charge', { state: 'applied' }]],
      { status: 'interrupted', cause: 'host-lost' },
    ],
    [
      'whose opaque body was applied',
      [...begun('a'), dispatched('a', 'hold', ''), ['a', 'settled', '', { state: 'applied' }]],
      { status: 'succeeded', cause: null, code: null, valueLost: true },
    ],
    [
      'whose value a schema had yet to accept',
      [...begun('a', { checksOutput: true }), dispatched('a', 'hold', ''), ['a', 'settled', '', { state: 'applied' }]],
      { status: 'interrupted' },
    ],
    [
      'whose opaque body failed',
      [...begun('a'), dispatched('a', 'hold', ''), ['a', 'settled', '', { state: 'failed' }]],
      { status: 'failed', cause: null, code: 'TOOL_ERROR' },
    ],
    [
      'whose body was taken back',
      [...begun('a'), dispatched('a', 'hold', ''), ['a', 'settled', '', { state: 'not-applied' }]],
      { status: 'interrupted' },
    ],
  ])('%s is closed by what the record says', async (_, entries, body) => {
    const log = lostLog(entries);
    const { report } = await recovered(log.eventLog);
    expect(await closedOf(log)).toMatchObject([{ ...body, recovered: true }]);
    expect(report.closed).toMatchObject([{ requestId: 'a', tool: 'pay' }]);
    expect(report.failures).toEqual([]);
  });

  it('is left alone when its writer is alive', async () => {
    const log = lostLog([]);
    await log.eventLog.append(entryOf(['a', 'admitted']));
    const { report } = await recovered(log.eventLog);
    expect(report.closed).toEqual([]);
    expect(await closedOf(log)).toEqual([]);
  });
});

describe('what may be tried again', () => {
  it('is told with its input, its labels and its seed', async () => {
    const log = lostLog(begun('a', { idempotencyKey: 'seed', labels: { team: 'x' } }));
    const { report } = await recovered(log.eventLog);
    expect(report.rerunnable).toEqual([
      {
        ...{ tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'a', attempt: 1, tool: 'pay' },
        ...{ input: { order: 7 }, idempotencyKey: 'seed', labels: { team: 'x' }, intents: [] },
      },
    ]);
  });

  it.each([
    ['its input held a secret', { hadSecrets: true }],
    ['its input cannot be told as JSON', { isExact: false }],
    ['its input was not stored', { inputOmitted: 9_000 }],
    ['its input is not in the log', { isExact: undefined }],
  ])('is withheld, and why: %s', async (why, over) => {
    const entries = begun('a', over);
    // As a log would: an undefined member is none.
    const log = lostLog(
      JSON.parse(JSON.stringify([...entries, ...begun('b', over), dispatched('b', 'rerun-same-key')])),
    );
    const { report } = await recovered(log.eventLog);
    expect(report.rerunnable).toEqual([]);
    expect(report.closed.find(({ requestId }) => requestId === 'a')).toMatchObject({ withheld: why });
    expect(report.held).toMatchObject([{ requestId: 'b', why }]);
  });

  it('holds an attempt back when another of its effects is held', async () => {
    const log = lostLog([...begun('a'), dispatched('a', 'rerun-same-key'), dispatched('a', 'hold', 'mail')]);
    const { report } = await recovered(log.eventLog);
    expect(report.rerunnable).toEqual([]);
    expect(report.held.map(({ intent }) => intent).sort()).toEqual(['charge', 'mail']);
  });
});

describe('an open effect', () => {
  it('that asks for a hold is told each time', async () => {
    const log = lostLog([...begun('a'), dispatched('a')]);
    for (let round = 0; round < 2; round += 1) {
      const { report } = await recovered(log.eventLog);
      expect(report.held).toMatchObject([{ intent: 'charge', key: 'key-a', why: 'its onAmbiguous is hold' }]);
      await log.reopen();
    }
  });

  it('that is assumed applied is written as assumed', async () => {
    const log = lostLog([...begun('a'), dispatched('a', 'assume-applied')]);
    const { report } = await recovered(log.eventLog);
    expect((await log.written()).at(-1)).toMatchObject({
      kind: 'reconciled',
      body: { verdict: 'applied', assumed: true },
    });
    expect(report).toMatchObject({ held: [], reconciled: [{ verdict: 'applied', assumed: true }] });
  });

  it('that was tried again under its key, and applied there, is applied', async () => {
    const again: Entry[] = [...begun('b'), dispatched('b', 'rerun-same-key', 'charge', 'key-a')];
    const log = lostLog([
      ...begun('a'),
      dispatched('a', 'rerun-same-key'),
      ['a', 'closed', '', { status: 'indeterminate' }],
      ...again,
      ['b', 'settled', 'charge', { state: 'applied' }],
      ['b', 'closed', '', { status: 'succeeded' }],
    ]);
    const { report } = await recovered(log.eventLog);
    expect(report).toMatchObject({
      rerunnable: [],
      held: [],
      reconciled: [{ requestId: 'a', evidence: { requestId: 'b' } }],
    });
  });
});

describe('a hook', () => {
  const open = () => lostLog([...begun('a'), dispatched('a', 'reconcile')]);

  it('hears of the intent, and its verdict and redacted evidence are written', async () => {
    const log = open();
    const heard: unknown[] = [];
    const charge = (intent: object): Reconciliation => {
      heard.push(intent);
      return { verdict: 'not-applied', evidence: { token: 'x', text: 'pw hunter2' } };
    };
    const { report } = await recovered(log.eventLog, { charge });
    expect(heard).toMatchObject([{ tenant: 'acme', requestId: 'a', intent: 'charge', key: 'key-a', tool: 'pay' }]);
    const evidence = { token: '[redacted]', text: 'pw [redacted]' };
    expect((await log.written()).at(-1)).toMatchObject({
      kind: 'reconciled',
      body: { verdict: 'not-applied', evidence },
    });
    expect(report).toMatchObject({ held: [], reconciled: [{ verdict: 'not-applied', assumed: false, evidence }] });
  });

  it('is asked again while it throws or does not know, then believed', async () => {
    let calls = 0;
    const charge = (): Reconciliation => {
      calls += 1;
      if (calls === 1) throw new Error('busy');
      return { verdict: calls < 3 ? 'unknown' : 'applied' };
    };
    const { report } = await recovered(open().eventLog, { charge });
    expect(calls).toBe(3);
    expect(report.reconciled).toHaveLength(1);
  });

  it.each<[string, () => unknown, string]>([
    ['throws', () => Promise.reject(new Error('busy')), 'it threw: Error: busy'],
    ['answers with something else', () => ({ verdict: 'maybe' }), 'it answered with no verdict'],
    ['never answers', () => new Promise(() => undefined), 'it did not answer within the budget'],
  ])('that %s leaves the effect held, and is told as a failure', async (_, charge, words) => {
    const log = open();
    const { report, clock } = await recovered(log.eventLog, { charge: charge as () => Reconciliation });
    expect(report.held).toMatchObject([{ why: `its hook gave no answer: ${words}` }]);
    expect(report.failures).toMatchObject([{ step: 'reconcile', requestId: 'a', intent: 'charge' }]);
    expect((await log.written()).map(({ kind }) => kind)).toEqual(['closed']);
    expect(clock.now()).toBeLessThanOrEqual(1_000 + 5_000);
    expect(clock.pending).toBe(0);
  });

  it('that does not know says so once, however often it is asked', async () => {
    const log = open();
    const charge = (): Reconciliation => ({ verdict: 'unknown', evidence: 'no such row' });
    await recovered(log.eventLog, { charge });
    expect((await log.written()).map(({ kind }) => kind)).toEqual(['closed', 'reconciled']);
    await log.reopen();
    expect((await recovered(log.eventLog, { charge })).report.held).toMatchObject([{ why: 'its hook does not know' }]);
    expect(await log.written()).toEqual([]);
  });

  it('of another intent is not asked, nor is one that only an object inherits', async () => {
    const log = lostLog([...begun('a'), dispatched('a', 'reconcile', 'toString')]);
    const { report } = await recovered(log.eventLog);
    expect(report.held).toMatchObject([{ why: 'there is no hook reconcile["toString"] here' }]);
  });

  it('whose evidence is endless has its beginning kept', async () => {
    const log = open();
    await recovered(log.eventLog, { charge: () => ({ verdict: 'applied', evidence: '"'.repeat(100_000) }) });
    const body = (await log.written()).at(-1)?.body ?? {};
    expect(JSON.stringify(body).length).toBeLessThan(3_000);
    expect(body).toMatchObject({ evidence: { truncated: expect.stringContaining('…') } });
  });
});

describe('a failure', () => {
  it('of the log to be read is told, and nothing is known', async () => {
    const { eventLog } = lostLog([]);
    const next = () => Promise.reject(new Error('damaged hunter2'));
    const broken = { ...eventLog, read: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
    expect(await recovered(broken)).toMatchObject({
      isRead: false,
      report: { closed: [], failures: [{ step: 'read', message: 'Error: damaged [redacted]' }] },
    });
  });

  it('of one attempt is listed, and the others are decided', async () => {
    const log = lostLog([...begun('a'), ...begun('b'), dispatched('b'), ...begun('c')]);
    const append: typeof log.eventLog.append = (event) =>
      event.requestId === 'b' ? Promise.reject(new Error('no')) : log.eventLog.append(event);
    const { report, isRead } = await recovered(log.eventLog, {}, { append });
    expect(isRead).toBe(true);
    expect(report.closed.map(({ requestId }) => requestId)).toEqual(['a', 'c']);
    expect(report.failures).toMatchObject([{ step: 'close', requestId: 'b' }]);
    expect(report.held).toEqual([]);
  });

  it('to take an entry in time is listed, and recovery goes on', async () => {
    const log = lostLog(begun('a'));
    const { report } = await recovered(log.eventLog, {}, { append: () => new Promise(() => undefined) });
    expect(report.failures).toMatchObject([{ step: 'close', message: expect.stringContaining('within 5000 ms') }]);
  });

  it('to look for processes is listed', async () => {
    const { report } = await recovered(lostLog([]).eventLog, {}, { survivors: async () => null });
    expect(report.failures).toMatchObject([{ step: 'survivors' }]);
  });
});
