/**
 * Between two attempts: a backoff, or a repair at work, and what comes meanwhile.
 *
 * Invariant: time and threads are fake; whoever waits is let go at the instant of the stop. Deliberately absent: what may follow
 * (`decide/retry.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { RunResult } from '../../src/model/result.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';
import { heldLog } from '../support/held-log.ts';

const crash: Far = { run: (tenure) => tenure.die({ code: 3, error: null }) };
const retry = { attempts: 3, backoff: { initialMs: 100, jitter: 'none' } } as const;
const strict = defineTool({
  name: 'strict',
  module: 'file:///fake/tool.mjs',
  input: z.unknown(),
  output: z.number(),
  effects: 'none',
});
const asText: Far = { run: (tenure) => tenure.value('text') };

/** Everything that can make a request wait between two attempts. */
const WAITS: readonly [string, Far, ReturnType<typeof fakeTool>, RunOptions][] = [
  ['a backoff', crash, fakeTool(), { retry }],
  ['a repair', asText, strict, { repair: { with: () => new Promise(() => {}), withinMs: 10_000 } }],
];

describe.each(WAITS)('during %s', (_, far, tool, options) => {
  const begin = async (more: RunOptions = {}, within?: { deadlineMs: number }) => {
    const rig = await requestRig(far, { standby: 1, defaults: { graceMs: 50, killMs: 50 } });
    const scope = within === undefined ? undefined : rig.supervisor.openScope(within);
    await rig.run(tool, 'x', { ...options, ...more }, scope);
    expect(rig.ended).toEqual([]);
    expect(rig.runs()).toBe(1);
    return { ...rig, scope };
  };
  const ends = (rig: { ended: RunResult[] }) => rig.ended[0] as RunResult;

  it('a cancel ends the request at once', async () => {
    const controller = new AbortController();
    const rig = await begin({ signal: controller.signal });
    await rig.clock.advance(30);
    controller.abort(new Error('enough'));
    await settle();
    expect(ends(rig)).toMatchObject({
      status: 'cancelled',
      cause: { kind: 'cancel', atMs: 30, state: 'queued', reason: 'enough' },
      timing: { totalMs: 30 },
      lease: { isolate: null, path: ['queued', 'completed'] },
    });
    expect(ends(rig).request.attempts.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
    expect(ends(rig).error?.cause?.code).toBe(
      tool === strict ? 'ERR_LEASEHOLD_INVALID_OUTPUT' : 'ERR_LEASEHOLD_ISOLATE_EXITED',
    );
    expect(rig.runs()).toBe(1);
    expect(rig.supervisor.statistics().queue.depth).toBe(0);
    await closeFake(rig);
    expect(rig.clock.pending).toBe(0);
  });

  it('the operation deadline ends it, by its own mark', async () => {
    const rig = await begin({ operationTimeoutMs: 60 });
    await rig.clock.advance(59);
    expect(rig.ended).toEqual([]);
    await rig.clock.advance(1);
    expect(ends(rig)).toMatchObject({
      status: 'timed-out',
      error: { code: 'ERR_LEASEHOLD_OPERATION_TIMEOUT' },
      cause: { kind: 'operation-timeout', atMs: 60 },
      also: [],
    });
    await closeFake(rig);
  });

  it('the deadline of the scope ends it, and not the operation', async () => {
    const rig = await begin({ operationTimeoutMs: 60 }, { deadlineMs: 60 });
    await rig.clock.advance(60);
    expect(ends(rig).cause).toMatchObject({ kind: 'parent-deadline', atMs: 60, scope: rig.scope?.id });
    await closeFake(rig);
  });

  it('a close interrupts it as one that waits', async () => {
    const rig = await begin();
    const closing = rig.supervisor.close({ withinMs: 60_000 });
    await settle();
    expect(ends(rig)).toMatchObject({ status: 'interrupted', cause: { kind: 'shutdown', atMs: 0 } });
    await rig.clock.advance(1_000);
    expect((await closing).interrupted).toBe(1);
    expect(rig.clock.pending).toBe(0);
  });

  it('the end of its scope cancels it, and waits for it', async () => {
    const rig = await begin({}, { deadlineMs: 5_000 });
    const report = await rig.scope?.shutdown();
    expect(report?.aborted).toMatchObject([{ name: tool.name }]);
    expect(ends(rig).status).toBe('cancelled');
    await closeFake(rig);
  });
});

describe('an observer that stops the request', () => {
  it('when an attempt has ended, ends the backoff before it begins', async () => {
    const controller = new AbortController();
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'attempt.ended') controller.abort(new Error('seen enough'));
    };
    const rig = await requestRig(crash, { standby: 1 });
    await rig.run(fakeTool(), 'x', { retry, signal: controller.signal, observers: [{ onEvent }] });
    expect(rig.ended).toMatchObject([{ status: 'cancelled' }]);
    expect(rig.runs()).toBe(1);
    await closeFake(rig);
  });
});

