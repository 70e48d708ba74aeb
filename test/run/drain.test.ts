/** The drain after an answer: looks, reset, health check; each bounded, the first finding ends it. */
import { describe, expect, it } from 'vitest';
import type { Isolate } from '../../src/isolate/isolate.ts';
import { DEFAULTS } from '../../src/model/options.ts';
import { Drain, type Within } from '../../src/run/drain.ts';
import type { SettledMessage, WireFinding } from '../../src/wire/protocol.ts';

const { bounds } = DEFAULTS;
const looksMs = 2_750;
const LEAK: WireFinding = { kind: 'residual-handle' };
const ended = (over: Partial<SettledMessage> = {}): SettledMessage => {
  return { t: 'settled', n: '', seq: 4, ok: true, clean: false, reset: true, healthCheck: true, ranMs: 1, ...over };
};

interface Hooks {
  readonly reset?: () => Promise<{ findings: readonly WireFinding[] }>;
  readonly healthCheck?: () => Promise<void>;
}

/** Runs a drain whose every wait is kept; `late` names the waits whose time is up. */
async function drained(
  record: SettledMessage,
  looks: readonly WireFinding[],
  hooks: Hooks = {},
  late: readonly number[] = [],
) {
  const called: string[] = [];
  const waits: number[] = [];
  const within: Within = async (ms, work) => {
    waits.push(ms);
    return late.includes(waits.length) ? null : work;
  };
  const isolate = {
    hooks: () => ({
      reset: (seq: number) => {
        called.push(`reset ${seq}`);
        return hooks.reset?.() ?? Promise.resolve({ findings: [] });
      },
      healthCheck: (seq: number) => {
        called.push(`healthCheck ${seq}`);
        return hooks.healthCheck?.() ?? Promise.resolve();
      },
    }),
  } as unknown as Isolate;
  const drain = new Drain(bounds, looksMs, within);
  const running = drain.run(record, isolate);
  drain.looked(looks);
  const found = await running;
  return { found, called, waits };
}

describe('drain', () => {
  it('looks, resets and checks, each within its own bound', async () => {
    const { found, called, waits } = await drained(ended(), []);
    expect(found).toEqual([]);
    expect(called).toEqual(['reset 4', 'healthCheck 4']);
    expect(waits).toEqual([looksMs, bounds.resetMs, bounds.healthMs]);
  });

  it('waits for nothing that is not due', async () => {
    const { found, called, waits } = await drained(ended({ clean: true, reset: false, healthCheck: false }), [LEAK]);
    expect({ found, called, waits }).toEqual({ found: [], called: [], waits: [] });
  });

  it('ends at the first finding of the looks', async () => {
    const { found, called } = await drained(ended(), [LEAK]);
    expect(found).toEqual([LEAK]);
    expect(called).toEqual([]);
  });

  it('ends at what the looks after a reset find', async () => {
    const { found, called } = await drained(ended({ clean: true }), [], { reset: async () => ({ findings: [LEAK] }) });
    expect(found).toEqual([LEAK]);
    expect(called).toEqual(['reset 4']);
  });

  it.each([
    [1, 'health-failed', 'the isolate did not answer after the run within 2750 ms'],
    [2, 'reset-failed', 'reset did not return within 1000 ms'],
    [3, 'health-failed', 'healthCheck did not return within 1000 ms'],
  ])('tells of step %i that is late', async (step, kind, detail) => {
    const { found, waits } = await drained(ended(), [], {}, [step]);
    expect(found).toEqual([{ kind, detail }]);
    expect(waits).toHaveLength(step);
  });

  it.each([
    ['reset', 'reset-failed'],
    ['healthCheck', 'health-failed'],
  ] as const)('takes a %s that throws for a finding, whatever it throws', async (hook, kind) => {
    for (const thrown of [new Error('broken'), null, Symbol('odd')]) {
      const { found } = await drained(ended(), [], { [hook]: () => Promise.reject(thrown) });
      expect(found).toMatchObject([{ kind, detail: expect.any(String) }]);
    }
  });
});
