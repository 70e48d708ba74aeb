/**
 * CommandTenure on real processes: every way a command ends, and what becomes of those it leaves.
 *
 * Invariant: what a test waits for is a record, an exit, or a line the program wrote. Deliberately absent: bounds
 * (`command-bounds.test.ts`) and commands that cannot start (`command-start.test.ts`).
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { command, isLive, leavesNoProcess, pidOf, shell, turnsUntil } from '../support/process-rig.ts';

leavesNoProcess();

/** Waits for a signal. A shell looks at its traps while it waits for a child in the background only. */
const WAITS = 'sleep 45 & echo ready; while :; do wait; done';

function makeFifo() {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-command-'));
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}

describe('a command that ends by itself', () => {
  it('answers with its exit, then tells that all was read and nothing is left', async () => {
    const it = command().run(shell('printf out; printf err >&2'));
    const { settled, drained, looked } = await it.end();
    expect(settled).toMatchObject({ ok: true, value: { exitCode: 0, signal: null }, exit: { code: 0, signal: null } });
    expect(drained).toMatchObject({ ended: 'eof', holders: [], stdoutEof: true, stderrEof: true });
    expect(looked.findings).toEqual([]);
    expect([it.text(), it.text('stderr')]).toEqual(['out', 'err']);
    expect(it.records.map(({ t }) => t).slice(-2)).toEqual(['drained', 'looked']);
    expect(await it.terminated()).toEqual({ code: 0, signal: null, error: null });
  });

  it('fails by an exit code that does not count, and tells no argument', async () => {
    const it = command().run(shell('exit 3 # hidden'));
    const { settled } = await it.end();
    expect(settled.failure).toMatchObject({ code: 'EXIT_CODE', ofStop: false });
    expect(settled.failure?.fields).toEqual({ program: 'sh', arguments: 2, exitCode: 3, signal: null });
    expect(JSON.stringify(settled)).not.toContain('hidden');
    await it.terminated();
  });

  it('tells its arguments where the plan makes them public', async () => {
    const it = command().run(shell('exit 3', { publicArgs: true }));
    expect((await it.end()).settled.failure?.fields?.['arguments']).toEqual(['-c', 'exit 3']);
    await it.terminated();
  });

  it('succeeds by any code the plan counts as success', async () => {
    const it = command().run(shell('exit 3', { okExitCodes: [0, 3] }));
    expect((await it.end()).settled).toMatchObject({ ok: true, value: { exitCode: 3, signal: null } });
    await it.terminated();
  });

  it('fails by the signal of its own that ended it', async () => {
    const it = command().run(shell('kill -SEGV $$'));
    const { settled } = await it.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: null, signal: 'SIGSEGV' } });
    expect(settled.failure).toMatchObject({ ofStop: false, message: '"sh" ended by signal SIGSEGV.' });
    await it.terminated();
  });

  it('loses no byte of a long output', async () => {
    const it = command().run(shell('head -c 3000000 /dev/zero; echo end'));
    await it.end();
    expect(it.text()).toHaveLength(3_000_004);
    expect(it.text().slice(-4)).toBe('end\n');
    expect(it.all('output').every(({ bytes }) => bytes.byteLength > 0)).toBe(true);
    await it.terminated();
  });
});

