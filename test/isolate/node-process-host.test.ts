/** A host that is killed leaves no process of its isolates behind, whatever the tool does at that moment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../fixtures/programs/host-of-process.mjs', import.meta.url));
let folder = '';
let server: Server;
let host: ChildProcess;
afterEach(async () => {
  if (host.exitCode === null && host.signalCode === null) host.kill('SIGKILL');
  server.close();
  rmSync(folder, { recursive: true });
});

/** Starts a host whose tool tells by `connections` sockets that it lives; each closes with the process that holds it. */
async function openHost(exportName: string, connections: number, isRestricted = false): Promise<Socket[]> {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-host-'));
  const path = join(folder, 'socket');
  server = createServer().listen(path);
  const args = [PROGRAM, exportName, path, ...(isRestricted ? ['restricted'] : [])];
  host = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const sockets: Socket[] = [];
  while (sockets.length < connections) {
    const [socket] = (await once(server, 'connection')) as [Socket];
    socket.resume().on('error', () => undefined);
    sockets.push(socket);
  }
  return sockets;
}

describe('a killed host', () => {
  it.each([
    ['an idle process', 'idle', 1, false],
    ['a process whose tool never yields', 'busy', 1, false],
    ['a process and the child its tool started', 'child', 2, false],
    ['an idle process with permissions', 'idle', 1, true],
  ])('leaves %s no time to live', async (_, exportName, connections, isRestricted) => {
    const sockets = await openHost(exportName, connections, isRestricted);
    const closed = sockets.map((socket) => once(socket, 'close'));
    host.kill('SIGKILL');
    await Promise.all(closed);
    expect(sockets.every(({ destroyed }) => destroyed)).toBe(true);
  });
});

describe('an idle process', () => {
  it('holds its host open no longer than the host wants', async () => {
    folder = mkdtempSync(join(tmpdir(), 'leasehold-host-'));
    server = createServer();
    host = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'ignore', 'inherit'] });
    expect(await once(host, 'exit')).toEqual([0, null]);
  });
});
