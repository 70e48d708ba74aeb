/** A request and its authorizer: when it is asked, what it hears, and what its answer does. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { AuthorizeRequest, Authorizer, SupervisorOptions } from '../../src/model/option-shapes.ts';
import type { ToolDefinition } from '../../src/model/tool.ts';
import { requestRig } from '../run/request-rig.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';
import { heldLog } from '../support/held-log.ts';

const tool = (over: Partial<ToolDefinition> = {}) =>
  defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects: 'none', ...over });

/** A rig whose authorizer says yes at once, and counts. */
async function counting(options: Partial<SupervisorOptions> = {}, far: Far = obedientFar) {
  const heard: AuthorizeRequest[] = [];
  const authorize: Authorizer = (request) => {
    heard.push(request);
    return { allow: true };
  };
  return { ...(await requestRig(far, { authorize, ...options })), heard };
}

describe('an authorizer that answers at once', () => {
  it('lets the request go on within the same call', async () => {
    const rig = await counting();
    void rig.supervisor.runTool(fakeTool(), 'value');
    expect([rig.heard.length, rig.supervisor.statistics().isolates.leased]).toEqual([1, 1]);
    await closeFake(rig);
  });

  it('hears the input as its schema made it, and who asks', async () => {
    const rig = await counting();
    const input = z.string().transform((text) => ({ text: text.trim() }));
    const scope = rig.supervisor.openScope({ tenant: 'acme', run: 'r-7', branch: 'b' });
    await rig.run(tool({ input, effects: 'opaque' }), ' x ', { labels: { colour: 'blue' } }, scope);
    expect(rig.heard).toMatchObject([
      {
        kind: 'run',
        tool: 'fake',
        input: { text: 'x' },
        tenant: 'acme',
        run: 'r-7',
        branch: 'b',
        effects: 'opaque',
        isolation: 'thread',
        labels: { colour: 'blue' },
        hop: null,
      },
    ]);
    const [started] = rig.events;
    expect(started).toMatchObject({ type: 'request.started', requestId: rig.heard[0]?.requestId });
    await closeFake(rig);
  });

  it('is asked once by every way to start a request', async () => {
    const rig = await counting();
    const scope = rig.supervisor.openScope();
    await rig.run(fakeTool(), 'value');
    await rig.run(fakeTool(), 'value', {}, scope);
    await rig.run(fakeTool(), 'value', {}, scope.fork({ branch: 'b' }));
    const child = scope.spawn('index', (inner) => inner.runTool(fakeTool(), 'value'));
    await settle();
    expect(await child.result).toMatchObject({ status: 'succeeded' });
    expect(rig.heard.map(({ branch }) => branch)).toEqual(['main', 'main', 'b', 'main']);
    expect(rig.runs()).toBe(4);
    await closeFake(rig);
  });

  it('is asked no more when an isolate is lost and another one granted', async () => {
    const rig = await counting({ isolates: 1, standby: 1 }, { ...obedientFar, schedule: 'manual' });
    await rig.run(fakeTool(), 'value');
    // It dies before it hears of its run.
    const lost = rig.leased();
    lost.die({ code: 1, error: null });
    lost.deliver();
    await settle();
    rig.leased().deliver();
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    expect(rig.ended[0]?.lease?.path.filter((state) => state === 'acquired')).toHaveLength(2);
    expect(rig.heard).toHaveLength(1);
    for (const tenure of rig.tenures.all) tenure.deliver();
    await closeFake(rig);
  });

  it('may refuse in the middle of a crowd and costs the others nothing', async () => {
    const authorize: Authorizer = ({ input }) => (input === 'throw' ? { allow: false } : { allow: true });
    const rig = await requestRig(obedientFar, { authorize });
    for (const input of ['value', 'throw', 'value']) await rig.run(fakeTool(), input);
    expect(rig.ended.map(({ status }) => status)).toEqual(['succeeded', 'denied', 'succeeded']);
    expect(rig.supervisor.statistics().requests).toMatchObject({ succeeded: 2, denied: 1, failed: 0 });
    await closeFake(rig);
  });
});