describe('what outlives a command', () => {
  it('orphan: is named by the pipe it holds, ended and counted', async () => {
    const it = command().run(shell('sleep 45 & echo orphan=$!'));
    const { settled, drained, looked } = await it.end();
    const pid = pidOf(it.text(), 'orphan');
    expect(settled).toMatchObject({ ok: true, exit: { code: 0, signal: null } });
    expect(drained).toMatchObject({ ended: 'quiet', holders: [`sleep (${pid})`], stdoutEof: true });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(isLive(pid)).toBe(false);
    await it.terminated();
  });

  it('without a pipe: is ended too, with nothing to wait for', async () => {
    const it = command().run(shell('sleep 45 >/dev/null 2>&1 & echo orphan=$!'));
    const { drained, looked } = await it.end();
    expect(drained).toMatchObject({ ended: 'eof', holders: [] });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(isLive(pidOf(it.text(), 'orphan'))).toBe(false);
    await it.terminated();
  });

  it('is left and named where the plan allows it', async () => {
    const it = command().run(shell('sleep 45 & echo orphan=$!', { onOrphans: 'allow' }));
    const { settled, drained, looked } = await it.end();
    const pid = pidOf(it.text(), 'orphan');
    expect(settled.ok).toBe(true);
    expect(drained).toMatchObject({ ended: 'quiet', stdoutEof: false });
    expect(looked.findings).toEqual([{ kind: 'orphans-left', detail: `1 process: sleep (${pid})` }]);
    await it.terminated();
    expect(isLive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await turnsUntil(() => !isLive(pid));
  });

  it('makes a failure where the plan says so, told once it is known', async () => {
    const it = command().run(shell('sleep 45 & echo orphan=$!', { onOrphans: 'fail' }));
    const { settled, looked } = await it.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: 0, signal: null } });
    expect(settled.failure).toMatchObject({ code: 'EXIT_CODE', ofStop: false, message: 'Processes outlived "sh".' });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    expect(it.records.map(({ t }) => t).slice(-3)).toEqual(['settled', 'drained', 'looked']);
    await it.terminated();
  });

  it('that is nothing makes no failure', async () => {
    const it = command().run(shell('exit 0', { onOrphans: 'fail' }));
    expect((await it.end()).settled.ok).toBe(true);
    await it.terminated();
  });

  it('in a session of its own is found by the marker', async () => {
    // Without a pipe to the host nothing but the environment tells of it, and only a stopped run is searched for that.
    const it = command().run(shell("setsid sh -c 'echo ready; exec sleep 45 >/dev/null 2>&1' & wait"));
    await it.untilText('ready');
    it.stop();
    const { looked } = await it.end();
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await it.terminated();
  });

  it('without an environment is found by the pipe it holds', async () => {
    const stdin = new PassThrough();
    const escapes = "env -i setsid sh -c 'echo ready; exec sleep 45' & read line";
    const it = command().run(shell(escapes, { stdin }));
    await it.untilText('ready');
    stdin.end('go');
    const { drained, looked } = await it.end();
    expect(drained.holders).toEqual([expect.stringMatching(/^(sleep|sh) \(\d+\)$/)]);
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await it.terminated();
  });

  it('setsidw: that keeps writing is read until the cap, then ended', async () => {
    const writes = 'while :; do echo more; sleep 0.01; done';
    const it = command().run(shell(`setsid sh -c '${writes}' & echo orphan=$!`));
    const { drained, looked } = await it.end();
    expect(drained.ended).toBe('cap');
    expect(drained.holders.length).toBeGreaterThan(0);
    expect(looked.findings.map(({ kind }) => kind)).toEqual(['orphans-killed']);
    await it.terminated();
  });

  it('by job control is found by the session', async () => {
    const script = 'set -m; sleep 45 & echo a=$!; sleep 45 & echo b=$!; exit 0';
    const it = command().run(shell('', { file: 'bash', args: ['-c', script] }));
    const { looked } = await it.end();
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '2 processes' }]);
    expect([pidOf(it.text(), 'a'), pidOf(it.text(), 'b')].some(isLive)).toBe(false);
    await it.terminated();
  });
});

