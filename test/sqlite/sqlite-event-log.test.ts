/** The log in a file: the contract of all logs, commits by turn, what it survives, and what its readers see. */
import { describe, expect, it } from 'vitest';
import type { NewLogEvent } from '../../src/model/stores.ts';
import { all, code, event, eventLogContract } from '../record/event-log-contract.ts';
import { DRIVERS, logFile, opened } from './sqlite-rig.ts';

const pair = (requestId: string): NewLogEvent[] => [
  event('prepared', { requestId }),
  event('admitted', { requestId, body: { text: 'ä€😀\u0000' } }),
];

describe.each(DRIVERS)('sqliteEventLog on $name', (driver) => {
  eventLogContract(async () => (await opened(driver)).log);

  it('promises what is synced', async () => {
    expect((await opened(driver)).log).toMatchObject({ durability: 'synced', health: 'writable' });
  });

  it('commits the appends of a turn together, also when one is refused', async () => {
    const { log, database } = await opened(driver);
    const frames = () => Number(database.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.['log']);
    const before = frames();
    const first = [...pair('a'), event('closed', { requestId: 'a' })];
    const settled = await Promise.allSettled(
      [...first, event('admitted', { requestId: 'a' })].map((e) => log.append(e)),
    );
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    const together = frames() - before;
    for (const next of [...pair('b'), event('closed', { requestId: 'b' })]) await log.append(next);
    // Each commit writes its pages anew.
    expect(frames() - before - together).toBeGreaterThan(together);
  });

  it('acknowledges no sooner than at the end of the turn, in order', async () => {
    const { log } = await opened(driver);
    const told: string[] = [];
    const written = pair('a').map((next) => log.append(next).then(({ kind }) => told.push(kind)));
    await Promise.resolve();
    told.push('turn');
    await Promise.all(written);
    expect(told).toEqual(['turn', 'prepared', 'admitted']);
  });

  it('takes more in one turn than fits in one commit', async () => {
    const { log } = await opened(driver);
    const many = Array.from({ length: 300 }, (_, n) => pair(`req-${n}`)).flat();
    const logged = await Promise.all(many.map((next) => log.append(next)));
    expect(logged.map(({ seq }) => seq)).toEqual(many.map((_, n) => n + 1));
    expect(await all(log.read())).toEqual(logged);
    expect((await all(log.read({ after: 590, limit: 1_000 }))).map(({ seq }) => seq)).toHaveLength(10);
  });

  it('records what an entry was when it was appended', async () => {
    const { log } = await opened(driver);
    const body: Record<string, unknown> = { text: 'before' };
    const next = { ...event('admitted'), body };
    const written = log.append(next);
    body['text'] = 'after';
    next.kind = 'closed';
    await written;
    expect(await all(log.read())).toMatchObject([{ kind: 'admitted', body: { text: 'before' } }]);
  });

  it('reads the same after it was opened anew, under the next epoch', async () => {
    const file = logFile();
    const first = await opened(driver, file);
    await Promise.all(
      [...pair('a'), event('closed', { requestId: 'a' }), ...pair('b')].map((e) => first.log.append(e)),
    );
    const before = await all(first.log.read());
    await first.log.close();
    const { log } = await opened(driver, file);
    expect(await all(log.read())).toEqual(before);
    expect(await log.append(event('closed', { requestId: 'b' }))).toMatchObject({ seq: 6, ord: 2, epoch: 2 });
    await expect(log.append(event('admitted', { requestId: 'b' }))).rejects.toThrow('the attempt is closed');
    await expect(log.append(event('prepared', { requestId: 'a' }))).rejects.toThrow(code('LOG_ORDER'));
    expect(await log.append(event('late', { requestId: 'a' }))).toMatchObject({ seq: 7, ord: 3 });
  });

  it('refuses a body that is too large or not plain, alone', async () => {
    const { log } = await opened(driver);
    const bodies = [{ text: 'x'.repeat(4_096) }, { n: 1n }, [], null, undefined] as unknown as NewLogEvent['body'][];
    const written = bodies.map((body, n) => log.append(event('prepared', { requestId: `r-${n}`, body })));
    const good = log.append(event('prepared', { body: { text: 'x'.repeat(4_085) } }));
    for (const refused of written) await expect(refused).rejects.toThrow(code('LOG_ENTRY'));
    await expect(log.append(event('prepared', { run: {} as string, requestId: 'z' }))).rejects.toThrow(
      code('LOG_ENTRY'),
    );
    expect(await good).toMatchObject({ seq: 1 });
    expect(log.health).toBe('writable');
  });

  it('closes after what waits, and takes nothing more', async () => {
    const { log } = await opened(driver);
    const heard: string[] = [];
    log.onHealth((health) => heard.push(health));
    const written = pair('a').map((next) => log.append(next));
    await log.close();
    await log.close();
    expect(await Promise.all(written)).toHaveLength(2);
    expect(heard).toEqual(['closed']);
    await expect(log.append(event('prepared'))).rejects.toThrow('The event log is closed.');
    await expect(all(log.read())).rejects.toThrow(code('LOG_WRITE_FAILED'));
  });

  it('a writer whose epoch is over records nothing, and does not heal', async () => {
    const { log, database, clock } = await opened(driver);
    await log.append(event('prepared'));
    database.exec('UPDATE writer SET epoch = epoch + 1');
    const written = [event('admitted'), event('prepared', { requestId: 'x' })].map((next) => log.append(next));
    for (const refused of written) await expect(refused).rejects.toThrow(code('LOG_LOCKED'));
    expect([log.health, clock.pending]).toEqual(['failed', 0]);
    await expect(log.append(event('admitted'))).rejects.toThrow('Another writer took the event log over.');
    expect(await all(log.read())).toHaveLength(1);
  });

  it('a failed write rejects the turn and all that follows, until a probe heals it', async () => {
    const { log, database, clock } = await opened(driver);
    const heard: string[] = [];
    const unlisten = log.onHealth((health) => heard.push(health));
    await Promise.all(pair('a').map((next) => log.append(next)));
    database.exec('PRAGMA query_only = ON');
    const turn = [event('closed', { requestId: 'a' }), ...pair('b')].map((next) => log.append(next));
    for (const refused of turn) await expect(refused).rejects.toThrow(code('LOG_WRITE_FAILED'));
    expect([log.health, heard]).toEqual(['failed', ['failed']]);
    await expect(log.append(event('closed', { requestId: 'a' }))).rejects.toThrow(code('LOG_WRITE_FAILED'));
    await clock.advance(3_000);
    expect(log.health).toBe('failed');
    database.exec('PRAGMA query_only = OFF');
    await clock.advance(1_000);
    expect([log.health, heard, clock.pending]).toEqual(['writable', ['failed', 'writable'], 0]);
    expect(await log.append(event('closed', { requestId: 'a' }))).toMatchObject({ seq: 3, ord: 2 });
    expect(await Promise.all(pair('b').map((next) => log.append(next)))).toMatchObject([{ seq: 4 }, { seq: 5 }]);
    unlisten();
    await log.close();
    expect(heard).toHaveLength(2);
  });

  it('closed by who hears of its failure, sets no timer', async () => {
    const { log, database, clock } = await opened(driver);
    log.onHealth((health) => health === 'failed' && void log.close());
    database.exec('PRAGMA query_only = ON');
    await expect(log.append(event('prepared'))).rejects.toThrow(code('LOG_WRITE_FAILED'));
    expect([log.health, clock.pending]).toEqual(['closed', 0]);
  });

  it('keeps the write-ahead log short by checkpoints of its own', async () => {
    const { log, database } = await opened(driver);
    for (let n = 0; n < 60; n += 1) {
      const many = Array.from({ length: 20 }, (_, m) => event('prepared', { requestId: `${n}-${m}`, body: { n } }));
      await Promise.all(many.map((next) => log.append(next)));
    }
    await new Promise<void>((resume) => setImmediate(resume));
    const { log: pages, checkpointed } = database.prepare('PRAGMA wal_checkpoint(NOOP)').get() ?? {};
    expect(Number(pages) - Number(checkpointed)).toBeLessThan(600);
    expect(Number(pages)).toBeLessThan(1_000);
  });

  it('pages do not hold the loop', async () => {
    const { log } = await opened(driver);
    const many = Array.from({ length: 600 }, (_, n) => pair(`req-${n}`)).flat();
    await Promise.all(many.map((next) => log.append(next)));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    expect(await all(log.read())).toHaveLength(1_200);
    clearImmediate(immediate);
    expect(turns).toBeGreaterThanOrEqual(4);
  });
});
