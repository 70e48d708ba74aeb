/** The log in memory: the contract of all logs, that it is done at once, and what it forgets. */
import { describe, expect, it } from 'vitest';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { all, code, event, eventLogContract } from './event-log-contract.ts';

describe('memoryEventLog', () => {
  eventLogContract(async () => memoryEventLog());

  it('promises no durability', () => {
    expect(memoryEventLog().durability).toBe('none');
  });

  it('records at once, and throws at once', () => {
    const log = memoryEventLog();
    expect(log.append(event('admitted'))).toMatchObject({ seq: 1 });
    expect(() => log.append(event('admitted'))).toThrow(code('LOG_ORDER'));
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
