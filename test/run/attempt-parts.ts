/**
 * What an attempt is given, for tests of its parts.
 *
 * Invariant: everything is in memory and on a fake clock, and every event is kept. Deliberately absent: an isolate.
 */
import { z } from 'zod';
import { ActorTree } from '../../src/isolate/actor-tree.ts';
import { defineTool } from '../../src/model/define-tool.ts';
import { DEFAULTS } from '../../src/model/options.ts';
import type { LogEvent } from '../../src/model/stores.ts';
import type { Effects } from '../../src/model/tool.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import type { AttemptSetting, BareEvent } from '../../src/run/attempt-setting.ts';
import { type AttemptNames, Journal } from '../../src/run/journal.ts';
import { NO_DEADLINE, ScopeCtx } from '../../src/scope/ctx.ts';
import { FakeClock } from '../support/fake-clock.ts';

export const NAMES: AttemptNames = { tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'req-1', attempt: 1 };

export function attemptParts(over: Partial<AttemptSetting> = {}, effects: Effects = 'declared') {
  const clock = new FakeClock();
  const eventLog = over.eventLog ?? memoryEventLog();
  const blobs = memoryBlobStore();
  const events: BareEvent[] = [];
  const source = { eventLog, blobs, signal: new AbortController().signal };
  const setting: AttemptSetting = {
    host: {
      onLost: () => undefined,
      onLeaseEnded: () => undefined,
      onEnded: () => undefined,
      authorizeHop: () => Promise.resolve(),
    },
    actors: new ActorTree('supervisor-1', () => undefined, null),
    clock,
    eventLog,
    blobs,
    redactor: createRedactor({ values: ['hunter2'] }),
    startedAt: clock.now(),
    arrivedAt: clock.now(),
    names: NAMES,
    tool: defineTool({ name: 'fake', module: 'file:///fake/tool.mjs', input: z.unknown(), effects }),
    input: { page: 1 },
    transfer: [],
    ctx: new ScopeCtx(source, 'acme', 'r-1', 'main', NO_DEADLINE, null),
    idempotencyKey: null,
    bounds: DEFAULTS.bounds,
    output: DEFAULTS.output,
    condemn: {},
    deadlines: [],
    emit: (event) => events.push(event),
    notifyPrepared: null,
    onProgress: null,
    onOutput: null,
    ...over,
  };
  return { clock, events, setting, journal: new Journal(eventLog, NAMES, clock) };
}

/** Everything a log holds. */
export async function entriesOf({ eventLog }: AttemptSetting): Promise<LogEvent[]> {
  const entries: LogEvent[] = [];
  for await (const entry of eventLog.read()) entries.push(entry);
  return entries;
}
