/**
 * Repairs: another input in place of one whose output the schema refused.
 *
 * Invariant: threads and time are fake; a tool answers with its input. Deliberately absent: stops meanwhile (`between.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Repair, RepairContext } from '../../src/model/control-shapes.ts';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunResult } from '../../src/model/result.ts';
import { patientAuthorizer } from '../authorize/asking.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';

const mirror: Far = {
  run(tenure, { input }) {
    if (input === 'exit') tenure.die({ code: 3, error: null });
    else tenure.value(input);
  },
};
const numeric = defineTool({
  name: 'numeric',
  module: 'file:///fake/tool.mjs',
  input: z.union([z.string().max(20), z.number()]),
  output: z.number(),
  effects: 'none',
  secrets: (input) => (typeof input === 'string' && input.startsWith('key-') ? [input] : []),
});
const statuses = ({ request }: RunResult) => request.attempts.map(({ status }) => status);

describe('a repair', () => {
  it('is asked about the refused value, and its input runs as another attempt', async () => {
    const rig = await requestRig(mirror);
    const asked: unknown[] = [];
    const repair: Repair = (...given) => {
      asked.push(given);
      return 7;
    };
    await rig.run(numeric, 'seven', { repair });
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: 7 }]);
    expect(statuses(rig.ended[0] as RunResult)).toEqual(['failed', 'succeeded']);
    const [[value, issues, context]] = asked as [[unknown, unknown, RepairContext]];
    expect([value, issues]).toMatchObject(['seven', [{ path: '', code: 'invalid_type' }]]);
    const { id: requestId, run } = (rig.ended[0] as RunResult).request;
    expect(context).toMatchObject({ tenant: 'default', branch: 'main', attempt: 1, requestId, run });
    expect([context.signal.aborted, Object.isFrozen(context)]).toEqual([false, true]);
    await closeFake(rig);
    expect(rig.clock.pending).toBe(0);
  });

  it('that knows nothing better leaves the refusal as it is', async () => {
    const rig = await requestRig(mirror);
    await rig.run(numeric, 'seven', { repair: () => undefined });
    expect(rig.ended).toMatchObject([
      { status: 'failed', error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT' }, diagnostics: [] },
    ]);
    await closeFake(rig);
  });

  it('is made three times at most, unless another number is given', async () => {
    const rig = await requestRig(mirror);
    await rig.run(numeric, 'one', { repair: () => 'more' });
    await rig.run(numeric, 'one', { repair: { with: () => 'more', attempts: 1 } });
    expect(rig.ended.map((result) => statuses(result).length)).toEqual([4, 2]);
    expect(rig.ended.map(({ error }) => error?.code)).toEqual(Array(2).fill('ERR_LEASEHOLD_INVALID_OUTPUT'));
    await closeFake(rig);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
      /repair threw: no idea/,
    ],
    ['rejects', () => Promise.reject(new Error('no idea')), /repair threw: no idea/],
    ['returns what the input schema refuses', () => ({ no: 'input' }), /may not run: The input was refused/],
  ] as [string, Repair, RegExp][])('that %s ends the request, and says so', async (_, repair, message) => {
    const rig = await requestRig(mirror);
    await rig.run(numeric, 'seven', { repair });
    expect(rig.ended).toMatchObject([
      {
        error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT' },
        diagnostics: [{ code: 'REPAIR_ENDED', message: expect.stringMatching(message) }],
      },
    ]);
    await closeFake(rig);
  });

  it('that does not answer is given up at its bound, and hears of it', async () => {
    const rig = await requestRig(mirror);
    let signal: AbortSignal | undefined;
    const repair: Repair = (_value, _issues, context) => {
      signal = context.signal;
      return new Promise(() => {});
    };
    await rig.run(numeric, 'seven', { repair: { with: repair, withinMs: 50 } });
    await rig.clock.advance(49);
    expect([rig.ended, signal?.aborted]).toEqual([[], false]);
    await rig.clock.advance(1);
    expect(rig.ended).toMatchObject([{ status: 'failed', diagnostics: [{ code: 'REPAIR_ENDED' }] }]);
    expect(signal?.aborted).toBe(true);
    await closeFake(rig);
  });

  it('has its input allowed by the authorizer before it runs', async () => {
    const { authorize, asked } = patientAuthorizer();
    const rig = await requestRig(mirror, { authorize });
    await rig.run(numeric, 'seven', { repair: () => 8 });
    asked[0]?.answer({ allow: true });
    await settle();
    expect(asked.map(({ request }) => request.input)).toEqual(['seven', 8]);
    asked[1]?.answer({ allow: false, reason: 'too many' });
    await settle();
    expect(rig.runs()).toBe(1);
    expect(rig.ended).toMatchObject([
      { status: 'failed', diagnostics: [{ message: expect.stringContaining('said no: too many') }] },
    ]);
    await closeFake(rig);
  });

  it('hides the secrets of the first input and of its own', async () => {
    const rig = await requestRig(mirror);
    await rig.run(numeric, 'key-one', { repair: { with: () => 'key-two', attempts: 1 }, labels: { of: 'key-two' } });
    const told = JSON.stringify([rig.ended, rig.events.filter(({ type }) => type === 'request.ended')]);
    expect(told).not.toMatch(/key-(one|two)/);
    await closeFake(rig);
  });

  it('shares a request with retries, each within its own bound', async () => {
    const rig = await requestRig(mirror, { standby: 1 });
    const answers = ['exit', 'more', 9];
    const retry = { attempts: 2, backoff: { initialMs: 0, jitter: 'none' } } as const;
    await rig.run(numeric, 'one', { repair: () => answers.shift(), retry });
    await rig.clock.advance(1);
    // One refused, one crash, the same again by the retry: it crashes, and no try is left.
    expect(statuses(rig.ended[0] as RunResult)).toEqual(['failed', 'failed', 'failed']);
    expect(rig.ended[0]?.error?.code).toBe('ERR_LEASEHOLD_ISOLATE_EXITED');
    await closeFake(rig);
  });

  it('of nothing but refused outputs is asked', async () => {
    const rig = await requestRig({ run: (tenure) => tenure.failure() });
    let asked = 0;
    const repair = () => {
      asked += 1;
      return 1;
    };
    await rig.run(numeric, 'seven', { repair });
    await rig.run(fakeTool(), 'x', { repair });
    expect([asked, rig.ended.map(({ status }) => status)]).toEqual([0, ['failed', 'failed']]);
    await closeFake(rig);
  });
});
