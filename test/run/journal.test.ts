/** Journal: what of an attempt's entries the log has acknowledged. */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { EventLog, LogEvent, NewLogEvent } from '../../src/model/stores.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { Journal } from '../../src/run/journal.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { NAMES } from './attempt-parts.ts';

/** A log that acknowledges when it is told to, or refuses. */
function slowLog() {
  const log = memoryEventLog();
  const pending: { acknowledge: () => void; refuse: (error: unknown) => void }[] = [];
  const slow: EventLog = {
    durability: 'process',
    read: (filter) => log.read(filter),
    openIntents: () => log.openIntents(),
    append: (event: NewLogEvent) =>
      new Promise<LogEvent>((resolve, reject) => {
        pending.push({ acknowledge: () => resolve(log.append(event)), refuse: reject });
      }),
  };
  return { slow, pending };
}
const journalOn = (log: EventLog) => new Journal(log, NAMES, new FakeClock());
const DISPATCHED = { key: 'k-1', onAmbiguous: 'hold', tool: 'fake' };

describe('Journal on a log that answers at once', () => {
  it('writes under the names of its attempt, without a promise', () => {
    const written: NewLogEvent[] = [];
    const log = memoryEventLog();
    const journal = journalOn({
      ...log,
      durability: 'none',
      read: log.read,
      openIntents: log.openIntents,
      append: (event) => {
        written.push(event);
        return log.append(event);
      },
    });
    expect(journal.write('prepared', '', { tool: 'fake' })).toBeUndefined();
    expect(written).toEqual([
      { ...NAMES, intent: '', kind: 'prepared', atWall: 1_700_000_001_000, body: { tool: 'fake' } },
    ]);
    expect(journal.untilAcknowledged()).toBeNull();
  });

  it('tells each intent in its last state', () => {
    const journal = journalOn(memoryEventLog());
    expect(journal.intents()).toEqual([]);
    void journal.write('prepared', '', {});
    void journal.write('admitted', '', {});
    void journal.write('dispatched', 'charge', DISPATCHED);
    void journal.write('dispatched', 'mail', { ...DISPATCHED, key: 'k-2' });
    void journal.write('settled', 'mail', { state: 'applied' });
    expect(journal.intents().map(({ name, state }) => [name, state])).toEqual([
      ['charge', 'dispatched'],
      ['mail', 'applied'],
    ]);
  });

  it('throws what the log throws, and records nothing of it', () => {
    const journal = journalOn(memoryEventLog());
    void journal.write('prepared', '', {});
    expect(() => journal.write('dispatched', 'charge', DISPATCHED)).toThrow(/not admitted/);
    expect(journal.intents()).toEqual([]);
  });
});

describe('Journal on a log that takes its time', () => {
  it('knows an intent only once it is acknowledged', async () => {
    const { slow, pending } = slowLog();
    const journal = journalOn(slow);
    void journal.write('prepared', '', {});
    void journal.write('admitted', '', {});
    const dispatched = journal.write('dispatched', 'charge', DISPATCHED);
    expect(dispatched).toBeInstanceOf(Promise);
    expect(journal.intents()).toEqual([]);
    for (const { acknowledge } of pending) acknowledge();
    await dispatched;
    expect(journal.intents()).toMatchObject([{ name: 'charge', state: 'dispatched' }]);
  });

  it('is acknowledged once everything on its way has arrived or was refused', async () => {
    const { slow, pending } = slowLog();
    const journal = journalOn(slow);
    const first = journal.write('prepared', '', {});
    const second = journal.write('admitted', '', {});
    let done = false;
    void journal.untilAcknowledged()?.then(() => (done = true));
    pending[0]?.acknowledge();
    await first;
    await settle();
    expect(done).toBe(false);
    pending[1]?.refuse(new Error('disk full'));
    await expect(second).rejects.toThrow('disk full');
    await settle();
    expect(done).toBe(true);
    expect(journal.untilAcknowledged()).toBeNull();
  });

  it('takes an intent the log refused as never dispatched', async () => {
    const { slow, pending } = slowLog();
    const journal = journalOn(slow);
    void journal.write('prepared', '', {});
    void journal.write('admitted', '', {});
    const dispatched = journal.write('dispatched', 'charge', DISPATCHED);
    pending[0]?.acknowledge();
    pending[1]?.acknowledge();
    pending[2]?.refuse(new Error('disk full'));
    await expect(dispatched).rejects.toThrow('disk full');
    expect(journal.intents()).toEqual([]);
  });

  it('waits for a chain of entries it was told of', async () => {
    const journal = journalOn(memoryEventLog());
    let arrive = (): void => undefined;
    journal.track(new Promise<void>((resolve) => (arrive = resolve)));
    expect(journal.untilAcknowledged()).toBeInstanceOf(Promise);
    arrive();
    await settle();
    expect(journal.untilAcknowledged()).toBeNull();
  });

  it('awaits a promise of another realm', async () => {
    const { slow, pending } = slowLog();
    const Foreign = runInNewContext('Promise') as PromiseConstructor;
    const append: EventLog['append'] = (event) => Foreign.resolve(slow.append(event));
    const journal = journalOn({ ...slow, append });
    for (const kind of ['prepared', 'admitted'] as const) void journal.write(kind, '', {});
    const dispatched = journal.write('dispatched', 'charge', DISPATCHED);
    expect([dispatched instanceof Promise, journal.intents()]).toEqual([true, []]);
    for (const { acknowledge } of pending) acknowledge();
    await dispatched;
    expect(journal.intents()).toMatchObject([{ name: 'charge', state: 'dispatched' }]);
  });
});

