/**
 * HTTP tools that are stopped, kept waiting or cut off: what they fail with, and what their intents say then.
 *
 * Invariants: time is the test's; after each end no timer, no listener and no socket is left. Deliberately absent: what a
 * supervisor makes of it.
 */
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { httpTool } from '../../src/tools/http.ts';
import { HttpCall, onPiece } from '../support/http-call.ts';
import { Servers, type TestServer } from '../support/http-server.ts';

const servers = new Servers();
afterEach(() => servers.close());

const BOUNDS = { connectTimeoutMs: 1_000, headersTimeoutMs: 2_000, idleTimeoutMs: 3_000 };
const toolOf = (method: string) =>
  httpTool({ name: 'ask', input: z.string(), request: (url) => ({ url, method }), ...BOUNDS });
const GET = toolOf('GET');
const POST = toolOf('POST');
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n';

async function expectNothingLeft(call: HttpCall, server?: TestServer): Promise<void> {
  await server?.untilQuiet();
  expect(call.clock.pending).toBe(0);
  expect(getEventListeners(call.signal, 'abort')).toEqual([]);
}

/** A connection that is never answered, not even by the system: the handshake waits for a server that says nothing. */
async function silentTls(): Promise<{ readonly url: string; readonly server: TestServer }> {
  const server = await servers.raw(() => undefined);
  return { url: server.url.replace('http:', 'https:'), server };
}

describe('bounds', () => {
  it('end a connection that does not come about', async () => {
    const { url, server } = await silentTls();
    const call = new HttpCall();
    const failure = call.failure(POST, url);
    await call.clock.untilArmed(BOUNDS.connectTimeoutMs);
    await call.clock.advance(BOUNDS.connectTimeoutMs);
    expect(await failure).toMatchObject({ name: 'ConnectTimeoutError', timeoutMs: 1_000 });
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
    await expectNothingLeft(call, server);
  });

  it('end a wait for headers, which leaves the intent open', async () => {
    const server = await servers.raw((socket) => socket.write('HTTP/1.1 200 OK\r\nx: '));
    const call = new HttpCall();
    const failure = call.failure(POST, server.url);
    await server.untilAsked();
    await call.clock.untilArmed(BOUNDS.headersTimeoutMs);
    await call.clock.advance(BOUNDS.headersTimeoutMs);
    expect((await failure).name).toBe('HeadersTimeoutError');
    expect(call.intents).toMatchObject([{ state: 'dispatched' }]);
    await expectNothingLeft(call, server);
  });

  it('end a body that comes to a halt, and not one that drips', async () => {
    let socket: Socket | null = null;
    const server = await servers.raw((asking) => {
      socket = asking;
      asking.write(HEAD);
    });
    const call = new HttpCall();
    const failure = call.failure(POST, server.url);
    await call.clock.untilArmed(BOUNDS.idleTimeoutMs);
    for (let drops = 0; drops < 3; drops += 1) {
      await call.clock.advance(BOUNDS.idleTimeoutMs - 1);
      const came = new Promise<void>((resolve) => onPiece(resolve));
      (socket as Socket | null)?.write('.');
      await came;
    }
    await call.clock.advance(BOUNDS.idleTimeoutMs);
    expect((await failure).name).toBe('BodyTimeoutError');
    expect(call.intents).toMatchObject([{ state: 'applied' }]);
    await expectNothingLeft(call, server);
  });

  it('stop waiting for a body that is sent, only while it does not move', async () => {
    let reader: Socket | null = null;
    const server = await servers.raw((socket) => {
      reader = socket.pause();
    });
    const call = new HttpCall();
    const body = new Uint8Array(50_000_000);
    const tool = httpTool({
      name: 'put',
      input: z.string(),
      request: (url) => ({ url, method: 'PUT', body }),
      ...BOUNDS,
    });
    const failure = call.failure(tool, server.url);
    await server.untilAsked();
    // Pieces move for as long as the system takes them.
    let name: string | null = null;
    void failure.then((error) => {
      name = error.name;
    });
    while (name === null) {
      await call.clock.advance(BOUNDS.headersTimeoutMs);
      await new Promise<void>((resume) => setImmediate(resume));
    }
    expect(name).toBe('HeadersTimeoutError');
    (reader as Socket | null)?.resume();
    await expectNothingLeft(call, server);
  });
});

