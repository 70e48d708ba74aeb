/** A disk that fills up under a supervisor: effects are refused, nothing happens unrecorded, and it heals with its log. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSupervisor, defineTool, type RunResult } from 'leasehold';
import { sqliteEventLog } from 'leasehold/sqlite';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { all } from '../record/event-log-contract.ts';
import { DRIVERS, logFile } from '../sqlite/sqlite-rig.ts';
import { fullDisk } from '../support/tmpfs-disk.ts';

describe.each(DRIVERS)('a full disk under a log on $name', (driver) => {
  it('lets no effect go unrecorded, degrades, and heals when there is room', async () => {
    const disk = fullDisk(640);
    // The effects are kept elsewhere: that disk has room.
    const file = join(logFile(), '..', 'effects');
    const module = new URL('../fixtures/tools/durable.mjs', import.meta.url);
    const lines = defineTool({ name: 'lines', module, exportName: 'lines', input: z.unknown(), effects: 'declared' });
    const eventLog = await sqliteEventLog({ file: join(disk.path, 'runs.db'), driver: driver.name });
    const changes: string[] = [];
    const observers = [
      { onEvent: ({ type }: { type: string }) => void (/^supervisor/.test(type) && changes.push(type)) },
    ];
    const supervisor = createSupervisor({ isolates: 2, standby: 0, eventLog, observers });
    await supervisor.untilReady();
    const input = { file, count: 2, before: 0, after: 0, text: 'x'.repeat(1_500) };
    const ended: RunResult[] = [];
    const batch = async () => {
      const results = await Promise.all(Array.from({ length: 8 }, () => supervisor.runTool(lines, input)));
      ended.push(...results);
    };
    const go = join(file, '..', 'go');
    const later = defineTool({
      ...{ name: 'later', module, exportName: 'lineOnceTold' },
      input: z.unknown(),
      effects: 'declared',
    });
    let held: Promise<RunResult> | null = null;
    await new Promise<void>((resolve) => {
      held = supervisor.runTool(later, { file, go }, { onProgress: () => resolve() });
    });
    while (!changes.includes('supervisor.degraded')) await batch();
    writeFileSync(go, '');
    const refused = await (held as unknown as Promise<RunResult>);
    expect(refused).toMatchObject({ status: 'failed', durability: 'none' });
    expect(refused.error?.message).toMatch(/not let go: it could not be recorded/);
    ended.push(refused);
    expect(supervisor.statistics().state).toBe('degraded');
    await batch();
    expect(ended.at(-1)).toMatchObject({ status: 'rejected', error: { code: 'ERR_LEASEHOLD_DEGRADED' } });

    disk.grow();
    while (!changes.includes('supervisor.healed')) await new Promise<void>((resume) => setImmediate(resume));
    await batch();
    expect(ended.at(-1)).toMatchObject({ status: 'succeeded', durability: 'synced' });
    await supervisor.close();

    const events = await all(eventLog.read());
    await eventLog.close();
    const granted = new Set(
      events.filter(({ kind }) => kind === 'dispatched').map(({ requestId, intent }) => `${requestId} ${intent}`),
    );
    const happened = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(happened.filter((line) => !granted.has(line))).toEqual([]);
    const closed = new Map(events.filter(({ kind }) => kind === 'closed').map((e) => [e.requestId, e.body['status']]));
    for (const { status, durability, request } of ended) {
      if (durability === 'synced') expect(closed.get(request.id)).toBe(status);
    }
  });
});