describe('a command that is told to stop', () => {
  it('wait: ends with the sleep it waits for, and that is no value', async () => {
    const it = command().run(shell('sleep 45 & echo child=$!; wait'));
    await it.untilText('child=');
    it.stop();
    const { settled, drained, looked } = await it.end();
    expect(settled.failure).toMatchObject({ name: 'AbortError', ofStop: true });
    expect(settled.exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(drained.ended).toBe('eof');
    expect(looked.findings).toEqual([]);
    expect(isLive(pidOf(it.text(), 'child'))).toBe(false);
    await it.terminated();
  });

  it('and exits 0 is no success, and its exit is told', async () => {
    const it = command().run(shell(`trap 'exit 0' TERM; ${WAITS}`));
    await it.untilText('ready');
    it.stop();
    const { settled } = await it.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: 0, signal: null }, failure: { ofStop: true } });
    await it.terminated();
  });

  it('in the tick of its start ends by the signal', async () => {
    const it = command().run(shell('sleep 45'));
    it.stop();
    expect((await it.end()).settled).toMatchObject({ failure: { ofStop: true }, exit: { signal: 'SIGTERM' } });
    await it.terminated();
  });

  it('while it is halted goes on to end', async () => {
    const it = command().run(shell(`echo self=$$; ${WAITS}`));
    await it.untilText('ready');
    const pid = pidOf(it.text(), 'self');
    process.kill(-pid, 'SIGSTOP');
    it.stop();
    expect((await it.end()).settled.exit).toEqual({ code: null, signal: 'SIGTERM' });
    await it.terminated();
  });

  it('ignore: lives until it is killed, with all that ignores too', async () => {
    const it = command().run(shell(`trap '' TERM; echo self=$$; ${WAITS}`));
    await it.untilText('ready');
    it.stop();
    expect(isLive(pidOf(it.text(), 'self'))).toBe(true);
    expect(await it.terminated()).toEqual({ code: null, signal: 'SIGKILL', error: null });
    expect((await it.end()).settled).toMatchObject({ failure: { ofStop: true }, exit: { signal: 'SIGKILL' } });
  });

  it('leaves members of its group the rest of the grace, then they are killed', async () => {
    const child = 'sh -c \'trap "" TERM; echo ready; while :; do sleep 45; done\'';
    const it = command().run(shell(`${child} & wait`), 150);
    await it.untilText('ready');
    it.stop();
    const { settled, drained } = await it.end();
    expect(settled.exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(drained.ms).toBeGreaterThan(50);
    expect(drained.ended).toBe('eof');
    await it.terminated();
  });

  it('setsid: is over although a pipe is held, and the holder is named and ended', async () => {
    const it = command().run(shell("setsid sh -c 'echo ready; exec sleep 45' & wait"));
    await it.untilText('ready');
    it.stop();
    const { drained, looked } = await it.end();
    expect(drained).toMatchObject({ ended: 'quiet', holders: [expect.stringMatching(/^(sleep|sh) \(\d+\)$/)] });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await it.terminated();
  });
});

describe('a command that is killed', () => {
  it('takes 200 descendants along', async () => {
    const spawns = 'i=0; while [ $i -lt 200 ]; do sleep 45 & i=$((i+1)); done';
    const it = command().run(shell(`trap '' TERM; ${spawns}; echo ready; wait`));
    await it.untilText('ready');
    it.stop();
    expect(await it.terminated()).toMatchObject({ signal: 'SIGKILL' });
    expect((await it.end()).looked.findings).toEqual([]);
  });

  it('marks what it reads after the kill, and nothing of the grace', async () => {
    const [told, more] = [makeFifo(), makeFifo()];
    const script = `trap 'echo grace; echo > ${told.path}; echo more; echo > ${more.path}' TERM; ${WAITS}`;
    const it = command().run(shell(script));
    await it.untilText('ready');
    it.stop();
    await it.untilText('grace');
    // Blocked until the program has written more, which nothing here can have read.
    readFileSync(told.path);
    readFileSync(more.path);
    await it.terminated();
    expect(it.all('output').map(({ bytes, postKill }) => [Buffer.from(bytes).toString(), postKill])).toEqual([
      ['ready\n', undefined],
      ['grace\n', undefined],
      ['more\n', true],
    ]);
    told.remove();
    more.remove();
  });

  it('before its lease began, has run nothing', async () => {
    const it = command();
    expect(await it.terminated()).toEqual({ code: null, error: null });
    it.run(shell('echo never'));
    expect(it.records).toEqual([]);
  });

  it('in the rest of the grace of its group, is gone without it', async () => {
    const child = 'sh -c \'trap "" TERM; echo ready; while :; do sleep 45; done\'';
    const it = command().run(shell(`${child} & wait`), 60_000);
    await it.untilText('ready');
    it.stop();
    await it.first('settled');
    expect(await it.terminated()).toMatchObject({ signal: 'SIGTERM' });
    expect((await it.end()).drained.ended).toBe('eof');
  });
});

describe('late output', () => {
  it('that came while the host was blocked past the quiet time is kept', async () => {
    const { path, remove } = makeFifo();
    const clock = new FakeClock();
    const script = `(read line < ${path}; echo late; echo done > ${path}) & echo early`;
    const it = command({ clock }).run(shell(script));
    await it.untilText('early');
    await it.first('settled');
    // The orphan writes while this thread is in a read: nothing of it can be heard before the timer is due.
    execFileSync('sh', ['-c', `echo go > ${path}`]);
    readFileSync(path);
    clock.jump(40);
    clock.fireDue();
    await it.untilText('late');
    const { drained } = await it.end();
    expect(drained).toMatchObject({ ended: 'eof', stdoutEof: true });
    await it.terminated();
    remove();
  });
});