describe('a stop', () => {
  it('before the request opens no connection', async () => {
    const server = await servers.raw(() => undefined);
    for (const tool of [GET, POST]) {
      const call = new HttpCall();
      call.stop();
      expect(await call.failure(tool, server.url)).toBe(call.reason);
      expect(call.intents).toEqual([]);
      await expectNothingLeft(call);
    }
    expect(server.heads).toEqual([]);
  });

  it('while it connects ends it, and nothing was applied', async () => {
    const { url, server } = await silentTls();
    const call = new HttpCall();
    const failure = call.failure(POST, url);
    await call.clock.untilArmed(BOUNDS.connectTimeoutMs);
    call.stop();
    expect(await failure).toBe(call.reason);
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
    await expectNothingLeft(call, server);
  });

  it('while it waits for headers leaves the intent open', async () => {
    const server = await servers.raw(() => undefined);
    const call = new HttpCall();
    const failure = call.failure(POST, server.url);
    await server.untilAsked();
    call.stop();
    expect(await failure).toBe(call.reason);
    expect(call.intents).toMatchObject([{ state: 'dispatched' }]);
    await expectNothingLeft(call, server);
  });

  it('while the body comes finds the intent applied', async () => {
    const server = await servers.raw((socket) => socket.write(HEAD));
    const call = new HttpCall();
    const failure = call.failure(POST, server.url);
    await call.clock.untilArmed(BOUNDS.idleTimeoutMs);
    call.stop();
    expect(await failure).toBe(call.reason);
    expect(call.intents).toMatchObject([{ state: 'applied' }]);
    await expectNothingLeft(call, server);
  });

  it('ends a body that never does', async () => {
    const server = await servers.raw((socket) => {
      const drip = (): void => void (socket.destroyed || socket.write('.', () => setImmediate(drip)));
      socket.write('HTTP/1.1 200 OK\r\n\r\n', drip);
    });
    const call = new HttpCall();
    onPiece(() => call.stop());
    expect(await call.failure(GET, server.url)).toBe(call.reason);
    await expectNothingLeft(call, server);
  });
});

describe('an intent', () => {
  it('is applied by any response, and named by method and host', async () => {
    const server = await servers.http((_request, response) => response.writeHead(500).end());
    const call = new HttpCall();
    expect((await call.run(POST, server.url)).status).toBe(500);
    expect(call.intents).toEqual([{ name: `POST 127.0.0.1:${server.port}`, key: 'key-1', state: 'applied' }]);
    await expectNothingLeft(call, server);
  });

  it('is dispatched for every method but GET and HEAD', async () => {
    const server = await servers.http((_request, response) => response.end());
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH']) {
      const call = new HttpCall();
      await call.run(toolOf(method), server.url);
      expect([method, call.intents.length]).toEqual([method, method === 'GET' || method === 'HEAD' ? 0 : 1]);
    }
  });

  it('is not applied when the connection is refused', async () => {
    const url = await servers.nowhere();
    const call = new HttpCall();
    expect(await call.failure(POST, url)).toMatchObject({ name: 'ConnectError', code: 'ECONNREFUSED' });
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
    await expectNothingLeft(call);
  });

  it('is not applied when the host has no address', async () => {
    const call = new HttpCall();
    const failure = await call.failure(POST, `http://${'a'.repeat(64)}.invalid/`);
    expect(failure.name).toBe('ConnectError');
    expect(failure['code']).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
  });

  it('is not applied when TLS fails', async () => {
    const server = await servers.https(() => undefined);
    const call = new HttpCall();
    expect((await call.failure(POST, server.url)).name).toBe('ConnectError');
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
    await expectNothingLeft(call, server);
  });

  it('stays open when the connection ends before a response', async () => {
    const server = await servers.raw((socket) => socket.destroy());
    const call = new HttpCall();
    expect((await call.failure(POST, server.url)).name).toBe('ResponseCutError');
    expect(call.intents).toMatchObject([{ state: 'dispatched' }]);
    await expectNothingLeft(call, server);
  });

  it('is applied though the body breaks off', async () => {
    const server = await servers.raw((socket) => socket.end(`${HEAD}abc`));
    const call = new HttpCall();
    expect((await call.failure(POST, server.url)).name).toBe('ResponseCutError');
    expect(call.intents).toMatchObject([{ state: 'applied' }]);
    await expectNothingLeft(call, server);
  });
});