describe('Journal on a log that answers in an order of its own', () => {
  it('knows an intent whose entry is acknowledged before the first one', async () => {
    const { slow, pending } = slowLog();
    const log = memoryEventLog();
    const journal = journalOn({
      ...slow,
      append: (event) => (event.kind === 'prepared' ? slow.append(event) : log.append(event)),
    });
    void journal.write('prepared', '', {});
    log.append({ ...NAMES, intent: '', kind: 'prepared', atWall: 0, body: {} });
    log.append({ ...NAMES, intent: '', kind: 'admitted', atWall: 0, body: {} });
    void journal.write('dispatched', 'charge', DISPATCHED);
    expect(journal.intents()).toMatchObject([{ name: 'charge', state: 'dispatched', atMs: 0 }]);
    pending[0]?.acknowledge();
    await settle();
    expect(journal.intents()).toHaveLength(1);
  });
});

describe('Journal with a body that is still being made', () => {
  function making() {
    let made: (body: object) => void = () => undefined;
    const body = new Promise<Record<string, unknown>>((resolve) => {
      made = (ready) => resolve({ ...ready });
    });
    return { body, made };
  }

  it('hands the entries after it to the log in their order, once it is made', async () => {
    const log = memoryEventLog();
    const journal = journalOn(log);
    const { body, made } = making();
    const kinds = async () => {
      const found: string[] = [];
      for await (const { kind } of log.read()) found.push(kind);
      return found;
    };
    const written = [
      journal.write('prepared', '', body),
      journal.write('admitted', '', {}),
      journal.write('dispatched', 'charge', DISPATCHED),
    ];
    await settle();
    expect(await kinds()).toEqual([]);
    expect(journal.intents()).toEqual([]);
    expect(journal.untilAcknowledged()).toBeInstanceOf(Promise);
    made({ tool: 'fake' });
    await Promise.all(written);
    expect(await kinds()).toEqual(['prepared', 'admitted', 'dispatched']);
    await settle();
    expect(journal.write('settled', 'charge', { state: 'applied' })).toBeUndefined();
    expect(journal.intents()).toMatchObject([{ state: 'applied' }]);
  });

  it('hands them over without waiting for what the log has yet to acknowledge', async () => {
    const { slow, pending } = slowLog();
    const journal = journalOn(slow);
    const { body, made } = making();
    void journal.write('prepared', '', body);
    void journal.write('admitted', '', {});
    made({});
    await settle();
    expect(pending).toHaveLength(2);
    for (const { acknowledge } of pending) acknowledge();
    await journal.untilAcknowledged();
  });

  it('tells of each entry by itself that the log refused it', async () => {
    const log = memoryEventLog();
    const journal = journalOn(log);
    const { body, made } = making();
    const notes: string[] = [];
    const first = journal.tryWrite('prepared', body, { note: (code) => notes.push(code) });
    const dispatched = journal.write('dispatched', 'charge', DISPATCHED);
    made({});
    expect(await first).toBe(true);
    await expect(dispatched).rejects.toThrow('not admitted');
    expect(notes).toEqual([]);
    expect(journal.intents()).toEqual([]);
  });
});
