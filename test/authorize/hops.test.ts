/** Hops: what an inline tool asks on its way, and that a no to one of them decides the request. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AuthorizeRequest, Authorizer, SupervisorOptions } from '../../src/model/option-shapes.ts';
import type { Tool } from '../../src/model/tool.ts';
import type { Effects, Hop, InlineContext } from '../../src/model/work.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import { heldLog } from '../support/held-log.ts';
import { patientAuthorizer } from './asking.ts';

const HOP: Hop = { url: 'https://example.org/next', method: 'GET', number: 1 };

/** A tool whose body is a function of the test. */
function inlineTool(serve: (context: InlineContext) => Promise<unknown>, effects: Effects = 'declared'): Tool {
  const { input, outputRules } = fakeTool();
  return Object.freeze<Tool>({
    name: 'inline',
    work: Object.freeze({
      kind: 'inline',
      occupiesPool: false,
      serve: (_: unknown, context: InlineContext) => serve(context),
    }),
    input,
    output: z.unknown(),
    effects,
    isolation: 'inline',
    permissions: null,
    outputRules,
    runTimeoutMs: null,
    graceMs: null,
    secrets: (given) => (typeof given === 'string' ? [given] : []),
  });
}
/** Says yes to runs, and to hops what `answer` says. */
const forHops =
  (answer: (request: AuthorizeRequest) => unknown): Authorizer =>
  (request) =>
    request.kind === 'run' ? { allow: true } : (answer(request) as ReturnType<Authorizer>);
/** A rig whose authorizer lets runs go and waits to be told about hops. */
async function patient(options: Partial<SupervisorOptions> = {}) {
  const { authorize: ask, asked } = patientAuthorizer();
  const authorize: Authorizer = (request, context) =>
    request.kind === 'run' ? { allow: true } : ask(request, context);
  return { ...(await requestRig({}, { authorize, ...options })), asked };
}
/** What a tool threw when it passes it on, or 'gone on'. */
const told = (work: Promise<unknown>) =>
  work.then(
    () => 'gone on',
    (error: unknown) => error,
  );

describe('a hop', () => {
  it('is asked about as the run was, with where it leads', async () => {
    const heard: AuthorizeRequest[] = [];
    const authorize = forHops((request) => {
      heard.push(request);
      return { allow: true };
    });
    const rig = await requestRig({}, { authorize });
    await rig.run(
      inlineTool(async (context) => {
        await context.authorizeHop(HOP);
        await context.authorizeHop({ ...HOP, number: 2 });
        return 'done';
      }),
      { page: 1 },
      { labels: { colour: 'blue' } },
    );
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: 'done' }]);
    const { id, run } = rig.ended[0]?.request ?? {};
    const same = {
      kind: 'redirect',
      requestId: id,
      run,
      tool: 'inline',
      input: { page: 1 },
      labels: { colour: 'blue' },
    };
    expect(heard).toMatchObject([
      { ...same, hop: HOP },
      { ...same, hop: { ...HOP, number: 2 } },
    ]);
    await closeFake(rig);
  });

  it('goes on at once where nobody is to be asked', async () => {
    const rig = await requestRig();
    await rig.run(inlineTool(async (context) => context.authorizeHop(HOP)));
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    await closeFake(rig);
  });

  it.each([
    [
      'a no',
      () => ({ allow: false, reason: 'not there, hunter2' }),
      'DENIED',
      'The authorizer said no: not there, [redacted]',
    ],
    [
      'a throw',
      () => {
        throw new Error('no hunter2');
      },
      'AUTHORIZER_FAILED',
      'The authorizer threw: no [redacted]',
    ],
    ['a rejection', () => Promise.reject(new Error('no')), 'AUTHORIZER_FAILED', 'The authorizer threw: no'],
    ['a word', () => 'yes', 'AUTHORIZER_FAILED', expect.stringContaining('neither')],
  ])('refused by %s rejects with DENIED, and the request is denied', async (_, answer, code, message) => {
    let heard: unknown;
    const rig = await requestRig({}, { authorize: forHops(answer) });
    const tool = inlineTool(async (context) => {
      heard = await told(context.authorizeHop(HOP));
      throw heard;
    });
    await rig.run(tool, 'hunter2');
    expect(heard).toMatchObject({ code: 'ERR_LEASEHOLD_DENIED', name: 'DeniedError', message });
    expect(rig.ended).toMatchObject([{ status: 'denied', error: { code: `ERR_LEASEHOLD_${code}`, message } }]);
    await closeFake(rig);
  });

  it('that nobody answers about is refused at authorizeMs', async () => {
    const rig = await patient({ defaults: { authorizeMs: 100 } });
    await rig.run(inlineTool((context) => context.authorizeHop(HOP)));
    await rig.clock.advance(99);
    expect(rig.ended).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([{ status: 'denied', error: { code: 'ERR_LEASEHOLD_AUTHORIZER_FAILED' } }]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    await closeFake(rig);
  });
});

