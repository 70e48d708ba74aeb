/**
 * Real local servers for the tests of HTTP tools: polite ones, and ones that write what they like.
 *
 * Invariants: every server and socket ends with `close`; whether clients left sockets behind is seen on the server's side,
 * by events. Deliberately absent: anything that waits for time.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net';
import { CERTIFICATE, KEY } from './http-certificate.ts';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** The heads of the requests that came, in order; raw servers only. */
  readonly heads: readonly string[];
  /** Resolves when a request has come. */
  untilAsked(): Promise<void>;
  /** Resolves when no client's socket is open any more. */
  untilQuiet(): Promise<void>;
}

export class Servers {
  readonly #open: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

  /** A server that speaks HTTP. */
  async http(answer: RequestListener): Promise<TestServer> {
    return this.#start(createServer(answer), 'http://127.0.0.1', 'request', []);
  }

  /** One for https://localhost, with a certificate nobody trusts by itself. */
  async https(answer: RequestListener): Promise<TestServer> {
    return this.#start(createSecureServer({ key: KEY, cert: CERTIFICATE }, answer), 'https://localhost', 'request', []);
  }

  /** One that answers each head of a request by whatever it writes. */
  async raw(answer: (socket: Socket, head: string) => void): Promise<TestServer> {
    const heads: string[] = [];
    const server = createRawServer((socket) => {
      let text = '';
      const read = (chunk: Buffer): void => {
        text += chunk.toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        socket.off('data', read);
        const head = text.slice(0, end);
        heads.push(head);
        server.emit('asked');
        answer(socket, head);
      };
      socket.on('data', read);
    });
    return this.#start(server, 'http://127.0.0.1', 'asked', heads);
  }

  /** An address where nothing listens. */
  async nowhere(): Promise<string> {
    const server = await this.raw(() => undefined);
    await this.close();
    return server.url;
  }

  async close(): Promise<void> {
    for (const { server, sockets } of this.#open.splice(0)) {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    }
  }

  async #start(server: Server, origin: string, asked: string, heads: readonly string[]): Promise<TestServer> {
    const sockets = new Set<Socket>();
    let came = 0;
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      // What a server writes to a client that left is of no interest.
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        server.emit('left');
      });
    });
    server.on(asked, () => {
      came += 1;
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0);
    await once(server, 'listening');
    this.#open.push({ server, sockets });
    const { port } = server.address() as AddressInfo;
    return {
      url: `${origin}:${port}`,
      port,
      heads,
      async untilAsked() {
        if (came === 0) await once(server, asked);
      },
      async untilQuiet() {
        while (sockets.size > 0) await once(server, 'left');
      },
    };
  }
}
