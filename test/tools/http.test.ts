/**
 * HTTP tools against servers that answer: what becomes of heads, bodies, encodings and limits.
 *
 * Invariant: real sockets, and none is left on either side. Deliberately absent: intents, redirects, and stops, which have
 * files of their own.
 */
import { createRequire } from 'node:module';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type HttpToolDefinition, httpTool } from '../../src/tools/http.ts';
import { HttpCall, onPiece } from '../support/http-call.ts';
import { CERTIFICATE } from '../support/http-certificate.ts';
import { Servers } from '../support/http-server.ts';

const servers = new Servers();
afterEach(() => servers.close());

type Terms = Partial<HttpToolDefinition<z.ZodString>>;
const getTool = (terms: Terms = {}) =>
  httpTool({ name: 'get', input: z.string(), request: (url) => ({ url }), ...terms });
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const PLAIN = 'HTTP/1.1 200 OK\r\n';

async function get(url: string, terms: Terms = {}) {
  const call = new HttpCall();
  const response = await call.run(getTool(terms), url);
  expect(call.clock.pending).toBe(0);
  return response;
}
async function failing(url: string, terms: Terms = {}) {
  const call = new HttpCall();
  const failure = await call.failure(getTool(terms), url);
  expect(call.clock.pending).toBe(0);
  return failure;
}

describe('httpTool', () => {
  it('puts no dispatcher under the fetch of the host', () => {
    const Agent = createRequire(import.meta.url)('undici/lib/dispatcher/agent.js') as typeof import('undici').Agent;
    const dispatcher: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
    expect(dispatcher).not.toBeInstanceOf(Agent);
  });

  it('makes an inline tool whose effects are declared', () => {
    expect(getTool()).toMatchObject({ isolation: 'inline', effects: 'declared', work: { occupiesPool: false } });
    expect(Object.isFrozen(getTool())).toBe(true);
  });

  it('refuses options it does not know or accept, by name', () => {
    expect(() => getTool({ redirects: 21 })).toThrow(/"redirects"/);
    expect(() => getTool({ limits: { wireBytes: -1 } })).toThrow(/"limits.wireBytes"/);
    expect(() => getTool({ okStatuses: [100] })).toThrow(/"okStatuses"/);
    expect(() => getTool({ idleTimeoutMs: 0 })).toThrow(/"idleTimeoutMs"/);
    expect(() => getTool({ proxy: '' } as never)).toThrow(/"proxy"/);
    expect(() => getTool({ request: undefined } as never)).toThrow(/"request"/);
  });
});

describe('a response', () => {
  it('has every byte of a binary body, and the sockets closed', async () => {
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 256));
    const server = await servers.http((_request, response) => response.end(body));
    const response = await get(`${server.url}/a?b=c#d`);
    await server.untilQuiet();
    expect(Buffer.compare(response.body, body)).toBe(0);
    expect(response).toMatchObject({ status: 200, truncated: false, wireBytes: 300_000, url: `${server.url}/a?b=c` });
  });

  it('is a value whatever its status', async () => {
    const server = await servers.http((_request, response) => response.writeHead(503).end('later'));
    const response = await get(server.url);
    expect([response.status, text(response.body)]).toEqual([503, 'later']);
  });

  it('of a status that is not accepted fails the run', async () => {
    const server = await servers.http((_request, response) => response.writeHead(404).end());
    expect(await failing(server.url, { okStatuses: [200] })).toMatchObject({ name: 'StatusError', status: 404 });
  });

  it('lists a header that came twice', async () => {
    const answer = `${PLAIN}set-cookie: a=1\r\nSet-Cookie: b=2\r\n__proto__: x\r\ncontent-length: 0\r\n\r\n`;
    const server = await servers.raw((socket) => socket.write(answer));
    const { headers } = await get(server.url);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(Object.getPrototypeOf(headers)).not.toBe('x');
  });

  it('to HEAD, and one of 204, end without a body', async () => {
    const server = await servers.raw((socket, head) =>
      socket.write(head.startsWith('HEAD') ? `${PLAIN}content-length: 99\r\n\r\n` : 'HTTP/1.1 204 No Content\r\n\r\n'),
    );
    const head = await get(server.url, { request: (url) => ({ url, method: 'head' }) });
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': '99' }, wireBytes: 0 });
    expect((await get(server.url)).status).toBe(204);
    await server.untilQuiet();
  });

  it('comes after any number of hints, and may have trailers', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const chunks = 'transfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nx-sum: 1\r\n\r\n';
    const server = await servers.raw((socket) => socket.write(`${hint}${hint}${PLAIN}${chunks}`));
    const response = await get(server.url);
    expect([response.status, text(response.body), response.wireBytes]).toEqual([200, 'abc', 3]);
  });

  it('without a length ends with its connection', async () => {
    const server = await servers.raw((socket) => socket.end(`${PLAIN}\r\nuntil the end`));
    expect(text((await get(server.url)).body)).toBe('until the end');
  });

  it('ends at its length, whatever follows', async () => {
    const server = await servers.raw((socket) => socket.write(`${PLAIN}content-length: 2\r\n\r\nabcdef`));
    expect(text((await get(server.url)).body)).toBe('ab');
    await server.untilQuiet();
  });

  it('comes over TLS from whom the tool trusts, and from nobody else', async () => {
    const server = await servers.https((_request, response) => response.end('secret'));
    expect(text((await get(server.url, { ca: [CERTIFICATE] })).body)).toBe('secret');
    expect(await failing(server.url)).toMatchObject({ name: 'ConnectError', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    await server.untilQuiet();
  });
});

