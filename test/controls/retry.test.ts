/**
 * Retries: further attempts of one request, on fake threads and a fake clock.
 *
 * Invariant: how an attempt ends is the word for its number in the input. Deliberately absent: which ends may be followed
 * (`decide/retry.test.ts`), and real effects (`promises/`).
 */
import { describe, expect, it } from 'vitest';
import type { RetryOptions } from '../../src/model/control-shapes.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import type { RunResult } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { inlineTool } from '../authorize/hop-rig.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';
import { heldLog } from '../support/held-log.ts';

/** Ends each attempt by the word of its number; the last word holds for all further ones. */
const byWords: Far = {
  run(tenure, { input, ctx }) {
    const words = input as string[];
    const word = words[ctx.attempt - 1] ?? words.at(-1);
    if (word === 'exit') tenure.die({ code: 3, error: null });
    if (word === 'value') tenure.value('done');
    if (word === 'throw') tenure.failure();
  },
};
const steady = (attempts: number, initialMs = 100): RetryOptions => ({
  attempts,
  backoff: { initialMs, jitter: 'none' },
});
const attemptsOf = ({ request }: RunResult) => request.attempts.map(({ number, status }) => `${number} ${status}`);

describe('a retry', () => {
  it('follows a crash after its backoff, as an attempt of its own', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool(), ['exit', 'exit', 'value'], { retry: steady(3) });
    await rig.clock.advance(99);
    expect(rig.runs()).toBe(1);
    await rig.clock.advance(1);
    expect(rig.runs()).toBe(2);
    await rig.clock.advance(200);
    const [result] = rig.ended as [RunResult];
    expect(attemptsOf(result)).toEqual(['1 failed', '2 failed', '3 succeeded']);
    expect(result).toMatchObject({ status: 'succeeded', value: 'done', timing: { totalMs: 300, queuedMs: 0 } });
    expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
    const leases = result.request.attempts.map(({ lease }) => lease?.id);
    expect(new Set(leases).size).toBe(3);
    expect(result.lease?.id).toBe(leases[2]);
    await closeFake(rig);
    expect(rig.clock.pending).toBe(0);
  });

  it('is told by one start, one end, and an end of each attempt', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool(), ['exit', 'value'], { retry: steady(2) });
    await rig.clock.advance(100);
    const types = rig.events.map(({ type }) => type).filter((type) => /^(request|attempt)/.test(type));
    expect(types).toEqual(['request.started', 'attempt.ended', 'attempt.ended', 'request.ended']);
    expect(rig.events.filter(({ type }) => type === 'lease.queued')).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    await closeFake(rig);
  });

  it('writes each attempt into the log, whole', async () => {
    const log = heldLog([]);
    const rig = await requestRig(byWords, { standby: 1, eventLog: log.eventLog });
    await rig.run(fakeTool(), ['exit', 'value'], { retry: steady(2) });
    await rig.clock.advance(100);
    expect((await log.entries()).map(({ attempt, kind }) => `${attempt} ${kind}`)).toEqual(
      [1, 2].flatMap((attempt) => ['prepared', 'admitted', 'closed'].map((kind) => `${attempt} ${kind}`)),
    );
    await closeFake(rig);
  });

  it('ends with the last failure when no try is left', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool(), ['exit'], { retry: steady(2) });
    await rig.clock.advance(1_000);
    expect(rig.ended).toMatchObject([{ status: 'failed', error: { code: 'ERR_LEASEHOLD_ISOLATE_EXITED' } }]);
    expect(attemptsOf(rig.ended[0] as RunResult)).toEqual(['1 failed', '2 failed']);
    await closeFake(rig);
  });

  it('does not follow an error of the tool, unless the application says so', async () => {
    const rig = await requestRig(byWords);
    await rig.run(fakeTool(), ['throw', 'value'], { retry: steady(3) });
    expect(attemptsOf(rig.ended[0] as RunResult)).toEqual(['1 failed']);
    const ends: unknown[] = [];
    const when: RetryOptions['when'] = (end) => {
      ends.push(end);
      return end.error.message === 'the tool failed';
    };
    await rig.run(fakeTool(), ['throw', 'value'], { retry: { ...steady(3), when } });
    await rig.clock.advance(100);
    expect(attemptsOf(rig.ended[1] as RunResult)).toEqual(['1 failed', '2 succeeded']);
    expect(ends).toMatchObject([{ attempt: 1, status: 'failed', retrySafe: false, error: { name: 'Error' } }]);
    expect(Object.isFrozen(ends[0])).toBe(true);
    await closeFake(rig);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
    ],
    ['answers later', () => Promise.resolve(true) as never],
  ])('ends when the application %s, and says so', async (_, when) => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool(), ['exit'], { retry: { ...steady(3), when } });
    expect(rig.ended).toMatchObject([{ status: 'failed', diagnostics: [{ code: 'RETRY_ENDED' }] }]);
    await rig.clock.advance(1_000);
    expect(rig.runs()).toBe(1);
    await closeFake(rig);
  });

  it('draws its jitter from the chance it is given', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    const backoff = { initialMs: 100, jitter: 0.5, random: () => 0.5 };
    await rig.run(fakeTool(), ['exit', 'value'], { retry: { attempts: 2, backoff } });
    await rig.clock.advance(74);
    expect(rig.runs()).toBe(1);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', timing: { totalMs: 75 } }]);
    await closeFake(rig);
  });

  it('is the rule of the supervisor where a request has none', async () => {
    const rig = await requestRig(byWords, { standby: 1, retry: steady(2) });
    await rig.run(fakeTool(), ['exit', 'value']);
    await rig.run(fakeTool(), ['exit', 'value'], { retry: { attempts: 1 } });
    await rig.clock.advance(1_000);
    expect(rig.ended.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded']);
    await closeFake(rig);
  });

  it('waits in line behind those that came meanwhile, with a queue timeout of its own', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool(), ['exit', 'value'], { retry: steady(2), queueTimeoutMs: 150 });
    await rig.run(fakeTool(), ['hang'], { runTimeoutMs: 10_000 });
    await rig.clock.advance(100);
    expect(rig.supervisor.statistics().queue).toEqual({ depth: 1, oldestMs: 0 });
    await rig.clock.advance(149);
    expect(rig.ended).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([
      { status: 'timed-out', error: { code: 'ERR_LEASEHOLD_QUEUE_TIMEOUT' }, timing: { queuedMs: 150, totalMs: 250 } },
    ]);
    expect(rig.ended[0]?.error?.cause?.code).toBe('ERR_LEASEHOLD_ISOLATE_EXITED');
    await closeFake(rig);
  });

  it('holds its place in the queue while it waits, whatever the capacity', async () => {
    const rig = await requestRig(byWords, { queue: { capacity: 0 } });
    await rig.run(fakeTool(), ['exit', 'value'], { retry: steady(2) });
    expect(rig.supervisor.statistics().queue.depth).toBe(1);
    await rig.clock.advance(100);
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    expect(rig.supervisor.statistics().queue.depth).toBe(0);
    await closeFake(rig);
  });

  it('asks the authorizer and tells onPrepared once for all attempts', async () => {
    const asked: string[] = [];
    const authorize = ({ kind }: { kind: string }) => {
      asked.push(kind);
      return { allow: true } as const;
    };
    const told: string[] = [];
    const onPrepared: RunOptions['onPrepared'] = (_, { tool }) => void told.push(tool);
    const rig = await requestRig(byWords, { standby: 1, authorize });
    await rig.run(fakeTool(), ['exit', 'exit', 'value'], { retry: steady(3), onPrepared });
    await rig.clock.advance(1_000);
    expect(attemptsOf(rig.ended[0] as RunResult)).toHaveLength(3);
    expect([asked, told]).toEqual([['run'], ['fake']]);
    await closeFake(rig);
  });

  it('keeps the keys of intents, and lists the intents of every attempt', async () => {
    const keys: string[] = [];
    const tool = inlineTool(async (context) => {
      await context.perform({ name: 'charge' }, async (key) => void keys.push(key));
      if (keys.length === 1) throw new Error('the line broke');
      return 'done';
    });
    const rig = await requestRig();
    await rig.run(tool, 'order', { retry: { ...steady(2), when: () => true } });
    await rig.clock.advance(100);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    expect(rig.ended[0]).toMatchObject({
      status: 'succeeded',
      intents: [
        { name: 'charge', key: keys[0], state: 'applied', atMs: 0 },
        { name: 'charge', key: keys[0], state: 'applied', atMs: 100 },
      ],
    });
    await closeFake(rig);
  });

  it('never follows an opaque body that may have happened', async () => {
    const rig = await requestRig(byWords, { standby: 1 });
    await rig.run(fakeTool('opaque'), ['exit', 'value'], { retry: { ...steady(3), when: () => true } });
    expect(rig.ended).toMatchObject([{ status: 'indeterminate', intents: [{ state: 'dispatched' }] }]);
    await closeFake(rig);
  });

  it('never follows buffers that were moved away', async () => {
    const rig = await requestRig({ run: (tenure) => tenure.die({ code: 3, error: null }) }, { standby: 1 });
    const buffer = new ArrayBuffer(4);
    await rig.run(fakeTool(), { buffer }, { transfer: [buffer], retry: steady(3) });
    expect(attemptsOf(rig.ended[0] as RunResult)).toEqual(['1 failed']);
    await closeFake(rig);
  });

  it('runs on the input as it was', async () => {
    const seen: unknown[] = [];
    const rig = await requestRig(
      {
        run(tenure, { input, ctx }) {
          seen.push(structuredClone(input));
          if (ctx.attempt === 1) tenure.die({ code: 3, error: null });
          else tenure.value('done');
        },
      },
      { standby: 1 },
    );
    const input = { page: 1 };
    await rig.run(fakeTool(), input, { retry: steady(2) });
    input.page = 2;
    await rig.clock.advance(100);
    expect(seen).toEqual([{ page: 1 }, { page: 1 }]);
    await closeFake(rig);
  });

  it('sums the times of its attempts, and has the backoff in the total alone', async () => {
    const rig = await requestRig({}, { standby: 1 });
    await rig.run(fakeTool(), 'x', { retry: steady(2) });
    await rig.clock.advance(30);
    rig.leased().die({ code: 3, error: null });
    await settle();
    await rig.clock.advance(100 + 20);
    rig.leased().value('done');
    await settle();
    const [result] = rig.ended as [RunResult];
    expect(result.timing).toMatchObject({ runningMs: 50, queuedMs: 0, totalMs: 150 });
    expect(result.request.attempts.map(({ timing }) => [timing.runningMs, timing.totalMs])).toEqual([
      [30, 30],
      [20, 20],
    ]);
    const [first, second] = result.request.attempts.map(({ timing }) => Date.parse(timing.startedAt));
    expect([(second as number) - (first as number), result.timing.startedAt]).toEqual([
      130,
      result.request.attempts[0]?.timing.startedAt,
    ]);
    await closeFake(rig);
  });

  it('keeps the diagnostics of earlier attempts, and the logs of the last', async () => {
    const rig = await requestRig(
      {
        run(tenure, { seq, ctx }) {
          tenure.emit({
            t: 'log',
            seq,
            level: 'info',
            message: `attempt ${ctx.attempt}`,
            fields: null,
            dropped: 0,
            credit: 0,
          });
          if (ctx.attempt === 1) tenure.die({ code: 3, error: null });
          else tenure.value('done');
        },
      },
      { standby: 1 },
    );
    let heard = 0;
    const broken = {
      onEvent: () => {
        heard += 1;
        throw new Error('deaf');
      },
    };
    await rig.run(fakeTool(), 'x', { retry: steady(2), observers: [broken] });
    await rig.clock.advance(100);
    expect(rig.ended[0]?.diagnostics).toMatchObject([{ code: 'OBSERVER_THREW' }]);
    expect(rig.ended[0]?.logs.map(({ message }) => message)).toEqual(['attempt 2']);
    expect(heard).toBe(1);
    await closeFake(rig);
  });
});
