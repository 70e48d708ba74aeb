/**
 * Promise: a host that is killed takes its JavaScript processes with it, and what its programs leave carries a mark to find
 * them by.
 *
 * Invariant: the host is a real process, ended by a signal it cannot hear; who lives is told by a socket and the process table.
 * Deliberately absent: each state of a JavaScript process at that moment (`isolate/node-process-host.test.ts`).
 */
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import type { Leader } from '../../src/process/backend.ts';
import { linuxBackend } from '../../src/process/linux.ts';
import { statOf } from '../../src/process/proc.ts';
import { type Program, startProgram } from '../support/fault-programs.ts';
import { living } from '../support/program-run.ts';
import { connections, type Tales } from '../support/socket-tales.ts';

let tales: Tales;
let host: Program;
afterEach(async () => {
  if (host.child.exitCode === null && host.child.signalCode === null) host.child.kill('SIGKILL');
  await tales.close();
});

/** Starts a host, waits until its tool runs, and kills the host. */
async function killedHostOf(which: 'program' | 'module') {
  tales = await connections();
  host = startProgram('host-of-tools.mjs', [tales.path, which === 'program' ? '0' : '1']);
  const { line, gone } = await tales.next();
  const [pid, marker] = line.trim().split(' ');
  const hostPid = host.child.pid;
  const exited = once(host.child, 'exit');
  host.child.kill('SIGKILL');
  await exited;
  return { pid: Number(pid), marker: marker ?? '', gone, hostPid };
}

describe('a host killed', () => {
  it('while a tool runs in a process leaves no such process', async () => {
    const { pid, gone, hostPid } = await killedHostOf('module');
    await gone;
    expect(pid).not.toBe(hostPid);
    expect(living(`${hostPid}.`)).toEqual([]);
  });

  it('while a program runs leaves it with a mark, by which it is found and ended', async () => {
    const { pid, marker, gone, hostPid } = await killedHostOf('program');
    expect(marker).toMatch(new RegExp(`^${hostPid}\\.\\d+\\.`));
    expect(living(`${hostPid}.`)).toEqual([expect.stringMatching(`\\(${pid}\\)$`)]);
    // All that another process knows of it is its mark: neither its pid nor its pipes.
    const backend = linuxBackend();
    const leader: Leader = { pid: hostPid ?? 1, marker, startTime: 0, pipes: [] };
    const found = (await backend.look(leader, true)) ?? [];
    expect(found).toMatchObject([{ pid }]);
    expect(found[0]?.startTime).toBe(statOf(pid)?.startTime);
    expect(found.map((survivor) => backend.kill(survivor))).toEqual(['sent']);
    await gone;
    expect(living(`${hostPid}.`)).toEqual([]);
  });
});
