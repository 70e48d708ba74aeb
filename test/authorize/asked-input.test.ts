/** The input an authorizer is asked about: nobody outside can change it after the yes, and buffers still move. */

import { describe, expect, it } from 'vitest';
import type { Authorizer } from '../../src/model/option-shapes.ts';
import { askedInput } from '../../src/run/asked-input.ts';
import { requestRig } from '../run/request-rig.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool } from '../support/fake-host.ts';
import type { Far } from '../support/fake-tenure.ts';
import { patientAuthorizer } from './asking.ts';
import { inlineTool } from './hop-rig.ts';

const yes: Authorizer = () => ({ allow: true });

/** A far side that answers with its input. */
const echoing: Far = { ...obedientFar, run: (tenure, { input }) => tenure.value(input) };

describe('an input that was shown to an authorizer', () => {
  it('is what runs, whatever its caller does to it after the yes', async () => {
    const rig = await requestRig(obedientFar, { authorize: yes });
    await rig.run(fakeTool());
    const input = { path: 'mine', more: [new Uint8Array([1])] };
    // The only isolate is held: it waits in line.
    await rig.run(fakeTool(), input);
    input.path = 'theirs';
    input.more[0]?.fill(9);
    rig.leased().value('done');
    await settle();
    expect(rig.leased().current?.input).toEqual({ path: 'mine', more: [new Uint8Array([1])] });
    rig.leased().value('done');
    await closeFake(rig);
  });

  it('is what runs, whatever its caller does to it while the answer is awaited', async () => {
    const { authorize, asked } = patientAuthorizer();
    const rig = await requestRig(echoing, { authorize });
    const input = { path: 'mine' };
    await rig.run(fakeTool(), input);
    input.path = 'theirs';
    expect(asked[0]?.request.input).toEqual({ path: 'mine' });
    asked[0]?.answer({ allow: true });
    await settle();
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: { path: 'mine' } }]);
    await closeFake(rig);
  });

  it('has moved its buffers, and the isolate gets them', async () => {
    const rig = await requestRig(echoing, { authorize: yes });
    const bytes = new Uint8Array([1, 2, 3]);
    await rig.run(fakeTool(), { bytes }, { transfer: [bytes.buffer] });
    expect(bytes.byteLength).toBe(0);
    expect(rig.ended).toMatchObject([{ status: 'succeeded', value: { bytes: new Uint8Array([1, 2, 3]) } }]);
    await closeFake(rig);
  });

  it('that cannot be copied is rejected, and nobody is asked', async () => {
    const { authorize, asked } = patientAuthorizer();
    const rig = await requestRig(echoing, { authorize });
    await rig.run(fakeTool(), { f: () => 1 });
    expect(rig.ended).toMatchObject([
      { status: 'rejected', error: { code: 'ERR_LEASEHOLD_NOT_CLONEABLE', name: 'DataCloneError' }, lease: null },
    ]);
    expect([asked.length, rig.supervisor.statistics().queue.depth]).toEqual([0, 0]);
    await closeFake(rig);
  });

  it.each([
    ['an address', new URL('https://a.example/'), 'rejected'],
    ['an address in a map', new Map([['at', new URL('https://a.example/')]]), 'rejected'],
    ['plain values, dates and bytes', { at: new Date(0), bytes: Buffer.from('x'), list: [new Set([1])] }, 'succeeded'],
  ])('of work on the host, holding %s, is never another kind of object', async (_what, input, status) => {
    const rig = await requestRig({}, { authorize: yes });
    await rig.run(
      inlineTool(async () => 'served', 'none'),
      input,
    );
    expect(rig.ended.map((result) => result.status)).toEqual([status]);
    await closeFake(rig);
  });
});

describe('an input that nobody is asked about', () => {
  it('is not copied', async () => {
    const rig = await requestRig(echoing);
    const input = { f: () => 1 };
    await rig.run(fakeTool(), input);
    expect(rig.ended[0]?.value).toBe(input);
    await closeFake(rig);
  });
});

describe('what is asked about', () => {
  it('cannot be changed by who is asked, at any depth, whatever it holds', () => {
    const cyclic: Record<string, unknown> = { list: [{ amount: 1 }], bytes: new Uint8Array(2), at: new Date(0) };
    cyclic['self'] = cyclic;
    const asked = askedInput({ tool: fakeTool(), transfer: [] }, cyclic) as { input: typeof cyclic };
    const [first] = asked.input['list'] as { amount: number }[];
    expect(() => Object.assign(asked.input, { more: 1 })).toThrow(TypeError);
    expect(() => Object.assign(first ?? {}, { amount: 1e6 })).toThrow(TypeError);
    expect(asked.input['self']).toBe(asked.input);
    expect(Object.isFrozen(cyclic)).toBe(false);
  });
});
