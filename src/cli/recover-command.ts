/**
 * `leasehold recover`: what is to be decided of the attempts that lost hosts left open, told or written.
 *
 * Invariants: without `--apply` the log is only read; with it, the writer's lock is held, so no host can be at work on the log.
 * Deliberately absent: hooks, which are the application's: what asks for one is held here.
 */
import type { RecoveryReport } from '../index.ts';
import { systemClock } from '../model/time.ts';
import { NOTHING_KNOWN } from '../output/redaction.ts';
import { survivorsOfLostHosts } from '../process/survivors.ts';
import { fileBlobStore } from '../record/file-blob-store.ts';
import { recover } from '../record/recovery.ts';
import { sqliteEventLog } from '../sqlite/index.ts';
import type { RecoverOrder } from './arguments.ts';
import { complain, opened, print } from './log-command.ts';
import { blobsOf } from './record.ts';
import { LOG_EXIT_CODES } from './usage.ts';

/** Resolves with the exit code. */
export async function recoverLog(order: RecoverOrder): Promise<number> {
  // Only what is there is decided: a writer would make the file.
  const reader = await opened(order.file);
  if (typeof reader === 'number') return reader;
  if (!order.apply) return decideAndClose(order, reader, null);
  await reader.close();
  try {
    const eventLog = await sqliteEventLog({ file: order.file });
    return await decideAndClose(order, eventLog, (event) => eventLog.append(event));
  } catch (error) {
    return complain(error);
  }
}

type Setting = Parameters<typeof recover>[0];

async function decideAndClose(
  order: RecoverOrder,
  eventLog: Setting['eventLog'] & { close(): Promise<void> },
  append: Setting['append'],
): Promise<number> {
  try {
    return await decide(order, { eventLog, append });
  } finally {
    await eventLog.close();
  }
}

async function decide(
  { file, apply, json }: RecoverOrder,
  stores: Pick<Setting, 'eventLog' | 'append'>,
): Promise<number> {
  const { report } = await recover({
    ...stores,
    blobs: fileBlobStore({ root: blobsOf(file) }),
    redactor: NOTHING_KNOWN,
    clock: systemClock,
    hooks: {},
    reconcileMs: 1,
    ended: new AbortController().signal,
    survivors: survivorsOfLostHosts,
  });
  if (json) await print(JSON.stringify(report, null, 2));
  else for (const line of linesOf(report, apply)) await print(line);
  if (report.failures.some(({ step }) => step !== 'survivors')) return LOG_EXIT_CODES.failed;
  return report.held.length > 0 ? LOG_EXIT_CODES.held : 0;
}

function linesOf(report: RecoveryReport, apply: boolean): string[] {
  const { closed, held, rerunnable, reconciled, failures, survivors } = report;
  const lines = closed.map(
    ({ requestId, tool, status, withheld }) =>
      `${requestId}  ${tool}  ${status}${withheld === null ? '' : `; not to be repeated from the log: ${withheld}`}`,
  );
  lines.push(...reconciled.map(({ requestId, intent, verdict }) => `${requestId}  effect "${intent}"  ${verdict}`));
  lines.push(...held.map(({ requestId, intent, key, why }) => `${requestId}  effect "${intent}" ${key}  held: ${why}`));
  lines.push(...rerunnable.map(({ requestId, tool }) => `${requestId}  ${tool}  may be repeated`));
  lines.push(...failures.map(({ requestId, message }) => `${requestId ?? 'failed'}  ${message}`));
  if (lines.length === 0) lines.push('Nothing is open.');
  lines.push(...survivors.map(({ pid, name, since }) => `process ${pid} (${name}) of a lost host runs since ${since}`));
  if (!apply && closed.length + reconciled.length > 0) lines.push('Nothing was written; --apply writes it.');
  return lines;
}
