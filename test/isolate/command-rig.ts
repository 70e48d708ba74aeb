/**
 * A command whose process and clock are the test's own.
 *
 * Invariant: nothing happens to it that the test did not ask for. Deliberately absent: real processes.
 */
import { CommandSource } from '../../src/isolate/command.ts';
import type { CommandPlan } from '../../src/model/work.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeBackend } from '../support/process-fakes.ts';
import { Commanded, shell } from '../support/process-rig.ts';

const PLAN = { drain: { quietMs: 250, maxMs: 2_000 } };
const GRACE_MS = 2_000;

/** A poll phase of the real loop passes between a timer and its effect. */
export async function polled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resume) => setImmediate(resume));
  await settle();
}

export function running(more: Partial<CommandPlan> = {}) {
  const clock = new FakeClock();
  const backend = new FakeBackend();
  const source = new CommandSource({ clock, backend, killMs: 2_000, sweepMs: 500 });
  const ran = new Commanded(source.open()).run(shell('', { ...PLAN, ...more }), GRACE_MS);
  const advance = async (ms: number) => {
    await clock.advance(ms);
    await polled();
  };
  const kinds = () => ran.all('looked').flatMap(({ findings }) => findings.map(({ kind }) => kind));
  return { clock, backend, source, ran, process: backend.process, advance, kinds };
}
