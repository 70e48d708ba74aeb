/**
 * An event log in memory that acknowledges entries of some kinds only when told to.
 *
 * Invariant: what is not released was not recorded; everything else is recorded at once. Deliberately absent: time.
 */
import type { EventLog, LogEvent, LogEventKind } from '../../src/model/stores.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';

export function heldLog(kinds: readonly LogEventKind[], durability: EventLog['durability'] = 'none') {
  const log = memoryEventLog();
  const held: (() => void)[] = [];
  const eventLog: EventLog = {
    durability,
    read: (filter) => log.read(filter),
    openIntents: () => log.openIntents(),
    append: (event) =>
      kinds.includes(event.kind)
        ? new Promise((resolve, reject) => {
            held.push(() => {
              try {
                resolve(log.append(event));
              } catch (error) {
                reject(error);
              }
            });
          })
        : log.append(event),
  };
  /** Records what is held, in order. */
  const release = (): void => {
    for (const record of held.splice(0)) record();
  };
  /** Everything recorded so far. */
  const entries = async (): Promise<LogEvent[]> => {
    const all: LogEvent[] = [];
    for await (const entry of log.read()) all.push(entry);
    return all;
  };
  return { eventLog, held, release, entries };
}
