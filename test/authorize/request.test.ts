/** A request and its authorizer: when it is asked, what its answer does, and what may come between the two. */
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
import { patientAuthorizer } from './asking.ts';

const tool = (over: Partial<ToolDefinition> = {}) =>
  defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects: 'none', ...over });

/** A rig whose authorizer waits to be told. */
async function patient(options: Partial<SupervisorOptions> = {}, far: Far = obedientFar) {
  const { authorize, asked } = patientAuthorizer();
  const rig = await requestRig(far, { authorize, ...options });
  const types = () => rig.events.map(({ type }) => type);
  return { ...rig, asked, types };
}
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

describe('while the authorizer is asked', () => {
  it('the request counts in the queue and holds no isolate', async () => {
    const rig = await patient({ queue: { capacity: 1 } });
    await rig.run(fakeTool(), 'value');
    await rig.run(fakeTool(), 'value');
    const { queue, isolates } = rig.supervisor.statistics();
    expect([queue.depth, isolates.leased]).toEqual([1, 0]);
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' } }]);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended[1]).toMatchObject({ status: 'succeeded' });
    await closeFake(rig);
  });

  it('a queue without room keeps its place for it', async () => {
    const rig = await patient({ queue: { capacity: 0 } });
    await rig.run(fakeTool(), 'value');
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    await closeFake(rig);
  });

  it('its silence ends the request at authorizeMs, and its signal aborts', async () => {
    const rig = await patient({ defaults: { authorizeMs: 250 } });
    await rig.run(fakeTool(), 'value');
    await rig.clock.advance(249);
    expect([rig.ended.length, rig.asked[0]?.signal.aborted]).toEqual([0, false]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([
      {
        status: 'denied',
        error: { code: 'ERR_LEASEHOLD_AUTHORIZER_FAILED', message: expect.stringContaining('authorizeMs (250 ms)') },
        timing: { totalMs: 250 },
      },
    ]);
    expect(rig.asked[0]?.signal).toMatchObject({ aborted: true, reason: { name: 'AbortError' } });
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect([rig.runs(), rig.clock.pending]).toEqual([0, 0]);
    await closeFake(rig);
  });

  it.each([
    ['a cancel', 'cancelled', 'cancel'],
    ['a cancel of the scope', 'cancelled', 'cancel'],
    ['a close', 'interrupted', 'shutdown'],
    ['the operation deadline', 'timed-out', 'operation-timeout'],
    ['the deadline of the scope', 'timed-out', 'parent-deadline'],
  ])('%s ends the request at once, %s', async (by, status, kind) => {
    const rig = await patient({ defaults: { authorizeMs: 3_600_000 } });
    const controller = new AbortController();
    const deadline = by === 'the deadline of the scope' ? { deadlineMs: 50 } : {};
    const scope = rig.supervisor.openScope(deadline);
    const operation = by === 'the operation deadline' ? { operationTimeoutMs: 50 } : {};
    await rig.run(fakeTool(), 'value', { signal: controller.signal, ...operation }, scope);
    if (by === 'a cancel') controller.abort(new Error('left'));
    if (by === 'a cancel of the scope') scope.cancel('left');
    const closing = by === 'a close' ? rig.supervisor.close({ withinMs: 60_000 }) : null;
    if (kind.endsWith('deadline') || kind.endsWith('timeout')) await rig.clock.advance(50);
    await settle();
    expect(rig.ended).toMatchObject([{ status, cause: { kind }, lease: { isolate: null } }]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    // Late, and nobody's any more.
    rig.asked[0]?.[by === 'a close' ? 'fail' : 'answer']({ allow: true });
    await settle();
    expect([rig.runs(), rig.ended.length, rig.supervisor.statistics().queue.depth]).toEqual([0, 1, 0]);
    await closing;
    await closeFake(rig);
  });

  it('a stop decides also when the answer comes within the same turn', async () => {
    const rig = await patient();
    const controller = new AbortController();
    await rig.run(fakeTool(), 'value', { signal: controller.signal });
    rig.asked[0]?.answer({ allow: true });
    controller.abort(new Error('left'));
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'cancelled' }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it('a deadline that passes in a blocked host decides, although the yes is here', async () => {
    const rig = await patient();
    await rig.run(fakeTool(), 'value', { operationTimeoutMs: 50 });
    rig.clock.jump(60);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'operation-timeout', atMs: 50 } }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });

  it('a stop by the authorizer itself decides, whatever it says then', async () => {
    const controller = new AbortController();
    const authorize: Authorizer = () => {
      controller.abort(new Error('not this one'));
      return { allow: true };
    };
    const rig = await requestRig(obedientFar, { authorize });
    await rig.run(fakeTool(), 'value', { signal: controller.signal });
    expect(rig.ended).toMatchObject([{ status: 'cancelled', cause: { reason: 'not this one' } }]);
    expect(rig.runs()).toBe(0);
    await closeFake(rig);
  });
});

describe('after a yes', () => {
  it('a close in the same turn interrupts the request', async () => {
    const rig = await patient();
    await rig.run(fakeTool(), 'value');
    rig.asked[0]?.answer({ allow: true });
    await closeFake(rig);
    expect(rig.ended).toMatchObject([{ status: 'interrupted', cause: { kind: 'shutdown' } }]);
    expect(rig.runs()).toBe(0);
  });

  it('a queue of capacity 0 that lost its isolate meanwhile refuses it', async () => {
    const far: Far = { ...obedientFar, boot: (ordinal) => (ordinal === 0 ? 'ready' : 'never') };
    const rig = await patient({ queue: { capacity: 0 } }, far);
    await rig.run(fakeTool(), 'value');
    rig.tenures.alive[0]?.die({ code: 1, error: null });
    await settle();
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_QUEUE_FULL' }, lease: null }]);
    expect(rig.supervisor.statistics().queue.depth).toBe(0);
    await closeFake(rig);
  });

  it('a supervisor that was degraded meanwhile refuses it', async () => {
    const far: Far = { ...obedientFar, boot: (ordinal) => (ordinal === 0 ? 'ready' : 'fails') };
    const rig = await patient({ restart: { maxReplacements: 0 }, defaults: { authorizeMs: 60_000 } }, far);
    await rig.run(fakeTool(), 'value');
    rig.tenures.alive[0]?.die({ code: 1, error: null });
    await settle();
    while (rig.supervisor.statistics().state !== 'degraded' && (await rig.clock.step())) await settle();
    expect(rig.supervisor.statistics().state).toBe('degraded');
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'rejected', error: { code: 'ERR_LEASEHOLD_DEGRADED' }, lease: null }]);
    await closeFake(rig);
  });
});
