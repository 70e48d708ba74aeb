/** `Link` on real threads: a thread that dies ends the waits for it, whenever it dies. */
import type { SupervisorOptions } from 'leasehold';
import { afterEach, describe, expect, it } from 'vitest';
import type { Link as LinkClass } from '../../src/sync/link.ts';

const built = new URL('../../dist/src/sync/link.js', import.meta.url).href;
const { Link } = (await import(built)) as { Link: typeof LinkClass };
const AGES_MS = 50_000;

const opened: LinkClass[] = [];
const open = (options: object = { isolates: 1, standby: 0 }): LinkClass => {
  const link = new Link(options as SupervisorOptions);
  opened.push(link);
  return link;
};
afterEach(() => {
  for (const link of opened.splice(0)) {
    if (link.isAlive) link.post({ t: 'close', withinMs: 1_000 });
    link.receive((message) => message.t === 'closed' || null, AGES_MS);
    link.giveUp();
  }
});

describe('Link', () => {
  it('boots once, and hears its thread answer', () => {
    const link = open();
    expect([link.isReadyWithin(AGES_MS), link.isReadyWithin(0)]).toEqual([true, true]);
    link.post({ t: 'close', withinMs: 1_000 });
    expect(link.receive((message) => (message.t === 'closed' ? message.report : null), AGES_MS)).toMatchObject({
      abandoned: [],
    });
  });

  it('whose thread dies at boot, is not ready, and says so at once', () => {
    const link = open({ isolates: 'many' });
    expect(link.isReadyWithin(AGES_MS)).toBe(false);
    expect(link.isAlive).toBe(false);
  });

  it('whose thread dies while its caller waits, wakes the caller', () => {
    const link = open();
    expect(link.isReadyWithin(AGES_MS)).toBe(true);
    link.post(null as never);
    expect(link.receive(() => true, AGES_MS)).toBeNull();
    expect(link.isAlive).toBe(false);
  });

  it('reads what was posted before the end', () => {
    const link = open();
    link.post({ t: 'close', withinMs: 1_000 });
    link.post(null as never);
    const types: string[] = [];
    const note = (type: string) => void types.push(type);
    link.receive((message) => note(message.t) ?? null, AGES_MS);
    expect(types[0]).toBe('ready');
    expect(link.isAlive).toBe(false);
  });

  it('whose thread says nothing, waits for its bound', () => {
    const link = open();
    expect(link.isReadyWithin(AGES_MS)).toBe(true);
    expect(link.receive(() => true, 20)).toBeNull();
    expect(link.isAlive).toBe(true);
  });
});
