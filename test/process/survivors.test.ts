/** Survivors: a process is told once its host is gone, not before, and is left alone. */
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { survivorsOfLostHosts } from '../../src/process/survivors.ts';
import { type Program, startProgram } from '../support/fault-programs.ts';
import { living } from '../support/program-run.ts';
import { connections, type Tales } from '../support/socket-tales.ts';

let tales: Tales;
let host: Program;
afterEach(async () => {
  if (host.child.exitCode === null && host.child.signalCode === null) host.child.kill('SIGKILL');
  await tales.close();
});

describe('survivorsOfLostHosts', () => {
  it('tells the program of a killed host, and not while the host lives', async () => {
    tales = await connections();
    host = startProgram('host-of-tools.mjs', [tales.path, '0']);
    const { line, gone } = await tales.next();
    const pid = Number(line.trim().split(' ')[0]);
    const ofHost = async () => (await survivorsOfLostHosts())?.filter((found) => found.host === host.child.pid);
    expect(await ofHost()).toEqual([]);
    const exited = once(host.child, 'exit');
    host.child.kill('SIGKILL');
    await exited;
    const found = await ofHost();
    expect(found).toMatchObject([{ pid, name: 'node', host: host.child.pid }]);
    const since = Date.parse(found?.[0]?.since ?? '');
    expect(Math.abs(Date.now() - since)).toBeLessThan(60_000);
    expect(living(`${host.child.pid}.`)).toEqual([`node (${pid})`]);
    process.kill(pid, 'SIGKILL');
    await gone;
    expect(await ofHost()).toEqual([]);
  });
});