describe('a request that is refused before', () => {
  it.each([
    ['a closed supervisor', {}],
    ['a full queue', { queue: { capacity: 0 } }],
    ['a schema', {}],
    ['its secrets', {}],
    ['a signal that was aborted', {}],
    ['a closed scope', {}],
  ])('by %s is not shown to the authorizer', async (by, options) => {
    const rig = await counting(options);
    const scope = rig.supervisor.openScope();
    if (by === 'a closed supervisor') await closeFake(rig);
    if (by === 'a closed scope') await scope.shutdown();
    if (by === 'a full queue') await rig.run(fakeTool(), 'hang');
    const before = rig.heard.length;
    const refused = {
      ...(by === 'a schema' && { input: z.number() }),
      ...(by === 'its secrets' && { secrets: (() => 7) as never }),
    };
    const signal = by === 'a signal that was aborted' ? { signal: AbortSignal.abort(new Error('left')) } : {};
    await rig.run(tool(refused), 'value', signal, by === 'a closed scope' ? scope : rig.supervisor);
    expect(rig.heard).toHaveLength(before);
    const status = by === 'a signal that was aborted' ? 'cancelled' : 'rejected';
    expect(rig.ended).toMatchObject([{ status }]);
    await closeFake(rig);
  });
});

describe('a denied request', () => {
  it.each([
    ['a no', { allow: false, reason: 'not on Sundays' }, 'DENIED', 'The authorizer said no: not on Sundays'],
    ['no answer at all', undefined, 'AUTHORIZER_FAILED', /neither \{ allow: true \} nor/],
    ['a word', { allow: 'true' }, 'AUTHORIZER_FAILED', /neither \{ allow: true \} nor/],
  ])('by %s has no attempt, no lease, no entry, and one start and end', async (_, answer, code, message) => {
    const log = heldLog([]);
    const rig = await requestRig(obedientFar, { authorize: () => answer as never, eventLog: log.eventLog });
    await rig.run(fakeTool('opaque'), 'value');
    expect(rig.ended).toMatchObject([
      {
        status: 'denied',
        ok: false,
        cause: null,
        lease: null,
        intents: [],
        durability: 'none',
        request: { attempts: [] },
        error: { code: `ERR_LEASEHOLD_${code}`, name: 'DeniedError', message: expect.stringMatching(message) },
      },
    ]);
    expect(rig.events.map(({ type }) => type)).toEqual(['request.started', 'request.ended']);
    expect([rig.runs(), await log.entries(), rig.supervisor.statistics().queue.depth]).toEqual([0, [], 0]);
    await closeFake(rig);
  });

  it('hides the secrets of its input and of the supervisor in the reason', async () => {
    const authorize: Authorizer = ({ input }) => ({ allow: false, reason: `no ${input} and no always` });
    const rig = await requestRig(obedientFar, { authorize, redact: { values: ['always'] } });
    await rig.run(tool({ secrets: (input) => [input as string] }), 'hunter2');
    expect(rig.ended[0]?.error?.message).toBe('The authorizer said no: no [redacted] and no [redacted]');
    expect(JSON.stringify(rig.events)).not.toContain('hunter2');
    await closeFake(rig);
  });

  it('hides a secret that the limit of the reason cut in two', async () => {
    const secret = 'hunter2-hunter2-hunter2';
    const authorize: Authorizer = () => ({ allow: false, reason: 'x'.repeat(4_096 - 10) + secret });
    const rig = await requestRig(obedientFar, { authorize });
    await rig.run(tool({ secrets: () => [secret] }), 'value');
    expect(rig.ended[0]?.error).toMatchObject({ truncated: true });
    expect(JSON.stringify(rig.ended[0])).not.toContain('hunter2');
    await closeFake(rig);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no hunter2 here');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no hunter2 here'))],
  ])('by an authorizer that %s says why, without secrets', async (_, authorize) => {
    const rig = await requestRig(obedientFar, { authorize });
    await rig.run(tool({ secrets: () => ['hunter2'] }), 'value');
    expect(rig.ended).toMatchObject([
      {
        status: 'denied',
        error: { code: 'ERR_LEASEHOLD_AUTHORIZER_FAILED', message: 'The authorizer threw: no [redacted] here' },
      },
    ]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });
});
