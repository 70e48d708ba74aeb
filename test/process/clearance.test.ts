/**
 * Clearance: when the first report is told, and when a run is clear.
 *
 * Invariant: the system and the clock are the test's own. Deliberately absent: what a search signals (`sweep.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { Clearance } from '../../src/process/clearance.ts';
import { ProcessGroup } from '../../src/process/group.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeBackend, LEADER, survivor } from '../support/process-fakes.ts';

function clearing(backend: FakeBackend) {
  const clock = new FakeClock();
  const told: string[] = [];
  const group = new ProcessGroup(backend, LEADER);
  const target = { backend, group, clock, withinMs: 500, isRead: null };
  const clearance: Clearance = new Clearance(
    target,
    { ...target, withinMs: 200 },
    {
      onSwept: ({ verdict }) => told.push(verdict),
      onClear: () => told.push('clear'),
    },
  );
  return { clock, clearance, told };
}
function leaving(): FakeBackend {
  const backend = new FakeBackend();
  backend.found = async () => [survivor()];
  return backend;
}

describe('Clearance', () => {
  it('of a run that left nothing is clear right after the report', async () => {
    const { clock, told } = clearing(new FakeBackend());
    expect(told).toEqual([]);
    await settle();
    expect([told, clock.pending]).toEqual([['clean', 'clear'], 0]);
  });

  it('of a contaminated run tells so at once, and is clear once nothing is left', async () => {
    const backend = leaving();
    const { clock, told } = clearing(backend);
    await clock.advance(500);
    expect(told).toEqual(['contaminated']);
    // Tries after 1 s and 2 s more, each bounded by its own 200 ms.
    await clock.advance(1_200 + 2_000 - 1);
    expect(told).toEqual(['contaminated']);
    backend.found = async () => [];
    await clock.advance(1);
    expect([told, clock.pending]).toEqual([['contaminated', 'clear'], 0]);
  });

  it('stopped during its first search, tells nothing', async () => {
    const { clock, clearance, told } = clearing(leaving());
    clearance.stop();
    await clock.advance(100_000);
    expect([told, clock.pending]).toEqual([[], 0]);
  });

  it('stopped after a report of contamination, comes back no more', async () => {
    const { clock, clearance, told } = clearing(leaving());
    await clock.advance(500);
    clearance.stop();
    await clock.advance(100_000);
    expect([told, clock.pending]).toEqual([['contaminated'], 0]);
  });
});
