/**
 * CommandTenure on real processes: what becomes of those that outlive a command.
 *
 * Invariant: what a test waits for is a record, an exit, or a line the program wrote. Deliberately absent: the command's own
 * end (`command.test.ts`).
 */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { command, isLive, leavesNoProcess, pidOf, shell, turnsUntil } from '../support/process-rig.ts';

leavesNoProcess();

describe('what outlives a command', () => {
  it('orphan: is named by the pipe it holds, ended and counted', async () => {
    const ran = command().run(shell('sleep 45 & echo orphan=$!'));
    const { settled, drained, looked } = await ran.end();
    const pid = pidOf(ran.text(), 'orphan');
    expect(settled).toMatchObject({ ok: true, exit: { code: 0, signal: null } });
    expect(drained).toMatchObject({ ended: 'quiet', holders: [`sleep (${pid})`], stdoutEof: true });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(isLive(pid)).toBe(false);
    await ran.terminated();
  });

  it('without a pipe: is ended too, with nothing to wait for', async () => {
    const ran = command().run(shell('sleep 45 >/dev/null 2>&1 & echo orphan=$!'));
    const { drained, looked } = await ran.end();
    expect(drained).toMatchObject({ ended: 'eof', holders: [] });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(isLive(pidOf(ran.text(), 'orphan'))).toBe(false);
    await ran.terminated();
  });

  it('is left and named where the plan allows it', async () => {
    const ran = command().run(shell('sleep 45 & echo orphan=$!', { onOrphans: 'allow' }));
    const { settled, drained, looked } = await ran.end();
    const pid = pidOf(ran.text(), 'orphan');
    expect(settled.ok).toBe(true);
    expect(drained).toMatchObject({ ended: 'quiet', stdoutEof: false });
    expect(looked.findings).toEqual([{ kind: 'orphans-left', detail: `1 process: sleep (${pid})` }]);
    await ran.terminated();
    expect(isLive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await turnsUntil(() => !isLive(pid));
  });

  it('makes a failure where the plan says so, told once it is known', async () => {
    const ran = command().run(shell('sleep 45 & echo orphan=$!', { onOrphans: 'fail' }));
    const { settled, looked } = await ran.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: 0, signal: null } });
    expect(settled.failure).toMatchObject({ code: 'EXIT_CODE', ofStop: false, message: 'Processes outlived "sh".' });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(ran.records.map(({ t }) => t).slice(-3)).toEqual(['settled', 'drained', 'looked']);
    await ran.terminated();
  });

  it('that is nothing makes no failure', async () => {
    const ran = command().run(shell('exit 0', { onOrphans: 'fail' }));
    expect((await ran.end()).settled.ok).toBe(true);
    await ran.terminated();
  });

  it('in a session of its own is found by the marker', async () => {
    // Without a pipe to the host nothing but the environment tells of it, and only a stopped run is searched for that.
    const ran = command().run(shell("setsid sh -c 'echo ready; exec sleep 45 >/dev/null 2>&1' & wait"));
    await ran.untilText('ready');
    ran.stop();
    const { looked } = await ran.end();
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await ran.terminated();
  });

  it('without an environment is found by the pipe it holds', async () => {
    const stdin = new PassThrough();
    const escapes = "env -i setsid sh -c 'echo ready; exec sleep 45' & read line";
    const ran = command().run(shell(escapes, { stdin }));
    await ran.untilText('ready');
    stdin.end('go');
    const { drained, looked } = await ran.end();
    expect(drained.holders).toEqual([expect.stringMatching(/^(sleep|sh) \(\d+\)$/)]);
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await ran.terminated();
  });

  it('setsidw: that keeps writing is read until the cap, then ended', async () => {
    const writes = 'while :; do echo more; done';
    const ran = command().run(shell(`setsid sh -c '${writes}' & exit 0`, { drain: { quietMs: 300, maxMs: 301 } }));
    const { drained, looked } = await ran.end();
    expect(drained.ended).toBe('cap');
    expect(drained.holders.length).toBeGreaterThan(0);
    expect(looked.findings.map(({ kind }) => kind)).toEqual(['orphans-killed']);
    await ran.terminated();
  });

  it('by job control is found by the session', async () => {
    const script = 'set -m; sleep 45 & echo a=$!; sleep 45 & echo b=$!; exit 0';
    const ran = command().run(shell('', { file: 'bash', args: ['-c', script] }));
    const { looked } = await ran.end();
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '2 processes' }]);
    expect([pidOf(ran.text(), 'a'), pidOf(ran.text(), 'b')].some(isLive)).toBe(false);
    await ran.terminated();
  });
});
