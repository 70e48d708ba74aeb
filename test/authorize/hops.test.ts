/** Hops: what an inline tool asks on its way, and that a no to one of them decides the request. */
import { describe, expect, it } from 'vitest';
import type { AuthorizeRequest, Authorizer } from '../../src/model/option-shapes.ts';
import { requestRig } from '../run/request-rig.ts';
import { closeFake } from '../support/fake-host.ts';
import { heldLog } from '../support/held-log.ts';
import { HOP, inlineTool, patientAboutHops, told } from './hop-rig.ts';

/** Says yes to runs, and to hops what `answer` says. */
const forHops =
  (answer: (request: AuthorizeRequest) => unknown): Authorizer =>
  (request) =>
    request.kind === 'run' ? { allow: true } : (answer(request) as ReturnType<Authorizer>);
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
    const rig = await patientAboutHops({ defaults: { authorizeMs: 100 } });
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

  it('is failed once it let an effect go, and tells each and how it ended', async () => {
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })) });
    await rig.run(
      inlineTool(async (context) => {
        await context.perform({ name: 'sent' }, async () => undefined);
        await context.perform({ name: 'moved' }, () => context.authorizeHop(HOP));
      }),
    );
    expect(rig.ended[0]).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_DENIED', name: 'DeniedError', message: 'The authorizer said no.' },
      intents: [
        { name: 'sent', state: 'applied' },
        { name: 'moved', state: 'failed' },
      ],
    });
    await closeFake(rig);
  });

  it('is failed although it then gives a value, once it let an effect go', async () => {
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })) });
    await rig.run(
      inlineTool(async (context) => {
        await context.perform({ name: 'sent' }, async () => undefined);
        await told(context.authorizeHop(HOP));
        return 'all the same';
      }),
    );
    expect(rig.ended).toMatchObject([{ status: 'failed', error: { code: 'ERR_LEASEHOLD_DENIED' } }]);
    expect('value' in (rig.ended[0] ?? {})).toBe(false);
    await closeFake(rig);
  });

  it('is indeterminate while an effect it let go is open', async () => {
    const rig = await requestRig({}, { authorize: forHops(() => ({ allow: false })) });
    await rig.run(
      inlineTool(async (context) => {
        void context.perform({ name: 'sent' }, () => new Promise(() => undefined));
        await context.perform({ name: 'then' }, async () => undefined);
        await context.authorizeHop(HOP);
      }),
    );
    expect(rig.ended).toMatchObject([{ status: 'indeterminate', intents: [{ state: 'dispatched' }, {}] }]);
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
