/**
 * What HTTP tools send: which requests are refused, and what of the others arrives.
 *
 * Invariant: no error tells the value of a header. Deliberately absent: the response.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { httpTool } from '../../src/tools/http.ts';
import { type HttpRequest, outgoingOf, redirectOf } from '../../src/tools/http-request.ts';
import { HttpCall } from '../support/http-call.ts';
import { Servers } from '../support/http-server.ts';
import { unheardRejections } from '../support/unheard.ts';

const servers = new Servers();
afterEach(() => servers.close());

const sendTool = (request: HttpRequest) => httpTool({ name: 'send', input: z.null(), request: () => request });
const SECRET = 'sesame-4711';

describe('a request', () => {
  const url = 'http://127.0.0.1:1/';
  it.each([
    ['without an address', {}],
    ['with a relative address', { url: '/a' }],
    ['to a file', { url: 'file:///etc/passwd' }],
    ['with a password in its address', { url: `http://me:${SECRET}@127.0.0.1/` }],
    ['that is a promise', Promise.resolve({ url })],
    ['with a field nobody knows', { url, [SECRET]: 1 }],
    ['of a method of two words', { url, method: 'GET /x HTTP/1.1\r\nx:' }],
    ['of the method CONNECT', { url, method: 'connect' }],
    ['of GET with a body', { url, body: SECRET }],
    ['with a body of another kind', { url, method: 'POST', body: { a: SECRET } }],
    ['with a line break in a header', { url, headers: { 'x-a': `${SECRET}\r\nx-b: 1` } }],
    ['with a line break in one of a list', { url, headers: { 'x-a': ['a', `${SECRET}\n`] } }],
    ['with a header beyond latin1', { url, headers: { 'x-a': `${SECRET}✓` } }],
    ['with a number for a header', { url, headers: { 'x-a': 4711 } }],
    ['with a line break in the name of a header', { url, headers: { [`x:${SECRET}\r\ny`]: 'a' } }],
    ['with a header given twice', { url, headers: { 'X-A': SECRET, 'x-a': SECRET } }],
    ['with a length of its own', { url, headers: { 'Content-Length': '1' } }],
    ['with headers in a list', { url, headers: [['x-a', SECRET]] }],
    ['with headers of the platform', { url, headers: new Headers({ 'x-a': SECRET }) }],
  ])('%s is refused before anything leaves, and tells no value', async (_what, request) => {
    const call = new HttpCall();
    const failure = await call.failure(sendTool(request as never), null);
    expect(failure.name).toBe('RequestInvalidError');
    expect(`${failure.stack}${JSON.stringify(failure)}`).not.toContain(SECRET);
    expect([call.intents, call.clock.pending]).toEqual([[], 0]);
  });

  it('that undici itself refuses is not applied', async () => {
    const call = new HttpCall();
    const request = { url, method: 'POST', headers: { host: ['a', 'b'] } };
    expect((await call.failure(sendTool(request), null)).name).toBe('RequestInvalidError');
    expect(call.intents).toMatchObject([{ state: 'not-applied' }]);
  });

  it('that the function of the tool throws at fails with what it threw', async () => {
    const request = (): HttpRequest => {
      throw new RangeError('no');
    };
    const failure = await new HttpCall().failure(httpTool({ name: 'send', input: z.null(), request }), null);
    expect(failure).toBeInstanceOf(RangeError);
  });

  it('arrives with its headers, and closes its connection', async () => {
    const server = await servers.raw((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    const headers = { 'X-Name': 'zwölf', 'x-list': ['a', 'b'], 'x-not': undefined, host: 'other.example' };
    await new HttpCall().run(sendTool({ url: `${server.url}/a%20b?c`, method: 'get', headers }), null);
    await server.untilQuiet();
    expect(server.heads[0]?.split('\r\n')).toEqual([
      ...['GET /a%20b?c HTTP/1.1', 'host: other.example', 'connection: close'],
      ...['x-name: zwölf', 'x-list: a', 'x-list: b', 'accept-encoding: identity'],
    ]);
  });

  it('may ask for an encoding by itself', async () => {
    const server = await servers.raw((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    await new HttpCall().run(sendTool({ url: server.url, headers: { 'Accept-Encoding': 'br' } }), null);
    expect(server.heads[0]).toMatch(/accept-encoding: br$/);
  });

  it('sends a huge body whole', async () => {
    let length = 0;
    const server = await servers.http((request, response) => {
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      request.on('end', () => response.end(request.headers['content-length']));
    });
    const body = Buffer.alloc(5_000_000, 'x');
    const response = await new HttpCall().run(sendTool({ url: server.url, method: 'PUT', body }), null);
    expect([String(Buffer.from(response.body)), length]).toEqual(['5000000', 5_000_000]);
  });

  it('hears an answer that comes before its body was read', async () => {
    const answer = 'HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
    const server = await servers.raw((socket) => {
      socket.pause();
      socket.write(answer);
    });
    const call = new HttpCall();
    const body = Buffer.alloc(20_000_000);
    const response = await call.run(sendTool({ url: server.url, method: 'POST', body }), null);
    expect([response.status, call.intents[0]?.state]).toEqual([413, 'applied']);
  });
});

describe('outgoingOf', () => {
  const url = 'http://a.example/';
  const rejected = () => Promise.reject(new Error('no'));

  it.each([
    ['itself', rejected],
    ['its address', () => ({ url: rejected() })],
    ['its method', () => ({ url, method: rejected() })],
    ['its body', () => ({ url, body: rejected() })],
    ['a header', () => ({ url, headers: { a: rejected() } })],
    ['one of a list', () => ({ url, headers: { a: ['b', rejected()] } })],
    ['its headers', () => ({ url, headers: rejected() })],
    ['an unknown field', () => ({ url, query: rejected() })],
  ])('refuses what is asynchronous in %s, and takes its rejection', async (_where, request) => {
    const unheard = await unheardRejections(() => {
      expect(() => outgoingOf(request())).toThrow('The HTTP request cannot be sent');
    });
    expect(unheard).toEqual([]);
  });

  it('for any header it accepts, holds no end of a line', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), (headers) => {
        try {
          const outgoing = outgoingOf({ url: 'http://a.example/', headers });
          expect(Object.entries(outgoing.headers).join()).not.toMatch(/[\r\n\0]/);
        } catch (error) {
          expect((error as Error).name).toBe('RequestInvalidError');
        }
      }),
    );
  });
});

describe('redirectOf', () => {
  const sent = (method: string, url = 'https://a.example/x') =>
    outgoingOf({ url, method, headers: { 'content-type': 't', cookie: 'c' }, body: method === 'GET' ? null : 'b' });

  it.each([
    ['POST', 301, 'GET'],
    ['POST', 302, 'GET'],
    ['PUT', 302, 'PUT'],
    ['PUT', 303, 'GET'],
    ['POST', 307, 'POST'],
    ['DELETE', 308, 'DELETE'],
  ])('makes a %s at a %i a %s', (method, status, then) => {
    const next = redirectOf(sent(method), status, '/y#z');
    expect(next).toMatchObject({ method: then, headers: { cookie: 'c' } });
    expect(next?.url.href).toBe('https://a.example/y');
    expect([next?.body === null, next?.headers['content-type'] === undefined]).toEqual(
      then === 'GET' ? [true, true] : [false, false],
    );
  });

  it('follows neither other statuses nor one without an address', () => {
    expect(redirectOf(sent('GET'), 304, '/y')).toBeNull();
    expect(redirectOf(sent('GET'), 302, undefined)).toBeNull();
    expect(redirectOf(sent('GET'), 302, ['/a', '/b'])).toBeNull();
  });

  it.each(['http://a.example/', 'ftp://a.example/', 'https://u:p@a.example/', 'https://a:b:c/'])(
    'refuses to go to %s',
    (location) => {
      expect(() => redirectOf(sent('GET'), 302, location)).toThrow(/not followed/);
    },
  );
});
