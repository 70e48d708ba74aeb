/**
 * HTTP tools on their way through redirects: who is asked, what goes along, where it ends.
 *
 * Invariant: no address is asked before the authorizer was. Deliberately absent: the table of methods (`http-request`).
 */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type HttpToolDefinition, httpTool } from '../../src/tools/http.ts';
import type { HttpRequest } from '../../src/tools/http-request.ts';
import { HttpCall } from '../support/http-call.ts';
import { Servers, type TestServer } from '../support/http-server.ts';

const servers = new Servers();
afterEach(() => servers.close());

const walkTool = (request: HttpRequest, terms: Partial<HttpToolDefinition<z.ZodNull>> = {}) =>
  httpTool({ name: 'walk', input: z.null(), request: () => request, redirects: 3, ...terms });
const to = (location: string, status = 302, body = '') =>
  `HTTP/1.1 ${status} Go\r\nlocation: ${location}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const DONE = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone';

/** Sends every request on, `/1` to `/2` and so forth. */
function loop(): Promise<TestServer> {
  return servers.raw((socket, head) => socket.write(to(`/${Number(/\/(\d+)/.exec(head)?.[1]) + 1}`)));
}

describe('redirects', () => {
  it('are values unless they are asked for', async () => {
    const server = await loop();
    const call = new HttpCall();
    const response = await call.run(walkTool({ url: `${server.url}/1` }, { redirects: 0 }), null);
    expect(response).toMatchObject({ status: 302, headers: { location: '/2' } });
    expect([server.heads.length, call.hops]).toEqual([1, []]);
  });

  it('in a loop end with the last one as the value', async () => {
    const server = await loop();
    const call = new HttpCall();
    const response = await call.run(walkTool({ url: `${server.url}/1` }), null);
    await server.untilQuiet();
    expect(response).toMatchObject({ status: 302, url: `${server.url}/4` });
    expect(call.hops.map(({ number, url }) => [number, url])).toEqual(
      [1, 2, 3].map((number) => [number, `${server.url}/${number + 1}`]),
    );
  });

  it('stop at a hop that is denied, which is never asked', async () => {
    const server = await loop();
    const call = new HttpCall();
    call.deniedHop = 2;
    const failure = await call.failure(walkTool({ url: `${server.url}/1` }), null);
    await server.untilQuiet();
    expect(failure['code']).toBe('ERR_LEASEHOLD_DENIED');
    expect(server.heads.length).toBe(2);
  });

  it('take credentials along, but to no other origin', async () => {
    const far = await servers.raw((socket) => socket.write(DONE));
    const near = await servers.raw((socket, head) =>
      socket.write(to(head.startsWith('GET /1') ? '/2' : `http://localhost:${far.port}/`)),
    );
    const headers = { authorization: 'a', Cookie: 'c', 'proxy-authorization': 'p', host: 'h', 'x-kept': 'k' };
    await new HttpCall().run(walkTool({ url: `${near.url}/1`, headers }), null);
    expect(near.heads[1]).toMatch(/host: h\r\n[\s\S]*authorization: a\r\ncookie: c\r\nproxy-authorization: p/);
    expect(far.heads[0]).toMatch(/x-kept: k/);
    expect(far.heads[0]).not.toMatch(/authorization|cookie|host: h\r/i);
  });

  it('that lead astray fail the run', async () => {
    const server = await servers.raw((socket) => socket.write(to('file:///etc/passwd')));
    const call = new HttpCall();
    expect((await call.failure(walkTool({ url: server.url }), null)).name).toBe('RedirectRefusedError');
    expect(call.hops).toEqual([]);
  });

  it('of a POST that stays one are intents of their own', async () => {
    const server = await servers.raw((socket, head) => socket.write(head.startsWith('POST /1') ? to('/2', 307) : DONE));
    const call = new HttpCall();
    await call.run(walkTool({ url: `${server.url}/1`, method: 'POST', body: 'b' }), null);
    expect(call.intents).toMatchObject([
      { name: `POST 127.0.0.1:${server.port}`, state: 'applied' },
      { name: `POST redirect 1 127.0.0.1:${server.port}`, state: 'applied' },
    ]);
    expect(server.heads.map((head) => /idempotency-key: (.*)/.exec(head)?.[1])).toEqual(['key-1', 'key-2']);
  });

  it('that make a POST a GET dispatch nothing more', async () => {
    const server = await servers.raw((socket, head) => socket.write(head.startsWith('POST') ? to('/2', 303) : DONE));
    const call = new HttpCall();
    const request = { url: server.url, method: 'POST', body: 'b', headers: { 'Idempotency-Key': 'mine' } };
    await call.run(walkTool(request), null);
    expect(call.intents.length).toBe(1);
    expect(server.heads[0]).toMatch(/idempotency-key: mine\r\n/);
    expect(server.heads[1]).not.toMatch(/idempotency-key|content-length/);
  });

  it('take from one budget of bytes', async () => {
    const server = await servers.raw((socket, head) =>
      socket.write(head.startsWith('GET /1') ? to('/2', 302, 'abc') : DONE),
    );
    const terms = { limits: { wireBytes: 6 } };
    const response = await new HttpCall().run(walkTool({ url: `${server.url}/1` }, terms), null);
    expect(response).toMatchObject({ status: 200, truncated: true, wireBytes: 7 });
    expect(String(Buffer.from(response.body))).toBe('don');
  });
});
