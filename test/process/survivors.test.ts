/** Survivors: a process is told once its host is gone, not before, and is left alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { MARKER } from '../../src/process/marker.ts';
import { statOf } from '../../src/process/proc.ts';
import { survivorsOfLostHosts } from '../../src/process/survivors.ts';
import { type Program, startProgram } from '../support/fault-programs.ts';
import { living } from '../support/program-run.ts';
import { connections, type Tales } from '../support/socket-tales.ts';

let tales: Tales | null = null;
let host: Program | null = null;
afterEach(async () => {
  if (host !== null && host.child.exitCode === null && host.child.signalCode === null) host.child.kill('SIGKILL');
  await tales?.close();
  [tales, host] = [null, null];
});

describe('survivorsOfLostHosts', () => {
  it('tells the program of a killed host, and not while the host lives', async () => {
    const heard = await connections();
    tales = heard;
    const lost = startProgram('host-of-tools.mjs', [heard.path, '0']);
    host = lost;
    const { line, gone } = await heard.next();
    const pid = Number(line.trim().split(' ')[0]);
    const ofHost = async () => (await survivorsOfLostHosts())?.filter((found) => found.host === lost.child.pid);
    expect(await ofHost()).toEqual([]);
    const exited = once(lost.child, 'exit');
    lost.child.kill('SIGKILL');
    await exited;
    const found = await ofHost();
    // Node names its main thread by its version.
    const name = statOf(pid)?.name;
    expect(found).toMatchObject([{ pid, name, host: lost.child.pid }]);
    const since = Date.parse(found?.[0]?.since ?? '');
    expect(Math.abs(Date.now() - since)).toBeLessThan(60_000);
    expect(living(`${lost.child.pid}.`)).toEqual([`${name} (${pid})`]);
    process.kill(pid, 'SIGKILL');
    await gone;
    expect(await ofHost()).toEqual([]);
  });

  it.each([
    ['the nearest host that is lost, of several', 'live,lost,gone', 2_000_000_001],
    ['the outermost where it alone is lost', 'live,live,lost', 2_000_000_001],
    ['nobody of what this host has started', 'own,lost', null],
    ['one of a lost host that had the pid of this one', 'past,live', process.pid],
    ['nobody where all live', 'live', null],
  ])('tells %s', async (_name, above, expected) => {
    const parent = statOf(process.ppid);
    const own = statOf(process.pid);
    const markers = {
      live: `${parent?.pid}.${parent?.startTime}.a`,
      own: `${own?.pid}.${own?.startTime}.b`,
      past: `${own?.pid}.1.c`,
      lost: '2000000001.1.d',
      gone: '2000000002.1.e',
    };
    const value = above.split(',').map((name) => markers[name as keyof typeof markers]);
    const child: ChildProcess = spawn('sleep', ['45'], {
      env: { PATH: process.env['PATH'], [MARKER]: value.join(',') },
    });
    const exited = once(child, 'exit');
    const found = (await survivorsOfLostHosts())?.filter(({ pid }) => pid === child.pid);
    child.kill('SIGKILL');
    await exited;
    expect(found?.map((one) => one.host)).toEqual(expected === null ? [] : [expected]);
  });
});
