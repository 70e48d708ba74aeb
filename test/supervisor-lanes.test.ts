/**
 * Lanes of one supervisor: what they share, and what a call that hangs keeps from those after it.
 *
 * Invariant: a fake clock, calls on the host's own loop. Deliberately absent: threads and processes (`isolate/fleets`).
 */
import { describe, expect, it } from 'vitest';
import type { Tool } from '../src/model/tool.ts';
import { inlineTool } from './authorize/hop-rig.ts';
import { requestRig } from './run/request-rig.ts';
import { settle } from './support/fake-clock.ts';
import { closeFake } from './support/fake-host.ts';

/** A tool that hangs until it is let go, and hears no stop. `onDisk`: as the file tools, it keeps a thread of the pool. */
function hanging(onDisk: boolean) {
  const ends: (() => void)[] = [];
  const plain = inlineTool(() => new Promise<void>((end) => ends.push(end)), 'none');
  const tool: Tool = Object.freeze({ ...plain, work: Object.freeze({ ...plain.work, occupiesPool: onDisk }) } as Tool);
  const letGo = async () => {
    for (const end of ends.splice(0)) end();
    await settle();
  };
  return { tool, ends, letGo };
}

describe('a queue of capacity 0', () => {
  it('refuses what a shared limit cannot hold, also before anything is held', async () => {
    const rig = await requestRig({}, { queue: { capacity: 0 }, limits: { inline: 1 } });
    const [net, disk] = [hanging(false), hanging(true)];
    const asked = [net.tool, disk.tool, net.tool].map((tool) => rig.run(tool));
    await Promise.all(asked);
    expect(rig.ended.map(({ error }) => error?.code)).toEqual(Array(2).fill('ERR_LEASEHOLD_QUEUE_FULL'));
    expect(rig.supervisor.statistics()).toMatchObject({ isolates: { leased: 1 }, queue: { depth: 0 } });
    await net.letGo();
    await rig.run(disk.tool);
    expect(rig.supervisor.statistics().isolates.leased).toBe(1);
    await disk.letGo();
    await closeFake(rig);
  });
});

describe('a file call that was given up', () => {
  const terms = { defaults: { runTimeoutMs: 50, graceMs: 10, killMs: 10 } };

  it('keeps its place until it ends: no more run at once than may', async () => {
    const rig = await requestRig({}, terms);
    const { tool, ends, letGo } = hanging(true);
    for (let call = 0; call < 5; call += 1) await rig.run(tool, null, { queueTimeoutMs: 100 });
    for (let step = 0; step < 30; step += 1) await rig.clock.advance(10);
    expect(ends).toHaveLength(2);
    expect(rig.ended.map(({ cause }) => cause?.kind)).toEqual([
      ...['run-timeout', 'run-timeout'],
      ...['queue-timeout', 'queue-timeout', 'queue-timeout'],
    ]);
    await letGo();
    await closeFake(rig);
  });

  it('shuts its lane when it was the last place, and no other, until it ends', async () => {
    const rig = await requestRig({}, terms);
    const { tool, letGo } = hanging(true);
    for (let call = 0; call < 2; call += 1) await rig.run(tool);
    for (let step = 0; step < 10; step += 1) await rig.clock.advance(10);
    expect(rig.supervisor.statistics()).toMatchObject({ state: 'open', isolates: { abandoned: 2 } });
    await rig.run(tool);
    await rig.run(inlineTool(async () => 'served', 'none'));
    expect(rig.ended.slice(2)).toMatchObject([
      { status: 'rejected', error: { code: 'ERR_LEASEHOLD_DEGRADED' } },
      { status: 'succeeded' },
    ]);
    await letGo();
    await rig.run(tool);
    expect(rig.supervisor.statistics().isolates).toMatchObject({ leased: 1, abandoned: 0 });
    await letGo();
    await closeFake(rig);
  });

  it('costs nothing of what the network may hold', async () => {
    const rig = await requestRig({}, { ...terms, limits: { inline: 1 } });
    const { tool, letGo } = hanging(true);
    await rig.run(tool);
    for (let step = 0; step < 10; step += 1) await rig.clock.advance(10);
    await rig.run(inlineTool(async () => 'served', 'none'));
    expect(rig.ended.map(({ status }) => status)).toEqual(['timed-out', 'succeeded']);
    await letGo();
    await closeFake(rig);
  });
});