describe('a response that breaks off', () => {
  it('before its length fails with the bytes that came', async () => {
    const server = await servers.raw((socket) => socket.end(`${PLAIN}content-length: 9\r\n\r\nabc`));
    expect(await failing(server.url)).toMatchObject({ name: 'ResponseCutError', wireBytes: 3, bodyBytes: 3 });
  });

  it('within a chunk fails', async () => {
    const server = await servers.raw((socket) =>
      socket.end(`${PLAIN}connection: close\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc`),
    );
    expect((await failing(server.url)).name).toBe('ResponseCutError');
  });

  it('by a reset fails, even without a length', async () => {
    const server = await servers.raw((socket) => {
      // Not before all that was sent is read, or the system would tell of an end instead.
      onPiece(() => socket.resetAndDestroy());
      socket.write(`${PLAIN}\r\nabc`);
    });
    expect(await failing(server.url)).toMatchObject({ name: 'ResponseCutError', code: 'ECONNRESET', wireBytes: 3 });
  });

  it('before its head fails', async () => {
    const server = await servers.raw((socket) => socket.end('HTTP/1.1 20'));
    expect((await failing(server.url)).name).toBe('ResponseCutError');
  });

  it('because it is no HTTP, or another protocol, is told apart', async () => {
    const other = await servers.raw((socket) => socket.end('SSH-2.0-none of your business\r\n'));
    const failure = await failing(other.url);
    expect(failure.name).toBe('ResponseInvalidError');
    expect(JSON.stringify(failure)).not.toContain('business');
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
    const upgrading = await servers.raw((socket) => socket.write(upgrade));
    expect((await failing(upgrading.url)).name).toBe('ResponseInvalidError');
    await upgrading.untilQuiet();
  });
});

describe('limits', () => {
  it('refuse a head of 40 KB', async () => {
    const server = await servers.raw((socket) => socket.write(`${PLAIN}x: ${'y'.repeat(40_000)}\r\n\r\n`));
    expect(await failing(server.url)).toMatchObject({ name: 'HeadersTooLargeError', headerBytes: 16_384 });
    await server.untilQuiet();
  });

  it('cut an endless body and let go of the server', async () => {
    const server = await servers.http((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'a')));
      };
      response.on('drain', more);
      more();
    });
    const response = await get(server.url, { limits: { wireBytes: 100_000 } });
    await server.untilQuiet();
    expect(response).toMatchObject({ status: 200, truncated: true });
    expect(response.body.length).toBe(100_000);
  });

  it('let through a body of exactly their size', async () => {
    const server = await servers.http((_request, response) => response.end('abc'));
    const terms: Terms = { limits: { wireBytes: 3, bodyBytes: 3 }, onLimit: 'stop' };
    expect(await get(server.url, terms)).toMatchObject({ truncated: false, wireBytes: 3 });
    expect((await failing(server.url, { ...terms, limits: { bodyBytes: 2 } }))['code']).toMatch(/OUTPUT_LIMIT$/);
  });

  it('cut a gzip bomb by what it unpacks to', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await servers.http((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const limits = { bodyBytes: 100_000 };
    const response = await get(server.url, { limits });
    expect([response.body.length, response.truncated]).toEqual([100_000, true]);
    expect(await failing(server.url, { limits, onLimit: 'stop' })).toMatchObject({
      code: 'ERR_LEASEHOLD_OUTPUT_LIMIT',
    });
  });

  it('keep what the bytes within the wire limit decode to', async () => {
    const server = await servers.http((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1_000_000, 'a'))),
    );
    const response = await get(server.url, { limits: { wireBytes: 500 } });
    expect(response.truncated).toBe(true);
    expect(response.body.length).toBeGreaterThan(1_000);
    expect(/^a+$/.test(text(response.body))).toBe(true);
  });
});

describe('an encoding', () => {
  const encodings = {
    gzip: gzipSync,
    'X-GZIP': gzipSync,
    'identity, deflate': deflateSync,
    deflate: deflateRawSync,
    br: brotliCompressSync,
  };
  it.each(Object.entries(encodings))('%s is decoded, though none was asked for', async (encoding, encode) => {
    const body = Buffer.from('ä'.repeat(100_000));
    const encoded = encode(body);
    let asked: unknown = null;
    const server = await servers.http((request, response) => {
      asked = request.headers['accept-encoding'];
      response.writeHead(200, { 'content-encoding': encoding }).end(encoded);
    });
    const response = await get(server.url);
    expect(asked).toBe('identity');
    expect(Buffer.compare(response.body, body)).toBe(0);
    expect(response.wireBytes).toBe(encoded.length);
  });

  it('that lies, or breaks off, fails the run', async () => {
    const bodies = [Buffer.from('no gzip'), gzipSync('abc'.repeat(100)).subarray(0, 20)];
    for (const body of bodies) {
      const server = await servers.http((_request, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(body),
      );
      expect((await failing(server.url)).name).toBe('EncodingError');
    }
  });

  it('that is chained or unknown fails the run, unless there is no body', async () => {
    for (const encoding of ['gzip, gzip', 'zstd', 'constructor']) {
      const server = await servers.http((request, response) =>
        response.writeHead(200, { 'content-encoding': encoding }).end(request.url === '/empty' ? '' : 'abc'),
      );
      expect((await failing(server.url)).name).toBe('EncodingError');
      expect((await get(`${server.url}/empty`)).body.length).toBe(0);
    }
  });

  it('ignores what follows the encoded body', async () => {
    const server = await servers.http((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.concat([gzipSync('abc'), Buffer.alloc(90)])),
    );
    expect(text((await get(server.url)).body)).toBe('abc');
  });
});
