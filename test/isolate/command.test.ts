/**
 * CommandTenure on real processes: every way a command ends, and what becomes of those it leaves.
 *
 * Invariant: what a test waits for is a record, an exit, or a line the program wrote. Deliberately absent: bounds
 * (`command-bounds.test.ts`) and commands that cannot start (`command-start.test.ts`).
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { command, isLive, leavesNoProcess, makeFifo, pidOf, shell } from '../support/process-rig.ts';

leavesNoProcess();

/** Waits for a signal. A shell looks at its traps while it waits for a child in the background only. */
const WAITS = 'sleep 45 & echo ready; while :; do wait; done';

describe('a command that ends by itself', () => {
  it('answers with its exit, then tells that all was read and nothing is left', async () => {
    const ran = command().run(shell('printf out; printf err >&2'));
    const { settled, drained, looked } = await ran.end();
    expect(settled).toMatchObject({ ok: true, value: { exitCode: 0, signal: null }, exit: { code: 0, signal: null } });
    expect(drained).toMatchObject({ ended: 'eof', holders: [], stdoutEof: true, stderrEof: true });
    expect(looked.findings).toEqual([]);
    expect([ran.text(), ran.text('stderr')]).toEqual(['out', 'err']);
    expect(ran.records.map(({ t }) => t).slice(-2)).toEqual(['drained', 'looked']);
    expect(await ran.terminated()).toEqual({ code: 0, signal: null, error: null });
  });

  it('fails by an exit code that does not count, and tells no argument', async () => {
    const ran = command().run(shell('exit 3 # hidden'));
    const { settled } = await ran.end();
    expect(settled.failure).toMatchObject({ code: 'EXIT_CODE', ofStop: false });
    expect(settled.failure?.fields).toEqual({ program: 'sh', arguments: 2, exitCode: 3, signal: null });
    expect(JSON.stringify(settled)).not.toContain('hidden');
    await ran.terminated();
  });

  it('tells its arguments where the plan makes them public', async () => {
    const ran = command().run(shell('exit 3', { publicArgs: true }));
    expect((await ran.end()).settled.failure?.fields?.['arguments']).toEqual(['-c', 'exit 3']);
    await ran.terminated();
  });

  it('succeeds by any code the plan counts as success', async () => {
    const ran = command().run(shell('exit 3', { okExitCodes: [0, 3] }));
    expect((await ran.end()).settled).toMatchObject({ ok: true, value: { exitCode: 3, signal: null } });
    await ran.terminated();
  });

  it('fails by the signal of its own that ended it', async () => {
    const ran = command().run(shell('kill -SEGV $$'));
    const { settled } = await ran.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: null, signal: 'SIGSEGV' } });
    expect(settled.failure).toMatchObject({ ofStop: false, message: '"sh" ended by signal SIGSEGV.' });
    await ran.terminated();
  });

  it('loses no byte of a long output', async () => {
    const ran = command().run(shell('head -c 3000000 /dev/zero; echo end'));
    await ran.end();
    expect(ran.text()).toHaveLength(3_000_004);
    expect(ran.text().slice(-4)).toBe('end\n');
    expect(ran.all('output').every(({ bytes }) => bytes.byteLength > 0)).toBe(true);
    await ran.terminated();
  });
});

