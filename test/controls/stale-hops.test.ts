/**
 * What an attempt that is over still asks, while another one of its request runs.
 *
 * Invariant: the host's own work cannot be killed, so it is the one that outlives its attempt. Deliberately absent: hops of an attempt
 * that runs (`authorize/hops.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import type { InlineContext } from '../../src/model/work.ts';
import { HOP, inlineTool, told } from '../authorize/hop-rig.ts';
import { requestRig } from '../run/request-rig.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake } from '../support/fake-host.ts';

describe('a hop of an attempt that was given up', () => {
  it('is refused while the next attempt runs, and denies that one nothing', async () => {
    const asked: string[] = [];
    const authorize = ({ kind }: { kind: string }) => {
      asked.push(kind);
      return { allow: true } as const;
    };
    const rig = await requestRig({}, { authorize, defaults: { graceMs: 10, killMs: 10 } });
    const contexts: InlineContext[] = [];
    const answers: ((value: string) => void)[] = [];
    const tool = inlineTool((context) => {
      contexts.push(context);
      return new Promise((resolve) => {
        answers.push(resolve);
      });
    }, 'none');
    const retry = { attempts: 2, backoff: { initialMs: 0, jitter: 'none' } } as const;
    await rig.run(tool, 'x', { retry, runTimeoutMs: 50 });
    await rig.clock.advance(80);
    expect(contexts).toHaveLength(2);
    const stale = await told((contexts[0] as InlineContext).authorizeHop(HOP));
    expect(stale).toMatchObject({ leaseholdCode: 'ERR_LEASEHOLD_DENIED' });
    expect(await told((contexts[1] as InlineContext).authorizeHop(HOP))).toBe('gone on');
    answers[1]?.('done');
    await settle();
    expect(asked).toEqual(['run', 'redirect']);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', request: { attempts: [{ status: 'timed-out' }, {}] } }]);
    await closeFake(rig);
  });
});
