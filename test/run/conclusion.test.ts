/** Conclusion: when a result says that it is recorded, and that no log holds it back. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { heldLog } from '../support/held-log.ts';
import { requestRig } from './request-rig.ts';

const strict = defineTool({ name: 'strict', module: 'file:///fake/tool.mjs', input: z.number(), effects: 'none' });

describe('the durability of a result', () => {
  it('is that of the log once the log took the end', async () => {
    const log = heldLog([], 'synced');
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog });
    await rig.run(fakeTool(), 'value');
    await rig.run(fakeTool(), 'throw');
    expect(rig.ended.map(({ durability }) => durability)).toEqual(['synced', 'synced']);
    await closeFake(rig);
  });

  it.each(['invalid input', 'a full queue', 'a closed supervisor'])(
    'is none where nothing was written: %s',
    async (why) => {
      const log = heldLog([], 'synced');
      const rig = await requestRig(obedientFar, { eventLog: log.eventLog, queue: { capacity: 0 } });
      if (why === 'a closed supervisor') await closeFake(rig);
      if (why === 'a full queue') await rig.run(fakeTool());
      const before = (await log.entries()).length;
      await rig.run(strict, why === 'invalid input' ? 'text' : 7);
      expect(rig.ended).toMatchObject([{ status: 'rejected', durability: 'none' }]);
      expect(await log.entries()).toHaveLength(before);
      await closeFake(rig);
    },
  );

  it('is none when the log does not acknowledge the end within sweepMs, and says so', async () => {
    const log = heldLog(['closed'], 'synced');
    const rig = await requestRig(obedientFar, { eventLog: log.eventLog, defaults: { sweepMs: 100 } });
    await rig.run(fakeTool(), 'value');
    await rig.clock.advance(99);
    expect(rig.ended).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([
      { status: 'succeeded', durability: 'none', diagnostics: [{ code: 'LOG_FAILED' }], timing: { totalMs: 100 } },
    ]);
    expect(rig.events.filter(({ type }) => type === 'request.ended')).toHaveLength(1);
    log.release();
    await closeFake(rig);
    expect(rig.ended).toHaveLength(1);
  });
});
