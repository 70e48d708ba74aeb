/**
 * PipeDrain: when reading an ended process's pipes is over.
 *
 * Invariant: the clock and the poll phases are the test's own. Deliberately absent: pipes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DrainEnd, PipeDrain } from '../../src/process/drain.ts';
import { FakeClock } from '../support/fake-clock.ts';

const BOUNDS = { quietMs: 100, maxMs: 500 };

/** A drain whose poll phases pass when told; what comes in one is written by `during`. */
function draining(bounds = BOUNDS) {
  const clock = new FakeClock();
  const ends: { readonly ended: DrainEnd; readonly at: number }[] = [];
  const polls: (() => void)[] = [];
  const startedAt = clock.now();
  const drain = new PipeDrain(
    clock,
    bounds,
    (ended) => ends.push({ ended, at: clock.now() - startedAt }),
    (then) => polls.push(then),
  );
  const poll = (during: () => void = () => undefined) => {
    during();
    for (const then of polls.splice(0)) then();
  };
  /** Time passes, with a poll phase after each timer. */
  const advance = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1) {
      await clock.advance(1);
      poll();
    }
  };
  return { clock, drain, ends, poll, advance };
}

describe('PipeDrain', () => {
  it('ends at the end of both streams, at once', () => {
    const { drain, ends } = draining();
    drain.noteEnd();
    drain.noteEnd();
    expect(ends).toEqual([{ ended: 'eof', at: 0 }]);
  });

  it('ends after a quiet time', async () => {
    const { ends, advance } = draining();
    await advance(99);
    expect(ends).toEqual([]);
    await advance(1);
    expect(ends).toEqual([{ ended: 'quiet', at: 100 }]);
  });

  it('counts the quiet time from the last bytes', async () => {
    const { drain, ends, advance } = draining();
    await advance(60);
    drain.noteChunk();
    await advance(99);
    expect(ends).toEqual([]);
    await advance(1);
    expect(ends).toEqual([{ ended: 'quiet', at: 160 }]);
  });

  it('ends at the cap, however much comes', async () => {
    const { drain, ends, advance } = draining();
    for (let at = 0; at < 500; at += 50) {
      drain.noteChunk();
      await advance(50);
    }
    expect(ends).toEqual([{ ended: 'cap', at: 500 }]);
  });

  it('goes on when bytes were waiting while the host was blocked', () => {
    const { clock, drain, ends, poll } = draining();
    clock.jump(400);
    clock.fireDue();
    poll(() => drain.noteChunk());
    expect(ends).toEqual([]);
  });

  it('ends by the streams when their ends were waiting past the cap', () => {
    const { clock, drain, ends, poll } = draining();
    clock.jump(9_000);
    clock.fireDue();
    poll(() => drain.noteEnd());
    expect(ends).toEqual([{ ended: 'eof', at: 9_000 }]);
  });

  it('cut, says nothing more and leaves no timer', async () => {
    const { clock, drain, ends, advance } = draining();
    drain.cut();
    drain.noteChunk();
    drain.noteEnd();
    await advance(600);
    expect([ends, clock.pending]).toEqual([[], 0]);
  });

  it('for any schedule ends exactly once, within its bound, and no earlier than it may', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('chunk' as const) }),
      fc.record({ kind: fc.constant('poll' as const) }),
      fc.record({ kind: fc.constant('end' as const) }),
      fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 120 }) }),
      fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: 1, max: 400 }) }),
    );
    const bounds = fc.record({ quietMs: fc.integer({ min: 1, max: 200 }), maxMs: fc.integer({ min: 1, max: 600 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), bounds, async (steps, { quietMs, maxMs }) => {
        const { clock, drain, ends, poll } = draining({ quietMs, maxMs });
        const startedAt = clock.now();
        let lastChunkAt = startedAt;
        let hasEnded = false;
        for (const next of steps) {
          if (next.kind === 'chunk') {
            if (ends.length === 0) lastChunkAt = clock.now();
            drain.noteChunk();
          } else if (next.kind === 'poll') poll();
          else if (next.kind === 'end') {
            hasEnded ||= ends.length === 0;
            drain.noteEnd();
          } else if (next.kind === 'jump') clock.jump(next.ms);
          else await clock.advance(next.ms);
        }
        const lastStepAt = clock.now();
        for (let turn = 0; turn <= maxMs && ends.length === 0; turn += 1) {
          clock.fireDue();
          poll();
          if (ends.length === 0) await clock.advance(1);
        }
        await clock.advance(2 * maxMs);
        poll();
        expect(ends).toHaveLength(1);
        const [{ ended, at } = { ended: 'eof', at: 0 }] = ends;
        expect(ended === 'eof').toBe(hasEnded);
        // The host reads nothing while it is blocked: time that passed at once counts from the last step.
        expect(at).toBeLessThanOrEqual(Math.max(maxMs, lastStepAt - startedAt));
        if (ended === 'cap') expect(at).toBeGreaterThanOrEqual(maxMs);
        if (ended === 'quiet') expect(startedAt + at - lastChunkAt).toBeGreaterThanOrEqual(quietMs);
        expect(clock.pending).toBe(0);
      }),
    );
  });
});
