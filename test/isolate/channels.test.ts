/** LeaseChannels: calls in both directions that end with their lease, and belong to no other. */
import { describe, expect, it } from 'vitest';
import { LeaseChannels } from '../../src/isolate/channels.ts';
import { type Channel, openChannel } from '../../src/wire/channel.ts';
import type { CallMessage, HostCalls, IsolateHooks } from '../../src/wire/protocol.ts';
import { settle } from '../support/fake-clock.ts';

/** The channels of one lease, and the isolate's ends of both, joined by clones. */
function joined(calls: Partial<HostCalls> = {}, hooks: Partial<IsolateHooks> = {}) {
  const posted: CallMessage[] = [];
  const channels = new LeaseChannels((message) => {
    const copy = structuredClone(message);
    posted.push(copy);
    queueMicrotask(() => (copy.t === 'call' ? call : hook).receive(copy.d));
  }, calls as HostCalls);
  const toHost = (t: CallMessage['t']) => (d: unknown) => channels.receive({ t, d: structuredClone(d) });
  const call: Channel<HostCalls> = openChannel<HostCalls>({ post: toHost('call') });
  const hook: Channel = openChannel({ post: toHost('hook'), expose: hooks });
  return { channels, posted, call: call.remote };
}

describe('LeaseChannels', () => {
  it('let the isolate ask for what the holder of the lease offers', async () => {
    const { call, posted } = joined({ putBlob: async (seq) => `of ${seq}` });
    expect(await call.putBlob(1, new Uint8Array())).toBe('of 1');
    await expect(call.getBlob(1, 'sha256:0')).rejects.toThrow('no method getBlob');
    expect(posted.map(({ t }) => t)).toEqual(['call', 'call']);
  });

  it('let the host ask the isolate, on a channel of its own', async () => {
    const { channels, posted } = joined({}, { reset: async () => ({ findings: [{ kind: 'env-changed' }] }) });
    expect(await channels.hooks().reset(1)).toEqual({ findings: [{ kind: 'env-changed' }] });
    expect(posted.map(({ t }) => t)).toEqual(['hook']);
    expect(channels.hooks()).toBe(channels.hooks());
  });

  it('offer the isolate no call by way of a hook', async () => {
    const asked: string[] = [];
    const { channels } = joined({ putBlob: async () => String(asked.push('put')) });
    void channels.hooks();
    const forged: Channel<HostCalls> = openChannel<HostCalls>({ post: (d) => channels.receive({ t: 'hook', d }) });
    void forged.remote.putBlob(1, new Uint8Array());
    await settle();
    expect(asked).toEqual([]);
  });

  it('reject what is unanswered when the lease ends, and answer nothing afterwards', async () => {
    let answer: (digest: string) => void = () => undefined;
    const asked: number[] = [];
    const { channels, call, posted } = joined(
      {
        putBlob: (seq) => {
          asked.push(seq);
          return new Promise((resolve) => (answer = resolve));
        },
      },
      { reset: () => new Promise(() => {}) },
    );
    const reset = channels.hooks().reset(1);
    void call.putBlob(1, new Uint8Array());
    await settle();
    const before = posted.length;
    channels.end('the lease is over');
    await expect(reset).rejects.toThrow('the lease is over');
    answer('too late');
    void call.putBlob(2, new Uint8Array());
    await settle();
    expect([asked, posted.length]).toEqual([[1], before]);
  });

  it('of two leases are apart: one that ends leaves the other as it is', async () => {
    const first = joined({ putBlob: async () => 'first' });
    const second = joined({ putBlob: async () => 'second' });
    void first.call.putBlob(1, new Uint8Array());
    first.channels.end('the lease is over');
    expect(await second.call.putBlob(2, new Uint8Array())).toBe('second');
  });
});
