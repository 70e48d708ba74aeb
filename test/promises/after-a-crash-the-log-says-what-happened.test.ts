/**
 * Promise: after a crash the log says what happened: nothing that may have happened is told as if it had not, what was told as
 * succeeded stays so, and what let nothing go may be run again.
 *
 * Invariant: the host is a real process, killed when each of its runs is where it is to be, and everything is read from its log.
 * Deliberately absent: kills at any other instant (`recovery/crash.test.ts`).
 */
import { join } from 'node:path';
import { createSupervisor, type LogEvent, type RecoveryReport } from 'leasehold';
import { sqliteEventLog } from 'leasehold/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { logFile } from '../sqlite/sqlite-rig.ts';
import { startProgram } from '../support/fault-programs.ts';

/** Who was where when the host was killed. */
const killed = async () => {
  const file = logFile();
  const { child, ended } = startProgram('payment-host.mjs', [file, join(file, '..', 'effects')], ['--no-warnings']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const ids: Record<string, string> = {};
  let text = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (piece: string) => {
      text += piece;
      if (text.includes('ready')) resolve();
    });
    void ended.then(({ stderr }) => reject(new Error(`the host ended by itself: ${stderr}`)));
  });
  child.kill('SIGKILL');
  expect((await ended).signal).toBe('SIGKILL');
  for (const [, name = '', id = ''] of text.matchAll(/^(\w+) (req-\S+)$/gm)) ids[name] = id;
  return { file, ids };
};

async function restarted(file: string) {
  const eventLog = await sqliteEventLog({ file });
  const supervisor = createSupervisor({ isolates: 1, standby: 0, eventLog });
  const report: RecoveryReport = await supervisor.recover();
  const events: LogEvent[] = [];
  for await (const event of eventLog.read()) events.push(event);
  await supervisor.close();
  await eventLog.close();
  const closedOf = (id = '') => events.filter(({ requestId, kind }) => requestId === id && kind === 'closed');
  return { report, closedOf, statusOf: (id?: string) => closedOf(id).map(({ body }) => body['status']) };
}

describe('after its host was killed', () => {
  it('a payment that was let go is indeterminate, one that was not is interrupted', async () => {
    const { file, ids } = await killed();
    const { report, statusOf } = await restarted(file);
    expect(Object.keys(ids).sort()).toEqual(['after', 'before', 'inside', 'queued', 'told']);
    expect(statusOf(ids['inside'])).toEqual(['indeterminate']);
    expect(statusOf(ids['before'])).toEqual(['interrupted']);
    expect(statusOf(ids['queued'])).toEqual(['interrupted']);
    expect(report.held).toMatchObject([{ requestId: ids['inside'], intent: 'charge', tool: 'pay' }]);
    expect(report.rerunnable.map(({ requestId }) => requestId).sort()).toEqual([ids['before'], ids['queued']].sort());
    expect(report.failures).toEqual([]);
  });

  it('one whose end was recorded says so, though its tool had not ended', async () => {
    const { file, ids } = await killed();
    const { report } = await restarted(file);
    const after = report.closed.find(({ requestId }) => requestId === ids['after']);
    expect(after).toMatchObject({ status: 'interrupted', intents: [{ intent: 'charge', state: 'applied' }] });
    expect(report.rerunnable.map(({ requestId }) => requestId)).not.toContain(ids['after']);
  });

  it('one that was told as succeeded still is, with its value', async () => {
    const { file, ids } = await killed();
    for (let restart = 0; restart < 2; restart += 1) {
      const { closedOf } = await restarted(file);
      expect(closedOf(ids['told'])).toMatchObject([{ body: { status: 'succeeded', value: 'paid' } }]);
    }
  });
});
