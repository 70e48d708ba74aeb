/** `SyncRunner` with a thread that is not there: what a call comes to whose answer does not come. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import type { Effects } from '../../src/model/tool.ts';
import type { FromThread, ToThread } from '../../src/sync/crossing.ts';
import type { SyncAuthorizer, SyncRunnerOptions } from '../../src/sync/door.ts';
import type { SyncLink } from '../../src/sync/link.ts';
import { SyncRunner } from '../../src/sync/runner.ts';

const toolOf = (effects: Effects) =>
  defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects });

/** Threads that boot or not, and answer with what they are told to. */
function rig(answers: readonly (FromThread | null)[] = [], boots = true, more: SyncRunnerOptions = {}) {
  const links: { readonly posted: ToThread[]; readonly waits: number[]; isAlive: boolean; givenUp: number }[] = [];
  const queued = [...answers];
  const open = (): SyncLink => {
    const seen = { posted: [] as ToThread[], waits: [] as number[], isAlive: true, givenUp: 0 };
    links.push(seen);
    return {
      get isAlive() {
        return seen.isAlive;
      },
      isReadyWithin: () => boots,
      post: (message) => void seen.posted.push(message),
      receive: (accept, withinMs) => {
        seen.waits.push(withinMs);
        for (let next = queued.shift(); next !== undefined; next = queued.shift()) {
          const accepted = next === null ? null : accept(next);
          if (next === null || accepted !== null) return accepted;
        }
        return null;
      },
      giveUp: () => {
        seen.givenUp += 1;
        seen.isAlive = false;
      },
    };
  };
  return { links, runner: new SyncRunner({ defaults: { graceMs: 100 }, ...more }, open) };
}

describe('SyncRunner, without an answer', () => {
  it.each<[Effects, string, string]>([
    ['none', 'interrupted', 'HOST_LOST'],
    ['declared', 'indeterminate', 'INDETERMINATE'],
    ['opaque', 'indeterminate', 'INDETERMINATE'],
  ])('tells a tool with effects %s as %s', (effects, status, code) => {
    const { runner } = rig();
    const result = runner.runToolSync(toolOf(effects), 1);
    expect(result).toMatchObject({
      status,
      error: { code: `ERR_LEASEHOLD_${code}` },
      cause: { kind: 'host-lost', state: 'running' },
      lease: null,
      intents: [],
      durability: 'none',
    });
    expect(runResultSchema.safeParse(result).success).toBe(true);
  });

  it('waits for its budget, the bound of a stop and a second, and no longer', () => {
    const { runner, links } = rig();
    const { timing } = runner.runToolSync(toolOf('none'), 1, { operationTimeoutMs: 5_000 });
    const [waited = 0] = links[0]?.waits ?? [];
    expect(waited).toBeLessThanOrEqual(5_000 + timing.boundMs + 1_000);
    expect(waited).toBeGreaterThan(4_000 + timing.boundMs);
  });

  it.each([[undefined], [0], [-1], [Number.POSITIVE_INFINITY]])('has a budget also when given %s', (given) => {
    const { runner, links } = rig();
    runner.runToolSync(toolOf('none'), 1, { ...(given !== undefined && { operationTimeoutMs: given }) });
    const [sent] = (links[0]?.posted ?? []) as (ToThread & { t: 'call' })[];
    expect(sent?.options.operationTimeoutMs).toBeGreaterThan(50_000);
    expect(sent?.options.operationTimeoutMs).toBeLessThanOrEqual(60_000);
  });

  it('gives the thread up and opens another for the next call', () => {
    const { runner, links } = rig();
    runner.runToolSync(toolOf('none'), 1);
    runner.runToolSync(toolOf('none'), 1);
    expect(links.map(({ givenUp }) => givenUp)).toEqual([1, 1]);
  });

  it('opens another thread where the last is known to have ended', () => {
    const { runner, links } = rig([{ t: 'refused', call: 1, message: 'no' }]);
    expect(() => runner.runToolSync(toolOf('none'), 1)).toThrow('no');
    for (const link of links) link.isAlive = false;
    runner.runToolSync(toolOf('none'), 1);
    expect(links).toHaveLength(2);
  });

  it('of a thread that did not boot, says that nothing has run', () => {
    const { runner, links } = rig([], false);
    const result = runner.runToolSync(toolOf('opaque'), 1);
    expect(result).toMatchObject({ status: 'interrupted', error: { code: 'ERR_LEASEHOLD_LEASE_UNAVAILABLE' } });
    expect(links[0]).toMatchObject({ posted: [], givenUp: 1 });
  });

  it('takes no answer of an earlier call for its own', () => {
    const { runner } = rig([null, { t: 'refused', call: 1, message: 'too late' }, null]);
    runner.runToolSync(toolOf('none'), 1);
    expect(runner.runToolSync(toolOf('none'), 2)).toMatchObject({ error: { code: 'ERR_LEASEHOLD_HOST_LOST' } });
  });

  it('sends what was given at the door, whatever the authorizer does to it', () => {
    const labels: Record<string, string> = { colour: 'blue' };
    const options = { labels, operationTimeoutMs: 5_000 };
    const authorize = () => {
      labels['colour'] = 'red';
      options.operationTimeoutMs = Number.NaN;
      return { allow: true } as const;
    };
    const { links, runner } = rig([], true, { authorize });
    runner.runToolSync(toolOf('none'), 1, options);
    expect(links[0]?.posted).toMatchObject([{ options: { labels: { colour: 'blue' } } }]);
  });

  it('sends nothing where the authorizer returns a promise', () => {
    const authorize = (() => Promise.resolve({ allow: true })) as unknown as SyncAuthorizer;
    const { links, runner } = rig([], true, { authorize });
    expect(runner.runToolSync(toolOf('none'), 1)).toMatchObject({
      status: 'denied',
      error: { code: 'ERR_LEASEHOLD_AUTHORIZER_FAILED' },
    });
    expect(links).toEqual([]);
  });

  it('is not waited for where the authorizer has closed the runner', () => {
    const authorize = () => {
      runner.close();
      return { allow: true } as const;
    };
    const { links, runner } = rig([], true, { authorize });
    expect(runner.runToolSync(toolOf('none'), 1)).toMatchObject({ error: { code: 'ERR_LEASEHOLD_CLOSED' } });
    expect(links).toEqual([]);
  });

  it('to its close, is told by null', () => {
    const { runner, links } = rig([null]);
    runner.runToolSync(toolOf('none'), 1);
    expect(runner.close()).toMatchObject({ settled: 0 });
    const other = rig([{ t: 'refused', call: 1, message: 'no' }]);
    expect(() => other.runner.runToolSync(toolOf('none'), 1)).toThrow();
    expect(other.runner.close({ withinMs: 10 })).toBeNull();
    expect([links[0]?.givenUp, other.links[0]?.givenUp]).toEqual([1, 1]);
  });
});