describe('a tool whose hop was denied', () => {
  it('is denied although it then gives a value, with its lease and its entries told', async () => {
    const log = heldLog([]);
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })), eventLog: log.eventLog });
    await rig.run(
      inlineTool(async (context) => {
        await told(context.authorizeHop(HOP));
        return 'all the same';
      }),
    );
    const [result] = rig.ended;
    expect(result).toMatchObject({
      status: 'denied',
      cause: null,
      late: null,
      lease: {
        isolate: { kind: 'inline' },
        end: 'completed',
        path: ['queued', 'acquired', 'running', 'draining', 'completed'],
      },
      request: { attempts: [{ status: 'denied' }] },
    });
    expect('value' in (result ?? {})).toBe(false);
    const closed = (await log.entries()).filter(({ kind }) => kind === 'closed');
    expect(closed.map(({ body }) => [body.status, body.code])).toEqual([['denied', 'DENIED']]);
    await closeFake(rig);
  });

  it('is denied by the first no, whatever came after', async () => {
    const rig = await requestRig(
      {},
      { authorize: forHops(({ hop }) => ({ allow: false, reason: `number ${hop?.number}` })) },
    );
    await rig.run(
      inlineTool(async (context) => {
        await told(context.authorizeHop(HOP));
        await context.authorizeHop({ ...HOP, number: 2 });
      }),
    );
    expect(rig.ended[0]?.error?.message).toBe('The authorizer said no: number 1');
    await closeFake(rig);
  });

  it('still tells each effect it let go, and how it ended', async () => {
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })) });
    await rig.run(
      inlineTool(async (context) => {
        await context.perform({ name: 'sent' }, async () => undefined);
        await context.perform({ name: 'moved' }, () => context.authorizeHop(HOP));
      }),
    );
    expect(rig.ended[0]).toMatchObject({
      status: 'denied',
      intents: [
        { name: 'sent', state: 'applied' },
        { name: 'moved', state: 'failed' },
      ],
    });
    await closeFake(rig);
  });

  it('is denied although its deadline passes before it ends, and mentions that', async () => {
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })) });
    const tool = inlineTool(async (context) => {
      await told(context.authorizeHop(HOP));
      await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
    });
    await rig.run(tool, {}, { runTimeoutMs: 50 });
    await rig.clock.advance(50);
    expect(rig.ended).toMatchObject([{ status: 'denied', cause: null, also: [{ kind: 'run-timeout' }] }]);
    await closeFake(rig);
  });
});

describe('a stop while a hop is asked about', () => {
  it.each([
    ['a cancel', 'cancelled', 'cancel'],
    ['a close', 'interrupted', 'shutdown'],
    ['the run timeout', 'timed-out', 'run-timeout'],
    ['the operation deadline', 'timed-out', 'operation-timeout'],
    ['the deadline of the scope', 'timed-out', 'parent-deadline'],
  ])('%s ends the wait at once, and the request is %s', async (by, status, kind) => {
    const rig = await patient({ defaults: { authorizeMs: 3_600_000 } });
    const controller = new AbortController();
    const scope = rig.supervisor.openScope(by === 'the deadline of the scope' ? { deadlineMs: 50 } : {});
    const bounds = {
      ...(by === 'the run timeout' && { runTimeoutMs: 50 }),
      ...(by === 'the operation deadline' && { operationTimeoutMs: 50 }),
    };
    await rig.run(
      inlineTool((context) => context.authorizeHop(HOP)),
      {},
      { signal: controller.signal, ...bounds },
      scope,
    );
    const closing = by === 'a close' ? rig.supervisor.close({ withinMs: 1 }) : null;
    if (by === 'a cancel') controller.abort(new Error('left'));
    if (kind !== 'cancel' && kind !== 'shutdown') await rig.clock.advance(50);
    await settle();
    expect(rig.ended).toMatchObject([{ status, cause: { kind }, lease: { end: 'completed' } }]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    rig.asked[0]?.answer({ allow: false });
    await settle();
    expect(rig.ended).toHaveLength(1);
    await Promise.all([closing, closeFake(rig)]);
  });

  it('ends the waits of all hops that are asked about', async () => {
    const rig = await patient();
    const controller = new AbortController();
    const both = (context: InlineContext) =>
      Promise.allSettled([1, 2].map((number) => context.authorizeHop({ ...HOP, number })));
    let heard: unknown;
    const tool = inlineTool(async (context) => {
      heard = await both(context);
      throw context.signal.reason;
    });
    await rig.run(tool, {}, { signal: controller.signal });
    controller.abort(new Error('left'));
    await settle();
    expect(heard).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    expect(rig.asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(rig.ended).toMatchObject([{ status: 'cancelled' }]);
    expect(rig.clock.pending).toBe(0);
    await closeFake(rig);
  });

  it('decides in a blocked host too, although the yes is here', async () => {
    let heard: unknown;
    const rig = await patient();
    await rig.run(
      inlineTool(async (context) => {
        heard = await told(context.authorizeHop(HOP));
        throw heard;
      }),
      {},
      { runTimeoutMs: 50 },
    );
    rig.clock.jump(60);
    rig.asked[0]?.answer({ allow: true });
    await settle();
    expect(heard).toMatchObject({ name: 'AbortError' });
    expect(rig.ended).toMatchObject([{ status: 'timed-out', cause: { kind: 'run-timeout', atMs: 50 } }]);
    await closeFake(rig);
  });
});

describe('a hop after the lease', () => {
  it('is refused without asking, and changes nothing', async () => {
    let late: InlineContext | null = null;
    const rig = await patient();
    await rig.run(
      inlineTool(async (context) => {
        late = context;
        return 'done';
      }),
    );
    const heard = await told((late as InlineContext | null)?.authorizeHop(HOP) ?? Promise.resolve());
    expect(heard).toMatchObject({ code: 'ERR_LEASEHOLD_DENIED' });
    expect(rig.asked).toEqual([]);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: 'done' }]);
    await closeFake(rig);
  });

  it('that was asked about before is let go by no answer', async () => {
    let heard: Promise<unknown> | null = null;
    const rig = await patient();
    await rig.run(
      inlineTool(async (context) => {
        heard = told(context.authorizeHop(HOP));
        return 'done';
      }),
    );
    expect(rig.ended).toMatchObject([{ status: 'succeeded' }]);
    rig.asked[0]?.answer({ allow: true });
    expect(await heard).toMatchObject({ code: 'ERR_LEASEHOLD_DENIED' });
    expect(rig.asked[0]?.signal.aborted).toBe(true);
    await closeFake(rig);
  });
});
