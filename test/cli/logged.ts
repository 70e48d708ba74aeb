/**
 * A log as a lost host left it, for the commands that read logs.
 *
 * Invariant: nobody has it open when this resolves. Deliberately absent: a host; the entries are written here.
 */
import type { LogEventKind } from '../../src/model/stores.ts';
import { sqliteEventLog } from '../../src/sqlite/index.ts';
import { logFile } from '../sqlite/sqlite-rig.ts';

type Entry = readonly [requestId: string, kind: LogEventKind, body?: object, intent?: string];

export const PREPARED = { tool: 'pay', effects: 'declared', hadSecrets: false, isExact: true, checksOutput: false };
const intent = (key: string, onAmbiguous = 'hold') => ({ key, onAmbiguous, tool: 'pay' });

/** One attempt that ended, one that never ran, and one whose charge nobody knows of. */
export const LEFT: readonly Entry[] = [
  ['req-1', 'prepared', { ...PREPARED, input: { order: 1 } }],
  ['req-1', 'admitted'],
  ['req-1', 'closed', { status: 'succeeded', cause: null, code: null }],
  ['req-2', 'prepared', { ...PREPARED, input: { order: 2 } }],
  ['req-2', 'admitted'],
  ['req-3', 'prepared', { ...PREPARED, input: { order: 3 } }],
  ['req-3', 'admitted'],
  ['req-3', 'dispatched', intent('order-3'), 'charge'],
];

export async function leftLog(entries: readonly Entry[] = LEFT): Promise<string> {
  const file = logFile();
  const log = await sqliteEventLog({ file });
  const names = { tenant: 'acme', branch: 'main', attempt: 1 };
  await Promise.all(
    entries.map(([requestId, kind, body = {}, of = '']) =>
      log.append({
        ...names,
        run: `run-of-${requestId}`,
        requestId,
        kind,
        intent: of,
        atWall: 1_000,
        body: { ...body },
      }),
    ),
  );
  await log.close();
  return file;
}
