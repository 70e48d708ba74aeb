/**
 * A local socket by which tools in other processes tell that they run, and by whose end it is seen that they are gone.
 *
 * Invariant: a connection lasts as long as the process that made it. Deliberately absent: what is told.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One process, as it told of itself. */
export interface Teller {
  readonly line: string;
  /** Resolves when its process is gone. */
  readonly gone: Promise<void>;
}

export interface Tales {
  readonly path: string;
  /** The next one that tells something, in the order of their connections. */
  next(): Promise<Teller>;
  close(): Promise<void>;
}

export async function connections(): Promise<Tales> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-socket-'));
  const path = join(folder, 'socket');
  const waiting: Socket[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
    waiting.push(socket);
    server.emit('told');
  }).listen(path);
  await once(server, 'listening');
  return {
    path,
    async next() {
      while (waiting.length === 0) await once(server, 'told');
      const socket = waiting.shift() as Socket;
      const gone = once(socket, 'close').then(() => undefined);
      const [line] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
      socket.resume();
      return { line, gone };
    },
    async close() {
      for (const socket of open) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
      rmSync(folder, { recursive: true });
    },
  };
}
