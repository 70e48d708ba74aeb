/** Prepared: what is about to run, told once, redacted and detached. */
import { describe, expect, it } from 'vitest';
import type { PreparedRun } from '../../src/model/control-shapes.ts';
import type { RunOptions } from '../../src/model/option-shapes.ts';
import { DEFAULTS } from '../../src/model/options.ts';
import { notifyPrepared } from '../../src/run/prepared.ts';
import { attemptParts } from './attempt-parts.ts';

function notified(
  onPrepared: NonNullable<RunOptions['onPrepared']>,
  input: unknown = {},
  labels: Record<string, string> = {},
) {
  const { tool, ctx, redactor } = attemptParts().setting;
  notifyPrepared(onPrepared, { tool, input, ctx, bounds: DEFAULTS.bounds, labels, redactor });
}
function told(input: unknown, labels: Record<string, string> = {}): PreparedRun {
  const heard: PreparedRun[] = [];
  notified((_, prepared) => void heard.push(prepared), input, labels);
  return heard[0] as PreparedRun;
}

describe('notifyPrepared', () => {
  it('tells names, bounds and input, without known values and hidden keys', () => {
    expect(told({ page: 3, note: 'by hunter2', password: 'x' }, { colour: 'blue' })).toEqual({
      tool: 'fake',
      input: { page: 3, note: 'by [redacted]', password: '[redacted]' },
      tenant: 'acme',
      run: 'r-1',
      branch: 'main',
      effects: 'declared',
      isolation: 'thread',
      limits: { runTimeoutMs: 30_000, graceMs: 2_000, queueTimeoutMs: 600_000 },
      labels: { colour: 'blue' },
    });
  });

  it('shares nothing with what will run', () => {
    const [input, labels] = [{ deep: { page: 3 } }, { colour: 'blue' }];
    const prepared = told(input, labels) as unknown as {
      input: { deep: { page: number } };
      labels: Record<string, string>;
    };
    prepared.input.deep.page = 99;
    prepared.labels['colour'] = 'red';
    expect([input.deep.page, labels.colour]).toEqual([3, 'blue']);
  });

  it('leaves no rejection of a promise unhandled, and refuses it all the same', async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    const late = (async () => {
      throw new Error('late');
    }) as unknown as () => undefined;
    expect(() => notified(late)).toThrow(/must be synchronous/);
    await new Promise(setImmediate);
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
  });

  it('throws what the callback throws, and refuses a promise', () => {
    expect(() =>
      notified(() => {
        throw new RangeError('not now');
      }),
    ).toThrow('not now');
    expect(() => notified((async () => undefined) as unknown as () => undefined)).toThrow(/must be synchronous/);
  });
});
