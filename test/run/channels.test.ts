/** Channels: what `node:diagnostics_channel` tells of a supervisor, and that it costs nothing where nobody listens. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { Channels } from '../../src/run/channels.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

type Message = Readonly<Record<string, unknown>>;
const ALL = ['request', 'lease', 'attempt', 'stop', 'isolate', 'supervisor'];

const leave: (() => void)[] = [];
afterEach(() => {
  for (const unhear of leave.splice(0)) unhear();
});

/** What the named channels tell from now on. */
function hear(...words: readonly string[]): Message[] {
  const heard: Message[] = [];
  for (const word of words) {
    const listener = (message: unknown, name: string | symbol) => {
      expect(name).toBe(`leasehold:${word}`);
      heard.push(message as Message);
    };
    subscribe(`leasehold:${word}`, listener);
    leave.push(() => unsubscribe(`leasehold:${word}`, listener));
  }
  return heard;
}
const typesOf = (messages: readonly Message[]) => messages.map(({ type }) => type);

describe('the channels of a supervisor', () => {
  it('tell a request whole and in order, with its numbers among all events', async () => {
    const host = await openFakeHost(obedientFar);
    const heard = hear(...ALL);
    const { request } = await host.supervisor.runTool(fakeTool(), 'value', { group: 'nightly' });
    expect(typesOf(heard)).toEqual(typesOf(host.events as unknown as Message[]));
    expect(heard.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(heard.at(-1)).toMatchObject({
      type: 'request.ended',
      requestId: request.id,
      tool: 'fake',
      status: 'succeeded',
      code: null,
      cause: null,
      late: null,
      group: 'nightly',
      attempts: 1,
      intents: [],
    });
    await closeFake(host);
  });

  it('tell of stops, spoiled isolates and what became of a failed request', async () => {
    const host = await openFakeHost(obedientFar);
    const heard = hear(...ALL);
    void host.supervisor.runTool(fakeTool(), 'hang', { runTimeoutMs: 10 });
    await settle();
    await host.clock.advance(10_000);
    expect(typesOf(heard)).toEqual([
      ...['request.started', 'lease.queued', 'lease.granted', 'stop.recorded', 'lease.quarantined'],
      ...['attempt.ended', 'request.ended', 'isolate.replaced'],
    ]);
    const told = (type: string) => heard.find((message) => message['type'] === type);
    expect(told('stop.recorded')).toMatchObject({ kind: 'run-timeout', state: 'running', accepted: true });
    expect(told('lease.quarantined')).toMatchObject({ findings: [{ kind: 'killed', condemns: true }] });
    expect(told('request.ended')).toMatchObject({ status: 'timed-out', code: 'ERR_LEASEHOLD_RUN_TIMEOUT' });
    await closeFake(host);
  });

  it('hold no input, value, output, reason, label or word of an error, and are frozen', async () => {
    const host = await openFakeHost(obedientFar);
    const heard = hear(...ALL);
    const controller = new AbortController();
    const tool = defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects: 'none' });
    const options = { labels: { colour: 'planted' }, signal: controller.signal };
    await host.supervisor.runTool(tool, 'throw', options);
    await host.supervisor.runTool(tool, 'value', options);
    void host.supervisor.runTool(tool, 'obey', options);
    await settle();
    controller.abort(new Error('planted'));
    await host.clock.advance(10_000);
    expect(heard.length).toBeGreaterThan(12);
    expect(JSON.stringify(heard)).not.toMatch(/planted|done|the tool failed|colour/);
    expect(heard.every((message) => Object.isFrozen(message) && Object.values(message).every(Object.isFrozen))).toBe(
      true,
    );
    await closeFake(host);
  });

  it('tell of isolates and the supervisor to those alone who listen to them', async () => {
    const host = await openFakeHost(obedientFar, { observers: [] });
    const heard = hear('isolate');
    void host.supervisor.runTool(fakeTool(), 'value-dirty');
    await settle();
    await host.clock.advance(10_000);
    expect(typesOf(heard)).toEqual(['isolate.replaced']);
    await closeFake(host);
  });

  it('tell nothing of a request that began before anybody listened', async () => {
    const host = await openFakeHost(obedientFar, { observers: [] });
    void host.supervisor.runTool(fakeTool(), 'obey');
    await settle();
    const heard = hear('request', 'lease');
    host.tenures.working[0]?.value(1);
    await settle();
    expect(heard).toEqual([]);
    await host.supervisor.runTool(fakeTool(), 'value');
    expect(typesOf(heard)).toEqual(['request.started', 'lease.queued', 'lease.granted', 'request.ended']);
    await closeFake(host);
  });

  it('build no event where nobody listens, and none that nobody listens to', async () => {
    const host = await openFakeHost(obedientFar, { observers: [] });
    await host.supervisor.runTool(fakeTool(), 'value');
    const heard = hear('request');
    await host.supervisor.runTool(fakeTool(), 'value');
    // Numbered from 1: nothing before was an event.
    expect(heard.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'request.started'],
      [5, 'request.ended'],
    ]);
    await closeFake(host);
  });
});

describe('Channels', () => {
  it('know at once who listens, and to what', () => {
    const channels = new Channels();
    const looks = () => [channels.hearsRequests, channels.hearsSupervisors];
    expect(looks()).toEqual([false, false]);
    hear('stop');
    expect(looks()).toEqual([true, false]);
    hear('supervisor');
    expect(looks()).toEqual([true, true]);
  });

  it('keep content to themselves: progress and output have no channel', () => {
    const heard = hear(...ALL, 'tool');
    const names = { seq: 1, at: 1, requestId: 'req', tool: 'fake', tenant: 't', run: 'r', branch: 'b' };
    new Channels().onEvent({ ...names, type: 'tool.progress', value: 0.5, note: 'half' });
    new Channels().onEvent({ ...names, type: 'tool.output', stream: 'stdout', text: 'x', omittedBytes: 0 });
    expect(heard).toEqual([]);
  });
});
