/** `leasehold recover`: what is to be decided is told, written only when asked for, and then there is nothing left to decide. */
import { describe, expect, it } from 'vitest';
import { sqliteEventLog } from '../../src/sqlite/index.ts';
import { LEFT, leftLog } from './logged.ts';
import { runCli } from './spawn-cli.ts';

const cli = (...args: string[]) => runCli(args, '', { NODE_NO_WARNINGS: '1' });

async function kinds(file: string): Promise<string[]> {
  const log = await sqliteEventLog({ file });
  const found: string[] = [];
  for await (const { requestId, kind, body } of log.read()) {
    if (kind === 'closed' || kind === 'reconciled')
      found.push(`${requestId} ${kind} ${body['status'] ?? body['verdict']}`);
  }
  await log.close();
  return found;
}

/** What is said of the log: processes of other lost hosts on this machine may be told as well. */
function linesOfLog(stdout: string): string[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '' && !/^process \d+ \(.+\) of a lost host runs since /.test(line));
}

describe('leasehold recover', () => {
  it('tells what is to be decided, writes nothing, and ends with 125 for a held effect', async () => {
    const file = await leftLog();
    const { code, stdout, stderr } = await cli('recover', file);
    expect([code, stderr]).toEqual([125, '']);
    expect(linesOfLog(stdout)).toEqual([
      'req-2  pay  interrupted',
      'req-3  pay  indeterminate',
      'req-3  effect "charge" order-3  held: its onAmbiguous is hold',
      'req-2  pay  may be repeated',
      'Nothing was written; --apply writes it.',
    ]);
    expect(await kinds(file)).toEqual(['req-1 closed succeeded']);
  });

  it('writes it when told so, and then only what is held is left', async () => {
    const file = await leftLog();
    expect((await cli('recover', file, '--apply')).code).toBe(125);
    const decided = ['req-1 closed succeeded', 'req-2 closed interrupted', 'req-3 closed indeterminate'];
    expect(await kinds(file)).toEqual(decided);
    const { stdout } = await cli('recover', file, '--apply', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ closed: [], held: [{ requestId: 'req-3' }], failures: [] });
    expect(await kinds(file)).toEqual(decided);
  });

  it('ends with 0 where nothing is held', async () => {
    const { code, stdout } = await cli('recover', await leftLog(LEFT.slice(0, 3)));
    expect([code, linesOfLog(stdout)]).toEqual([0, ['Nothing is open.']]);
  });

  it('refuses a log that somebody has open, with 75', async () => {
    const file = await leftLog();
    const log = await sqliteEventLog({ file });
    const codes = [(await cli('recover', file)).code, (await cli('recover', file, '--apply')).code];
    await log.close();
    expect(codes).toEqual([75, 75]);
  });

  it('makes no file where there is none, with 1', async () => {
    const { code, stderr } = await cli('recover', 'no-such.db', '--apply');
    expect(code).toBe(1);
    expect(stderr).toContain('cannot be read');
  });
});
