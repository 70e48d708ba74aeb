/**
 * A stop injected at every await of the kernel: the request ends once, truthfully, and capacity is whole again.
 *
 * Invariant: everything that may be asynchronous is: the schemas, the event log, the far side. The stop hits after each
 * number of microtasks until the request is over on its own. Deliberately absent: real time.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunResult } from '../../src/model/result.ts';
import type { EventLog } from '../../src/model/stores.ts';
import type { Effects } from '../../src/model/tool.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { obedientFar } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, openFakeHost } from '../support/fake-host.ts';

/** A log that takes three turns to acknowledge. */
function slowLog(): EventLog {
  const log = memoryEventLog();
  return {
    durability: log.durability,
    read: (filter) => log.read(filter),
    openIntents: () => log.openIntents(),
    async append(event) {
      await null;
      await null;
      return log.append(event);
    },
  };
}

const slowSchema = z.string().refine(async () => {
  await null;
  return true;
});

const STOPS = {
  cancel: 'cancelled',
  'operation-timeout': 'timed-out',
  'parent-deadline': 'timed-out',
  shutdown: 'interrupted',
  'scope-cancel': 'cancelled',
} as const;
type Injected = keyof typeof STOPS;
/** More microtasks than any request here takes. */
const LAST = 90;

async function hitAt(turn: number, stop: Injected, behaviour: string, effects: Effects) {
  const log = slowLog();
  const host = await openFakeHost(obedientFar, { eventLog: log, defaults: { graceMs: 20, killMs: 20 } });
  const tool = defineTool({
    name: 'slow',
    module: 'file:///fake/slow.mjs',
    input: slowSchema,
    output: slowSchema,
    effects,
  });
  const controller = new AbortController();
  const scope = host.supervisor.openScope({ run: 'hit', ...(stop === 'parent-deadline' && { deadlineMs: 500 }) });
  let result: RunResult | null = null;
  let ends = 0;
  const running = scope
    .runTool(tool, behaviour, {
      signal: controller.signal,
      ...(stop === 'operation-timeout' && { operationTimeoutMs: 500 }),
    })
    .then((settled) => {
      result = settled;
      ends += 1;
    });
  for (let passed = 0; passed < turn; passed += 1) await Promise.resolve();
  let closing: Promise<unknown> = Promise.resolve();
  if (stop === 'cancel') controller.abort(new Error('enough'));
  if (stop === 'scope-cancel') scope.cancel('enough');
  if (stop === 'shutdown') closing = host.supervisor.close({ withinMs: 1 });
  if (stop.endsWith('timeout') || stop.endsWith('deadline')) {
    host.clock.jump(500);
    host.clock.fireDue();
  }
  await settle();
  while (ends === 0 && (await host.clock.step())) await settle();
  await running;
  const next = stop === 'shutdown' ? null : await host.supervisor.runTool(tool, 'value').then(({ status }) => status);
  const whole = host.supervisor.statistics();
  const entries = [];
  for await (const entry of log.read({ run: 'hit' })) entries.push(entry);
  await closeFake(host);
  await closing;
  return { result: result as RunResult | null, ends, next, whole, entries, host };
}

describe.each(Object.keys(STOPS) as Injected[])('a %s at every await', (stop) => {
  it.each([
    ['value', 'none', ['succeeded']],
    ['throw', 'none', ['failed']],
    ['obey', 'none', []],
    ['hang', 'none', []],
    ['value', 'opaque', ['succeeded']],
    ['hang', 'opaque', ['indeterminate']],
    ['exit', 'opaque', ['indeterminate', 'failed']],
    ['value-dirty', 'none', ['succeeded']],
  ] as const)('ends %s (%s effects) once and truthfully', async (behaviour, effects, natural) => {
    const seen = new Set<string>();
    for (let turn = 0; turn <= LAST; turn += 1) {
      const { result, ends, next, whole, entries, host } = await hitAt(turn, stop, behaviour, effects);
      const where = `after ${turn} turns: ${JSON.stringify(result)}`;
      expect(ends, where).toBe(1);
      if (result === null) continue;
      seen.add(result.status);
      expect([STOPS[stop], 'rejected', ...natural], where).toContain(result.status);
      if (stop !== 'shutdown') {
        expect(result.status, where).not.toBe('rejected');
        expect(next, where).toBe('succeeded');
        expect(whole.isolates.leased, where).toBe(0);
      }
      const open = result.intents.filter((intent) => intent.state === 'dispatched');
      expect(result.status === 'indeterminate', where).toBe(open.length > 0 && result.status !== 'succeeded');
      // What the result says of intents is what the log holds.
      const logged = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
      expect(result.intents, where).toHaveLength(logged('dispatched'));
      expect(entries.filter((entry) => entry.kind === 'closed').length, where).toBeLessThanOrEqual(1);
      if (result.lease !== null)
        expect(
          entries.filter((entry) => entry.kind === 'closed'),
          where,
        ).toHaveLength(1);
      expect(host.clock.pending, where).toBe(0);
      expect(host.tenures.alive, where).toEqual([]);
    }
    expect([...seen]).toContain(behaviour === 'hang' && effects === 'opaque' ? 'indeterminate' : STOPS[stop]);
  });
});
