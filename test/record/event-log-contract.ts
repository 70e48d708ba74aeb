/**
 * What every event log must do, and a plain model of the order it enforces.
 *
 * Invariant: the suite knows no log. Deliberately absent: what a log forgets, and what it survives.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type EventLog,
  LOG_EVENT_KINDS,
  type LogEvent,
  type LogEventKind,
  type NewLogEvent,
} from '../../src/model/stores.ts';

export function event(kind: LogEventKind, over: Partial<NewLogEvent> = {}): NewLogEvent {
  const names = { tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'req-1', attempt: 1 };
  return { ...names, intent: '', kind, atWall: 1_000, body: {}, ...over };
}
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
export const code = (suffix: string): unknown => expect.objectContaining({ code: `ERR_LEASEHOLD_${suffix}` });

/** The law of the log as plainly as it can be said: what may follow these entries of one attempt. */
export function allowed(past: readonly NewLogEvent[], { kind, intent }: NewLogEvent): boolean {
  const has = (k: LogEventKind, i = '') => past.some((e) => e.kind === k && e.intent === i);
  const isDecided = past.some((e) => e.kind === 'reconciled' && e.intent === intent && e.body['verdict'] !== 'unknown');
  if (has('closed')) {
    return (
      kind === 'late' || (kind === 'reconciled' && has('dispatched', intent) && !has('settled', intent) && !isDecided)
    );
  }
  if (kind === 'prepared') return intent === '' && past.length === 0;
  if (kind === 'admitted') return intent === '' && !has('admitted');
  if (kind === 'closed') return intent === '';
  if (!has('admitted')) return false;
  if (kind === 'progressed') return true;
  if (kind === 'dispatched') return !has('dispatched', intent) && !has('settled', intent);
  return kind === 'settled' && !has('settled', intent) && (intent === '' || has('dispatched', intent));
}

/** Entries of two attempts, in any order; `turn` begins a turn of the loop. Biased, so that attempts get far. */
export const anyEntries = fc.array(
  fc.record({
    kind: fc.oneof(
      fc.constantFrom(...LOG_EVENT_KINDS),
      fc.constantFrom<LogEventKind>('admitted', 'dispatched', 'settled', 'closed', 'reconciled'),
    ),
    intent: fc.constantFrom('', '', 'a'),
    requestId: fc.constantFrom('x', 'y'),
    body: fc.constantFrom({ verdict: 'unknown' }, { verdict: 'applied' }, {}),
    turn: fc.boolean(),
  }),
  { maxLength: 25 },
);

export function eventLogContract(open: () => Promise<EventLog>): void {
  const append = async (log: EventLog, ...events: readonly NewLogEvent[]): Promise<LogEvent[]> =>
    Promise.all(events.map(async (next) => log.append(next)));

  it('gives each entry its place', async () => {
    const log = await open();
    await append(log, event('admitted', { requestId: 'req-0' }));
    const places = await append(log, event('admitted'), event('closed'));
    expect(places).toEqual([
      { ...event('admitted'), seq: 2, ord: 0, epoch: 1 },
      { ...event('closed'), seq: 3, ord: 1, epoch: 1 },
    ]);
    await log.close?.();
  });

  it('keeps attempts of one request apart', async () => {
    const log = await open();
    await append(log, event('admitted'), event('closed'));
    expect(await log.append(event('admitted', { attempt: 2 }))).toMatchObject({ ord: 0 });
    await log.close?.();
  });

  it('says why it refuses', async () => {
    const log = await open();
    await append(log, event('admitted'));
    await expect(append(log, event('settled', { intent: 'x' }))).rejects.toThrow('the intent is not dispatched');
    await append(log, event('closed'));
    await expect(append(log, event('progressed'))).rejects.toThrow('the attempt is closed');
    await expect(append(log, event('late', { requestId: 'new' }))).rejects.toThrow(code('LOG_ORDER'));
    await log.close?.();
  });

  it('refuses a kind nobody knows', async () => {
    const log = await open();
    await append(log, event('admitted'));
    await expect(append(log, event('invented' as LogEventKind))).rejects.toThrow(code('LOG_ORDER'));
    await log.close?.();
  });

  it('for any entries records the legal ones and refuses all others', async () => {
    await fc.assert(
      fc.asyncProperty(anyEntries, async (list) => {
        const log = await open();
        const expected: NewLogEvent[] = [];
        const recorded: LogEvent[] = [];
        let turn: Promise<void>[] = [];
        for (const { kind, turn: ends, ...over } of list) {
          const next = event(kind, over);
          const past = expected.filter(({ requestId }) => requestId === next.requestId);
          const written = append(log, next);
          if (allowed(past, next)) {
            const [seq, ord] = [expected.push(next), past.length];
            turn.push(
              written.then(([logged]) => {
                expect(logged).toEqual({ ...next, seq, ord, epoch: 1 });
                if (logged !== undefined) recorded.push(logged);
              }),
            );
          } else turn.push(expect(written).rejects.toThrow(code('LOG_ORDER')));
          if (ends) {
            await Promise.all(turn);
            turn = [];
          }
        }
        await Promise.all(turn);
        expect(await all(log.read())).toEqual(recorded.sort((a, b) => a.seq - b.seq));
        expect(recorded).toHaveLength(expected.length);
        await log.close?.();
      }),
    );
  });

  it('reads in order, by run, after a place, up to a limit', async () => {
    const log = await open();
    const of = (run: string) => ({ run, requestId: `req-${run}` });
    await append(log, event('admitted', of('a')), event('admitted', of('b')));
    await append(log, event('closed', of('b')), event('closed', of('a')));
    const seqs = async (filter: Parameters<typeof log.read>[0]) => (await all(log.read(filter))).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3, 4]);
    expect(await seqs({ run: 'b' })).toEqual([2, 3]);
    expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3]);
    expect(await seqs({ limit: 0 })).toEqual([]);
    await log.close?.();
  });

  it('lists open intents until they settle or are reconciled', async () => {
    const log = await open();
    await append(log, event('admitted'));
    for (const intent of ['a', 'b', 'c']) {
      await append(
        log,
        event('dispatched', { intent, body: { key: `k-${intent}`, onAmbiguous: 'hold', tool: 'pay' } }),
      );
    }
    await append(
      log,
      event('settled', { intent: 'a' }),
      event('closed'),
      event('reconciled', { intent: 'b', body: { verdict: 'applied' } }),
      event('reconciled', { intent: 'c', body: { verdict: 'unknown' } }),
    );
    const { kind: _kind, body: _body, ...names } = event('dispatched', { intent: 'c' });
    expect(await all(log.openIntents())).toEqual([{ ...names, key: 'k-c', onAmbiguous: 'hold', tool: 'pay' }]);
    await log.close?.();
  });
}
