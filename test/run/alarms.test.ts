/** Alarms: one timer for all, rung once and not early, on a clock that may be late. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Alarm, Alarms } from '../../src/run/alarms.ts';
import { FakeClock } from '../support/fake-clock.ts';

function opened(onRing: (name: Alarm, alarms: Alarms) => void = () => undefined) {
  const clock = new FakeClock();
  const rung: [Alarm, number][] = [];
  const alarms: Alarms = new Alarms(clock, (name) => {
    rung.push([name, clock.now()]);
    onRing(name, alarms);
  });
  return { clock, rung, alarms };
}

describe('Alarms', () => {
  it('ring each at its instant, whatever the order they were set in', async () => {
    const { clock, rung, alarms } = opened();
    alarms.set('grace', 1_030);
    alarms.set('watch', 1_010);
    alarms.set('cancel', 1_020);
    expect(clock.pending).toBe(1);
    await clock.advance(100);
    expect(rung).toEqual([
      ['watch', 1_010],
      ['cancel', 1_020],
      ['grace', 1_030],
    ]);
    expect(clock.pending).toBe(0);
  });

  it('ring at the later instant once moved there', async () => {
    const { clock, rung, alarms } = opened();
    alarms.set('run-timeout', 1_010);
    alarms.set('run-timeout', 1_050);
    await clock.advance(100);
    expect(rung).toEqual([['run-timeout', 1_050]]);
  });

  it('ring what is overdue as soon as the loop is free', () => {
    const { clock, rung, alarms } = opened();
    alarms.set('run-timeout', 1_010);
    alarms.set('grace', 1_020);
    clock.jump(500);
    clock.fireDue();
    expect(rung.map(([name]) => name)).toEqual(['run-timeout', 'grace']);
  });

  it('ring at once for an instant that has passed', async () => {
    const { clock, rung, alarms } = opened();
    alarms.set('grace', 10);
    await clock.advance(0);
    expect(rung).toEqual([['grace', 1_000]]);
  });

  it('stay silent once cleared, and arm nothing further', async () => {
    const { clock, rung, alarms } = opened();
    alarms.set('grace', 1_010);
    alarms.set('watch', 1_020);
    alarms.clear('grace');
    alarms.clear('grace');
    alarms.clear('watch');
    await clock.advance(100);
    expect([rung, clock.pending]).toEqual([[], 0]);
  });

  it('drop all at once, from within a ring as well', () => {
    const { clock, rung, alarms } = opened((_, self) => self.clearAll());
    alarms.set('grace', 1_010);
    alarms.set('watch', 1_010);
    alarms.set('run-timeout', 1_200);
    clock.jump(50);
    clock.fireDue();
    expect(rung).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('ring again when set from within their own ring', async () => {
    const { clock, rung, alarms } = opened((name, self) => {
      if (rung.length < 3) self.set(name, clock.now() + 5);
    });
    alarms.set('watch', 1_005);
    await clock.advance(100);
    expect(rung.map(([, at]) => at)).toEqual([1_005, 1_010, 1_015]);
  });

  it('for any word of sets and clears, ring what is left once and never early', async () => {
    const name = fc.constantFrom<Alarm>('watch', 'run-timeout', 'grace', 'cancel', 'run-timeout');
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), name, ms: fc.integer({ min: 0, max: 50 }) }),
      fc.record({ do: fc.constant('clear' as const), name, ms: fc.constant(0) }),
      fc.record({ do: fc.constant('advance' as const), name, ms: fc.integer({ min: 0, max: 30 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, rung, alarms } = opened();
        const due = new Map<Alarm, number>();
        const expected: string[] = [];
        const ring = (until: number) => {
          for (const [alarm, at] of due) {
            if (at > until) continue;
            expected.push(`${alarm} ${at}`);
            due.delete(alarm);
          }
        };
        for (const { do: act, name: alarm, ms } of [
          ...steps,
          { do: 'advance' as const, name: 'watch' as const, ms: 100 },
        ]) {
          if (act === 'set') {
            alarms.set(alarm, clock.now() + ms);
            due.set(alarm, clock.now() + ms);
          } else if (act === 'clear') {
            alarms.clear(alarm);
            due.delete(alarm);
          } else {
            ring(clock.now() + ms);
            await clock.advance(ms);
          }
        }
        expect(rung.map(([alarm, at]) => `${alarm} ${at}`).sort()).toEqual(expected.sort());
        expect(clock.pending).toBe(0);
      }),
    );
  });
});

describe('within', () => {
  const never = new Promise<never>(() => {});

  it('ends with the work, and clears its alarm', async () => {
    const { clock, alarms } = opened();
    expect(await alarms.within(50, Promise.resolve('done'))).toBe('done');
    await clock.advance(50);
    expect(clock.pending).toBe(0);
  });

  it('ends with nothing at its bound, or when all is cleared', async () => {
    const { clock, rung, alarms } = opened();
    const late = alarms.within(50, never);
    await clock.advance(50);
    expect([await late, clock.now(), rung]).toEqual([null, 1_050, []]);
    const cleared = alarms.within(50, never);
    alarms.clearAll();
    expect([await cleared, clock.pending]).toEqual([null, 0]);
  });

  it('keeps its bound when the work of an earlier wait comes late', async () => {
    const { clock, alarms } = opened();
    let arrive = (): void => undefined;
    const first = alarms.within(10, new Promise<void>((resolve) => (arrive = resolve)));
    await clock.advance(10);
    expect(await first).toBeNull();
    const second: unknown[] = [];
    void alarms.within(10, never).then((value) => second.push(value));
    arrive();
    await clock.advance(10);
    expect(second).toEqual([null]);
  });
});