describe('a command that is told to stop', () => {
  it('wait: ends with the sleep it waits for, and that is no value', async () => {
    const ran = command().run(shell('sleep 45 & echo child=$!; wait'));
    await ran.untilText('child=');
    ran.stop();
    const { settled, drained, looked } = await ran.end();
    expect(settled.failure).toMatchObject({ name: 'AbortError', ofStop: true });
    expect(settled.exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(drained.ended).toBe('eof');
    expect(looked.findings).toEqual([]);
    expect(isLive(pidOf(ran.text(), 'child'))).toBe(false);
    await ran.terminated();
  });

  it('and exits 0 is no success, and its exit is told', async () => {
    const ran = command().run(shell(`trap 'exit 0' TERM; ${WAITS}`));
    await ran.untilText('ready');
    ran.stop();
    const { settled } = await ran.end();
    expect(settled).toMatchObject({ ok: false, exit: { code: 0, signal: null }, failure: { ofStop: true } });
    await ran.terminated();
  });

  it('in the tick of its start ends by the signal', async () => {
    const ran = command().run(shell('sleep 45'));
    ran.stop();
    expect((await ran.end()).settled).toMatchObject({ failure: { ofStop: true }, exit: { signal: 'SIGTERM' } });
    await ran.terminated();
  });

  it('while it is halted goes on to end', async () => {
    const ran = command().run(shell(`echo self=$$; ${WAITS}`));
    await ran.untilText('ready');
    const pid = pidOf(ran.text(), 'self');
    process.kill(-pid, 'SIGSTOP');
    ran.stop();
    expect((await ran.end()).settled.exit).toEqual({ code: null, signal: 'SIGTERM' });
    await ran.terminated();
  });

  it('ignore: lives until it is killed, with all that ignores too', async () => {
    const ran = command().run(shell(`trap '' TERM; echo self=$$; ${WAITS}`));
    await ran.untilText('ready');
    ran.stop();
    expect(isLive(pidOf(ran.text(), 'self'))).toBe(true);
    expect(await ran.terminated()).toEqual({ code: null, signal: 'SIGKILL', error: null });
    expect((await ran.end()).settled).toMatchObject({ failure: { ofStop: true }, exit: { signal: 'SIGKILL' } });
  });

  it('leaves members of its group the rest of the grace, then they are killed', async () => {
    const child = 'sh -c \'trap "" TERM; echo child=$$; while :; do sleep 45; done\'';
    const ran = command().run(shell(`${child} & wait`), 1_000);
    await ran.untilText('child=');
    const pid = pidOf(ran.text(), 'child');
    ran.stop();
    expect((await ran.first('settled')).exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(isLive(pid)).toBe(true);
    expect((await ran.end()).drained.ended).toBe('eof');
    expect(isLive(pid)).toBe(false);
    await ran.terminated();
  });

  it('setsid: is over although a pipe is held, and the holder is named and ended', async () => {
    const ran = command().run(shell("setsid sh -c 'echo ready; exec sleep 45' & wait"));
    await ran.untilText('ready');
    ran.stop();
    const { drained, looked } = await ran.end();
    expect(drained).toMatchObject({ ended: 'quiet', holders: [expect.stringMatching(/^(sleep|sh) \(\d+\)$/)] });
    expect(looked.findings).toEqual([{ kind: 'orphans-killed', detail: '1 process' }]);
    await ran.terminated();
  });
});

describe('a command that is killed', () => {
  it('takes 200 descendants along', async () => {
    const spawns = 'i=0; while [ $i -lt 200 ]; do sleep 45 & i=$((i+1)); done';
    const ran = command().run(shell(`trap '' TERM; ${spawns}; echo ready; wait`));
    await ran.untilText('ready');
    ran.stop();
    expect(await ran.terminated()).toMatchObject({ signal: 'SIGKILL' });
    expect((await ran.end()).looked.findings).toEqual([]);
  });

  it('marks what it reads after the kill, and nothing of the grace', async () => {
    const [told, more] = [makeFifo(), makeFifo()];
    const script = `trap 'echo grace; echo > ${told.path}; echo more; echo > ${more.path}' TERM; ${WAITS}`;
    const ran = command().run(shell(script));
    await ran.untilText('ready');
    ran.stop();
    await ran.untilText('grace');
    // Blocked until the program has written more, which nothing here can have read.
    readFileSync(told.path);
    readFileSync(more.path);
    await ran.terminated();
    expect(ran.all('output').map(({ bytes, postKill }) => [Buffer.from(bytes).toString(), postKill])).toEqual([
      ['ready\n', undefined],
      ['grace\n', undefined],
      ['more\n', true],
    ]);
    told.remove();
    more.remove();
  });

  it('before its lease began, has run nothing', async () => {
    const ran = command();
    expect(await ran.terminated()).toEqual({ code: null, error: null });
    ran.run(shell('echo never'));
    expect(ran.records).toEqual([]);
  });

  it('in the rest of the grace of its group, is gone without it', async () => {
    const child = 'sh -c \'trap "" TERM; echo ready; while :; do sleep 45; done\'';
    const ran = command().run(shell(`${child} & wait`), 60_000);
    await ran.untilText('ready');
    ran.stop();
    await ran.first('settled');
    expect(await ran.terminated()).toMatchObject({ signal: 'SIGTERM' });
    expect((await ran.end()).drained.ended).toBe('eof');
  });
});

describe('late output', () => {
  it('that came while the host was blocked past the quiet time is kept', async () => {
    const { path, remove } = makeFifo();
    const clock = new FakeClock();
    const script = `(read line < ${path}; echo late; echo done > ${path}) & echo early`;
    const ran = command({ clock }).run(shell(script));
    await ran.untilText('early');
    await ran.first('settled');
    // The orphan writes while this thread is in a read: nothing of it can be heard before the timer is due.
    execFileSync('sh', ['-c', `echo go > ${path}`]);
    readFileSync(path);
    clock.jump(40);
    clock.fireDue();
    await ran.untilText('late');
    const { drained } = await ran.end();
    expect(drained).toMatchObject({ ended: 'eof', stdoutEof: true });
    await ran.terminated();
    remove();
  });
});
