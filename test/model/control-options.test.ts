/** The options retry and repair: what is accepted, and how the rest is completed. */
import { describe, expect, it } from 'vitest';
import { repairOf, retryOf } from '../../src/model/control-options.ts';
import { parseRunOptions, parseSupervisorOptions } from '../../src/model/options.ts';

const refused = (option: string) => expect.objectContaining({ message: expect.stringContaining(`"${option}"`) });
const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('retry', () => {
  it('is completed, and copied: later changes of it change nothing', () => {
    const given = { attempts: 5, backoff: { initialMs: 7 } };
    const retry = retryOf(given);
    given.attempts = 9;
    given.backoff.initialMs = 9;
    expect(retry).toEqual({
      attempts: 5,
      backoff: { initialMs: 7, factor: 2, maxMs: 10_000, jitter: 1, random: Math.random },
      when: null,
    });
    expect([Object.isFrozen(retry), Object.isFrozen(retry?.backoff)]).toEqual([true, true]);
    expect(retryOf({})?.attempts).toBe(3);
    expect(retryOf(undefined)).toBeNull();
  });

  it('knows its jitter by two words and as a share', () => {
    const jitters = (['full', 'none', 0.25] as const).map((jitter) => retryOf({ backoff: { jitter } })?.backoff.jitter);
    expect(jitters).toEqual([1, 0, 0.25]);
  });

  it.each([
    ['retry', 3],
    ['retry.attempts', { attempts: 0 }],
    ['retry.attempts', { attempts: 101 }],
    ['retry.when', { when: 'always' }],
    ['retry.backoff', { backoff: 5 }],
    ['retry.backoff.initialMs', { backoff: { initialMs: -1 } }],
    ['retry.backoff.factor', { backoff: { factor: 0.5 } }],
    ['retry.backoff.maxMs', { backoff: { maxMs: Number.POSITIVE_INFINITY } }],
    ['retry.backoff.jitter', { backoff: { jitter: 2 } }],
    ['retry.backoff.random', { backoff: { random: 0.5 } }],
    ['tries', { tries: 3 }],
  ])('names %s where %j is not accepted', (option, given) => {
    expect(caught(() => parseRunOptions({ retry: given as never }))).toEqual(refused(option));
    expect(caught(() => parseSupervisorOptions({ retry: given as never }))).toEqual(refused(option));
  });
});

describe('repair', () => {
  it('is a function, or one with its bounds', () => {
    const repair = () => undefined;
    expect(repairOf(repair)).toEqual({ with: repair, attempts: 3, withinMs: null });
    expect(repairOf({ with: repair, attempts: 1, withinMs: 50 })).toEqual({ with: repair, attempts: 1, withinMs: 50 });
    expect(repairOf(undefined)).toBeNull();
  });

  it.each([
    ['repair', 3],
    ['repair.with', {}],
    ['repair.with', { with: 7 }],
    ['repair.attempts', { with: Object, attempts: 0 }],
    ['repair.withinMs', { with: Object, withinMs: 0 }],
  ])('names %s where it is not accepted: %j', (option, given) => {
    expect(caught(() => parseRunOptions({ repair: given as never }))).toEqual(refused(option));
  });
});
