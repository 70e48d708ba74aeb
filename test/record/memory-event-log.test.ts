/** The log in memory: the order it enforces, against a model, and what it forgets. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOG_EVENT_KINDS, type LogEvent, type LogEventKind, type NewLogEvent } from '../../src/model/stores.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';

function event(kind: LogEventKind, over: Partial<NewLogEvent> = {}): NewLogEvent {
  const names = { tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'req-1', attempt: 1 };
  return { ...names, intent: '', kind, atWall: 1_000, body: {}, ...over };
}
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
function logOf(...kinds: LogEventKind[]) {
  const log = memoryEventLog();
  for (const kind of kinds) log.append(event(kind));
  return log;
}
const refused = expect.objectContaining({ code: 'ERR_LEASEHOLD_LOG_ORDER' });

/** The law of the log as plainly as it can be said: what may follow these entries of one attempt. */
function allowed(past: readonly NewLogEvent[], { kind, intent }: NewLogEvent): boolean {
  const has = (k: LogEventKind, i = '') => past.some((e) => e.kind === k && e.intent === i);
  if (has('closed'))
    return kind === 'late' || (kind === 'reconciled' && has('dispatched', intent) && !has('settled', intent));
  if (kind === 'prepared') return intent === '' && past.length === 0;
  if (kind === 'admitted') return intent === '' && !has('admitted');
  if (kind === 'closed') return intent === '';
  if (!has('admitted')) return false;
  if (kind === 'progressed') return true;
  if (kind === 'dispatched') return !has('dispatched', intent) && !has('settled', intent);
  return kind === 'settled' && !has('settled', intent) && (intent === '' || has('dispatched', intent));
}

describe('memoryEventLog', () => {
  it('promises no durability', () => {
    expect(memoryEventLog().durability).toBe('none');
  });

  it('gives each entry its place, at once', () => {
    const log = memoryEventLog();
    log.append(event('admitted', { requestId: 'req-0' }));
    expect(log.append(event('admitted'))).toEqual({ ...event('admitted'), seq: 2, ord: 0, epoch: 1 });
    expect(log.append(event('closed'))).toMatchObject({ seq: 3, ord: 1 });
  });

  it('keeps attempts of one request apart', () => {
    const log = logOf('admitted', 'closed');
    expect(log.append(event('admitted', { attempt: 2 }))).toMatchObject({ ord: 0 });
  });

  it('says why it refuses', () => {
    expect(() => logOf('admitted', 'closed').append(event('progressed'))).toThrow('the attempt is closed');
    expect(() => logOf('admitted').append(event('settled', { intent: 'x' }))).toThrow('the intent is not dispatched');
    expect(() => logOf().append(event('late'))).toThrow(refused);
  });

  it('refuses a kind nobody knows', () => {
    expect(() => logOf('admitted').append(event('invented' as LogEventKind))).toThrow(refused);
  });

  it('for any entries records the legal ones and refuses all others', async () => {
    const entries = fc.array(
      fc.record({
        kind: fc.constantFrom(...LOG_EVENT_KINDS),
        intent: fc.constantFrom('', 'a'),
        requestId: fc.constantFrom('x', 'y'),
      }),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(entries, async (list) => {
        const log = memoryEventLog();
        const recorded: LogEvent[] = [];
        for (const { kind, ...over } of list) {
          const next = event(kind, { ...over, body: { verdict: 'unknown' } });
          const past = recorded.filter(({ requestId }) => requestId === next.requestId);
          if (allowed(past, next)) {
            const logged = log.append(next);
            expect(logged).toMatchObject({ seq: recorded.length + 1, ord: past.length });
            recorded.push(logged);
          } else expect(() => log.append(next)).toThrow(refused);
        }
        expect(await all(log.read())).toEqual(recorded);
      }),
    );
  });

  it('reads in order, by run, after a place, up to a limit', async () => {
    const log = memoryEventLog();
    for (const run of ['a', 'b']) log.append(event('admitted', { run, requestId: `req-${run}` }));
    for (const run of ['b', 'a']) log.append(event('closed', { run, requestId: `req-${run}` }));
    const seqs = async (filter: Parameters<typeof log.read>[0]) => (await all(log.read(filter))).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3, 4]);
    expect(await seqs({ run: 'b' })).toEqual([2, 3]);
    expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3]);
  });

  it('lists open intents until they settle or are reconciled', async () => {
    const log = logOf('admitted');
    for (const intent of ['a', 'b', 'c']) {
      log.append(event('dispatched', { intent, body: { key: `k-${intent}`, onAmbiguous: 'hold', tool: 'pay' } }));
    }
    log.append(event('settled', { intent: 'a' }));
    log.append(event('closed'));
    log.append(event('reconciled', { intent: 'b', body: { verdict: 'applied' } }));
    log.append(event('reconciled', { intent: 'c', body: { verdict: 'unknown' } }));
    const { kind: _kind, body: _body, ...names } = event('dispatched', { intent: 'c' });
    expect(await all(log.openIntents())).toEqual([{ ...names, key: 'k-c', onAmbiguous: 'hold', tool: 'pay' }]);
  });

  it('drops the oldest closed attempts, never an open one', async () => {
    const log = memoryEventLog({ maxAttempts: 2 });
    log.append(event('admitted', { requestId: 'open' }));
    for (const requestId of ['a', 'b', 'c']) {
      log.append(event('admitted', { requestId }));
      log.append(event('closed', { requestId }));
    }
    const kept = (await all(log.read())).map(({ requestId }) => requestId);
    expect([...new Set(kept)]).toEqual(['open', 'b', 'c']);
    expect(log.append(event('closed', { requestId: 'open' }))).toMatchObject({ ord: 1 });
  });
});
