/**
 * Promise: two supervisors in one process share nothing: no thread, no queue, no count, no end.
 *
 * Invariant: one of them is driven into the ground while the other is watched. Deliberately absent: two copies of the
 * package (`test/package/`).
 */
import { createSupervisor, defineTool, type Event } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, tell, untilChanged } from '../support/fault-adapter.ts';

const tool = (file: string, exportName = 'default') =>
  defineTool({ name: 'tool', module: fixture(file), exportName, input: z.unknown(), effects: 'none' });

describe('two supervisors', () => {
  it('share no isolate, no module state, no event and no count', async () => {
    const heard: Record<'left' | 'right', Event[]> = { left: [], right: [] };
    const open = (side: 'left' | 'right') =>
      createSupervisor({ isolates: 1, standby: 0, observers: [{ onEvent: (event) => heard[side].push(event) }] });
    const left = open('left');
    const right = open('right');
    const first = await left.runTool(tool('count.mjs'), null);
    const second = await right.runTool(tool('count.mjs'), null);
    expect(first.value).toMatchObject({ seen: 1 });
    expect(second.value).toMatchObject({ seen: 1 });
    expect(first.lease?.isolate?.id).not.toBe(second.lease?.isolate?.id);
    await left.runTool(tool('exit.mjs', 'exitThree'), null);
    expect(right.statistics()).toMatchObject({ replacements: 0, requests: { succeeded: 1, failed: 0 } });
    const seqs = heard.right.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    await Promise.all([left.close(), right.close()]);
  });

  it('end apart', async () => {
    const left = createSupervisor({ isolates: 1, standby: 0 });
    const right = createSupervisor({ isolates: 1, standby: 0 });
    const words = sharedWords();
    const running = right.runTool(tool('echo.mjs', 'meet'), { words });
    await untilChanged(words, 0);
    await left.close({ withinMs: 1 });
    expect((await left.runTool(tool('echo.mjs'), 1)).status).toBe('rejected');
    tell(words, 1);
    expect((await running).status).toBe('succeeded');
    expect((await right.runTool(tool('echo.mjs'), 1)).status).toBe('succeeded');
    await right.close();
  });
});
