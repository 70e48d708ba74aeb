/**
 * Logs as lost hosts left them, and their recovery on a fake clock.
 *
 * Invariant: entries are of epoch 1, and the recovering writer is of epoch 2, as after a restart; nothing is real time.
 * Deliberately absent: a supervisor, and processes.
 */
import type { Reconcile, RecoveryReport } from '../../src/model/recovery.ts';
import type { EventLog, LogEvent, LogEventKind, NewLogEvent } from '../../src/model/stores.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { type RecoverySetting, recover } from '../../src/record/recovery.ts';
import { FakeClock } from '../support/fake-clock.ts';

export type Entry = readonly [requestId: string, kind: LogEventKind, intent?: string, body?: object];

export const PREPARED = {
  tool: 'pay',
  effects: 'declared',
  input: { order: 7 },
  hadSecrets: false,
  isExact: true,
  checksOutput: false,
  idempotencyKey: null,
  labels: {},
};
export const begun = (requestId: string, over: object = {}): Entry[] => [
  [requestId, 'prepared', '', { ...PREPARED, ...over }],
  [requestId, 'admitted'],
];
export const dispatched = (
  requestId: string,
  onAmbiguous = 'hold',
  intent = 'charge',
  key = `key-${requestId}`,
): Entry => [requestId, 'dispatched', intent, { key, onAmbiguous, tool: 'pay' }];

export function entryOf([requestId, kind, intent = '', body = {}]: Entry): NewLogEvent {
  const names = { tenant: 'acme', run: 'r-1', branch: 'main', requestId, attempt: 1 };
  return { ...names, intent, kind, atWall: 1_000, body: body as LogEvent['body'] };
}

/** A log that outlives its writers. `reopen` is what a restart does to it. */
export function lostLog(entries: readonly Entry[]) {
  const log = memoryEventLog();
  for (const entry of entries) log.append(entryOf(entry));
  let lost = entries.length;
  const epochOf = (seq: number) => (seq <= lost ? 1 : 2);
  const eventLog: EventLog = {
    durability: 'synced',
    epoch: 2,
    append: async (event) => log.append(event),
    openIntents: () => log.openIntents(),
    async *read(filter) {
      for await (const event of log.read(filter)) yield { ...event, epoch: epochOf(event.seq) };
    },
  };
  const all = async (): Promise<LogEvent[]> => {
    const found: LogEvent[] = [];
    for await (const event of log.read()) found.push(event);
    return found;
  };
  /** What was written since the log was last opened. */
  const written = async () =>
    (await all()).slice(lost).map(({ requestId, kind, intent, body }) => ({ requestId, kind, intent, body }));
  const reopen = async () => {
    lost = (await all()).length;
  };
  return { eventLog, all, written, reopen };
}

/** Recovers, and walks the clock until it has settled. */
export async function recovered(
  eventLog: EventLog,
  hooks: Readonly<Record<string, Reconcile>> = {},
  over: Partial<RecoverySetting> = {},
): Promise<{ readonly report: RecoveryReport; readonly isRead: boolean; readonly clock: FakeClock }> {
  const clock = new FakeClock();
  const state: { done: Awaited<ReturnType<typeof recover>> | null } = { done: null };
  const recovery = recover({
    eventLog,
    append: (event) => eventLog.append(event),
    blobs: memoryBlobStore(),
    redactor: createRedactor({ values: ['hunter2'] }),
    clock,
    hooks,
    reconcileMs: 5_000,
    ended: new AbortController().signal,
    survivors: async () => [],
    ...over,
  }).then((done) => {
    state.done = done;
  });
  for (let turn = 0; state.done === null && turn < 2_000; turn += 1) {
    await new Promise<void>((resume) => setImmediate(resume));
    await clock.step();
  }
  await recovery;
  if (state.done === null) throw new Error('it has not settled');
  return { ...state.done, clock };
}
