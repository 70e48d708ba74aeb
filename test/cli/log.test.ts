/** `leasehold log`: who reads a log sees its entries, and nothing that was hidden; who cannot is told why. */
import { describe, expect, it } from 'vitest';
import { sqliteEventLog } from '../../src/sqlite/index.ts';
import { leftLog } from './logged.ts';
import { runCli, toolPath } from './spawn-cli.ts';

const quiet = { NODE_NO_WARNINGS: '1' };
const cli = (...args: string[]) => runCli(args, '', quiet);

describe('leasehold log', () => {
  it('shows a line for each entry, and says what decides', async () => {
    const { code, stdout, stderr } = await cli('log', await leftLog());
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(9);
    expect(lines[0]).toMatch(/^SEQ +TIME +RUN +REQUEST +ENTRY +EFFECT +SAYS$/);
    expect(lines[3]).toMatch(/^3 +1970-01-01T00:00:01\.000Z +run-of-req-1 +req-1 +closed +succeeded$/);
    expect(lines[8]).toMatch(/req-3 +dispatched +charge +pay, key order-3, hold$/);
  });

  it('keeps to one run, and to what is open', async () => {
    const file = await leftLog();
    const entriesOf = async (...args: string[]) =>
      (await cli('log', file, '--json', ...args)).stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { requestId: string; kind: string });
    expect((await entriesOf('--run', 'run-of-req-2')).map(({ kind }) => kind)).toEqual(['prepared', 'admitted']);
    const open = await entriesOf('--open');
    expect([...new Set(open.map(({ requestId }) => requestId))]).toEqual(['req-2', 'req-3']);
  });

  it('tells that somebody has the log open, with 75', async () => {
    const file = await leftLog();
    const log = await sqliteEventLog({ file });
    const { code, stderr } = await cli('log', file);
    await log.close();
    expect([code, stderr]).toEqual([75, 'leasehold: The event log is in use by another process or connection.\n']);
  });

  it.each(['no-such.db', toolPath('echo')])('tells that a file is no log, with 1: %#', async (file) => {
    const { code, stdout, stderr } = await cli('log', file);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^leasehold: The event log cannot be read/);
  });
});

describe('--log', () => {
  it('keeps the record of a run, its secret hidden, and its large input beside it', async () => {
    const file = await leftLog([]);
    const input = JSON.stringify({ token: 's3cr3t-word', text: 'x'.repeat(3_000) });
    const ran = await runCli(['run', toolPath('echo'), '--input', input, '--log', file, '--json'], '', quiet);
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'succeeded', durability: 'synced' });
    const { stdout } = await cli('log', file, '--json');
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries.map(({ kind }) => kind)).toEqual(['prepared', 'admitted', 'dispatched', 'settled', 'closed']);
    expect(entries[0].body).toMatchObject({ hadSecrets: true, input: { blob: expect.stringMatching(/^sha256:/) } });
    expect(entries[4].body).toMatchObject({ status: 'succeeded', value: { blob: entries[0].body.input.blob } });
    expect(stdout).not.toContain('s3cr3t');
  });

  it('decides first what a lost host left open, and says so', async () => {
    const file = await leftLog();
    const ran = await runCli(['run', toolPath('echo'), '--input', '1', '--log', file], '', quiet);
    expect(ran.stdout).toBe('1\n');
    expect(ran.stderr).toContain('2 attempts of lost hosts were closed in the log\n');
    expect(ran.stderr).toContain('1 effects in the log may or may not have happened\n');
  });

  it('is refused as usage where it cannot be opened, before anything runs', async () => {
    const { code, stdout, stderr } = await cli('run', toolPath('echo'), '--log', '/no/such/place.db');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('directory of the event log is missing');
  });
});
