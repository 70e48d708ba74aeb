/**
 * A supervisor on a fake clock and fake threads, with every event it told.
 *
 * Invariant: nothing here is real time or a real thread, so a schedule played twice gives the same record.
 * Deliberately absent: expectations; each test has its own.
 */
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { Event } from '../../src/model/event.ts';
import type { SupervisorOptions } from '../../src/model/options.ts';
import type { Effects } from '../../src/model/tool.ts';
import { openSupervisor } from '../../src/supervisor.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { FakeTenures, type Far } from './fake-tenure.ts';

/** A tool whose module is never loaded: the fake far side plays it. */
export function fakeTool(effects: Effects = 'none', name = 'fake') {
  return defineTool({ name, module: 'file:///fake/tool.mjs', input: z.unknown(), effects });
}

export async function openFakeHost(far: Far = {}, options: Partial<SupervisorOptions> = {}) {
  const clock = new FakeClock();
  const tenures = new FakeTenures(far);
  const events: Event[] = [];
  const supervisor = openSupervisor(
    { isolates: 1, standby: 1, clock, observers: [{ onEvent: (event: Event) => events.push(event) }], ...options },
    { tenures },
  );
  await supervisor.untilReady();
  await settle();
  return { supervisor, clock, tenures, events };
}

/** Closes and walks the clock until the close has settled. */
export async function closeFake(host: Awaited<ReturnType<typeof openFakeHost>>, withinMs = 60_000) {
  let report: Awaited<ReturnType<typeof host.supervisor.close>> | null = null;
  const closing = host.supervisor.close({ withinMs }).then((settled) => {
    report = settled;
  });
  await settle();
  while (report === null && (await host.clock.step())) await settle();
  await closing;
  await settle();
  return report;
}
