/**
 * Promise: a retry repeats no effect of which nobody knows whether it happened, unless the effect says that it may be repeated; and
 * whatever is repeated has the key it had.
 *
 * Invariant: the truth is a file on disk and the event log; the result is compared with both. Deliberately absent: what may be tried
 * again at all (`test/decide/retry.test.ts`).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSupervisor, defineTool, memoryEventLog, type OpenIntent, type RunOptions } from 'leasehold';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture } from '../support/fault-adapter.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-again-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const retry = { attempts: 3, backoff: { initialMs: 1 } } as const;

async function run(exportName: string, input: object, options: RunOptions = {}) {
  const eventLog = memoryEventLog();
  const file = join(folder, `${exportName} ${JSON.stringify(input)}`.replace(/\W+/g, '-'));
  writeFileSync(file, '');
  const tool = defineTool({
    name: 'again',
    module: fixture('again.mjs'),
    exportName,
    input: z.unknown(),
    effects: 'declared',
  });
  const supervisor = createSupervisor({ isolates: 1, standby: 1, eventLog, defaults: { graceMs: 50 } });
  const result = await supervisor.runTool(tool, { file, ...input }, { retry, ...options });
  await supervisor.close();
  const open: OpenIntent[] = [];
  for await (const intent of eventLog.openIntents()) open.push(intent);
  return { result, open, keys: readFileSync(file, 'utf8').split('\n').slice(0, -1) };
}

describe('an effect in a request that is tried again', () => {
  it('has the same key in each attempt', async () => {
    const { result, keys, open } = await run('exitAfterEffect', { until: 3 });
    expect(result).toMatchObject({ status: 'succeeded', value: 3 });
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(result.intents).toMatchObject(Array(3).fill({ name: 'append', key: keys[0], state: 'applied' }));
    expect(open).toEqual([]);
  });

  it.each(['hold', 'reconcile', 'assume-applied'] as const)(
    'that is in doubt is not repeated: %s',
    async (onAmbiguous) => {
      const { result, keys, open } = await run(
        'exitInEffect',
        { until: 2, onAmbiguous },
        { retry: { ...retry, when: () => true } },
      );
      expect(keys).toHaveLength(1);
      expect(result).toMatchObject({ status: 'indeterminate', request: { attempts: [{ number: 1 }] } });
      expect(open).toMatchObject([{ attempt: 1, onAmbiguous, key: keys[0] }]);
    },
  );

  it('that may be repeated under its key is, and is then known to be applied', async () => {
    const { result, keys, open } = await run('exitInEffect', { until: 3, onAmbiguous: 'rerun-same-key' });
    expect(result).toMatchObject({ status: 'succeeded', value: 3 });
    expect(new Set(keys).size).toBe(1);
    expect(result.intents.map(({ state }) => state)).toEqual(['applied', 'applied', 'applied']);
    // The log says so too: nothing is left for a recovery to look into.
    expect(open).toEqual([]);
  });

  it('stays in doubt when a later attempt fails without repeating it', async () => {
    const { result, keys, open } = await run('exitBeforeRepeating', { onAmbiguous: 'rerun-same-key' });
    expect(keys).toHaveLength(1);
    expect(result).toMatchObject({ status: 'indeterminate', intents: [{ state: 'dispatched' }] });
    expect(result.request.attempts).toHaveLength(3);
    expect(open).toHaveLength(1);
  });
});

describe('a run that hangs', () => {
  it('is tried again, as an attempt with a run timeout of its own', async () => {
    const { result } = await run('hangUnlessLast', { until: 2 }, { runTimeoutMs: 400 });
    expect(result).toMatchObject({ status: 'succeeded', value: 2 });
    expect(result.request.attempts.map(({ status }) => status)).toEqual(['timed-out', 'succeeded']);
  });
});