describe('an observer that breaks between two attempts', () => {
  it.each([
    ['another follows', crash, ['attempt.ended']],
    ['none follows', { run: (tenure) => tenure.failure() } satisfies Far, ['lease.queued']],
  ] as [string, Far, string[]][])('is told in the result, where %s', async (_, far, breaksAt) => {
    const rig = await requestRig(far, { standby: 1 });
    const onEvent = ({ type }: { type: string }) => {
      if (breaksAt.includes(type)) throw new Error(`deaf at ${type}`);
    };
    await rig.run(fakeTool(), 'x', { retry, observers: [{ onEvent }] });
    await rig.clock.advance(1_000);
    expect(rig.ended[0]?.diagnostics).toMatchObject([
      { code: 'OBSERVER_THREW', message: expect.stringContaining('deaf at') },
    ]);
    await closeFake(rig);
  });
});

describe('a cancel while the log takes the end of an attempt', () => {
  it('lets nobody be asked for a repair, and ends the request', async () => {
    const log = heldLog(['closed']);
    const rig = await requestRig(asText, { eventLog: log.eventLog });
    const controller = new AbortController();
    let asked = 0;
    const repair = () => {
      asked += 1;
      return 'again';
    };
    await rig.run(strict, 'x', { repair, signal: controller.signal });
    controller.abort(new Error('enough'));
    for (let ends = 0; ends < 2; ends += 1) {
      log.release();
      await settle();
    }
    expect(rig.ended).toMatchObject([{ status: 'cancelled', request: { attempts: [{ status: 'failed' }, {}] } }]);
    expect(asked).toBe(0);
    await closeFake(rig);
  });

  it('comes too late where none would follow, and is counted', async () => {
    const log = heldLog(['closed']);
    const rig = await requestRig({ run: (tenure) => tenure.failure() }, { eventLog: log.eventLog });
    const controller = new AbortController();
    await rig.run(fakeTool(), 'x', { retry, signal: controller.signal });
    controller.abort(new Error('enough'));
    log.release();
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'failed', also: [], dropped: { lateEvents: 1 } }]);
    await closeFake(rig);
  });
});

describe('a supervisor that closes', () => {
  it('lets no attempt follow one that it let finish', async () => {
    const rig = await requestRig({}, { standby: 1, defaults: { graceMs: 50, killMs: 50 } });
    await rig.run(fakeTool(), 'x', { retry });
    const closing = rig.supervisor.close({ withinMs: 10_000 });
    await settle();
    rig.leased().die({ code: 3, error: null });
    await rig.clock.advance(10_000);
    await closing;
    expect(rig.ended).toMatchObject([
      {
        status: 'failed',
        request: { attempts: [{ number: 1 }] },
        diagnostics: [{ code: 'NO_FURTHER_ATTEMPT', message: expect.stringContaining('CLOSED') }],
      },
    ]);
  });
});
