/**
 * HTTP tools under a supervisor: what of a request's fate its one result says.
 *
 * Invariants: real sockets on the machine's clock, no threads; stops come from events. Deliberately absent: what the tool
 * does by itself (`http-stops`, `http-redirects`).
 */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SupervisorOptions } from '../../src/model/options.ts';
import { openSupervisor } from '../../src/supervisor.ts';
import { type HttpToolDefinition, httpTool } from '../../src/tools/http.ts';
import { FakeTenures } from '../support/fake-tenure.ts';
import { Servers } from '../support/http-server.ts';

const servers = new Servers();
const opened: ReturnType<typeof openSupervisor>[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((supervisor) => supervisor.close()));
  await servers.close();
});

function open(options: Partial<SupervisorOptions> = {}) {
  const supervisor = openSupervisor({ isolates: 1, standby: 0, ...options }, { tenures: new FakeTenures({}) });
  opened.push(supervisor);
  return supervisor;
}
const toolOf = (method: string, terms: Partial<HttpToolDefinition<z.ZodString>> = {}) =>
  httpTool({ name: 'ask', input: z.string(), request: (url) => ({ url, method }), ...terms });

describe('the result of an HTTP tool', () => {
  it('holds the response, and the lease of an inline isolate', async () => {
    const server = await servers.http((_request, response) => response.end('abc'));
    const result = await open().runTool(toolOf('GET'), server.url);
    expect(result).toMatchObject({ status: 'succeeded', intents: [], value: { status: 200, truncated: false } });
    expect(result.lease).toMatchObject({ end: 'completed', isolate: { kind: 'inline' } });
  });

  it('lists a POST that was answered, with the key that was sent', async () => {
    let key: unknown = null;
    const server = await servers.http((request, response) => {
      key = request.headers['idempotency-key'];
      response.writeHead(201).end();
    });
    const result = await open().runTool(toolOf('POST'), server.url);
    expect(result.intents).toMatchObject([{ name: `POST 127.0.0.1:${server.port}`, state: 'applied', key }]);
  });

  it('is failed, with nothing applied, when the connection is refused', async () => {
    const result = await open().runTool(toolOf('POST'), await servers.nowhere());
    expect(result).toMatchObject({ status: 'failed', error: { name: 'ConnectError' } });
    expect(result.intents).toMatchObject([{ state: 'not-applied' }]);
  });

  it('is indeterminate when a POST was cut before its answer', async () => {
    const server = await servers.raw((socket) => socket.destroy());
    const result = await open().runTool(toolOf('POST'), server.url);
    expect(result).toMatchObject({ status: 'indeterminate', intents: [{ state: 'dispatched' }] });
    expect(result.error).toMatchObject({ code: 'ERR_LEASEHOLD_INDETERMINATE', cause: { name: 'ResponseCutError' } });
  });

  it('is failed when a GET was cut', async () => {
    const server = await servers.raw((socket) => socket.destroy());
    expect(await open().runTool(toolOf('GET'), server.url)).toMatchObject({ status: 'failed', intents: [] });
  });

  it('is timed-out when a GET is not answered in time', async () => {
    const server = await servers.raw(() => undefined);
    const result = await open().runTool(toolOf('GET'), server.url, { runTimeoutMs: 50 });
    await server.untilQuiet();
    expect(result).toMatchObject({ status: 'timed-out', cause: { kind: 'run-timeout' }, lease: { end: 'completed' } });
  });

  it('is cancelled when the body was on its way, and the intent applied', async () => {
    const abort = new AbortController();
    const server = await servers.raw((socket) => {
      const drip = (): void => {
        if (socket.destroyed) return;
        if (socket.bytesWritten > 200) abort.abort();
        socket.write('.', () => setImmediate(drip));
      };
      socket.write('HTTP/1.1 200 OK\r\n\r\n', drip);
    });
    const result = await open().runTool(toolOf('POST'), server.url, { signal: abort.signal });
    await server.untilQuiet();
    expect(result).toMatchObject({ status: 'cancelled', intents: [{ state: 'applied' }] });
  });

  it('is indeterminate when a POST is cancelled before its answer', async () => {
    const abort = new AbortController();
    const server = await servers.raw(() => abort.abort());
    const result = await open().runTool(toolOf('POST'), server.url, { signal: abort.signal });
    expect(result).toMatchObject({ status: 'indeterminate', cause: { kind: 'cancel' } });
  });

  it('is denied at a hop the authorizer refuses', async () => {
    const server = await servers.raw((socket) =>
      socket.write('HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n'),
    );
    const asked: unknown[] = [];
    const supervisor = open({
      authorize: (request) => {
        asked.push(request.kind);
        return request.kind === 'redirect' ? { allow: false, reason: 'no hops' } : { allow: true };
      },
    });
    const result = await supervisor.runTool(toolOf('GET', { redirects: 3 }), server.url);
    expect(result).toMatchObject({ status: 'denied', error: { code: 'ERR_LEASEHOLD_DENIED' } });
    expect([asked.length, server.heads.length]).toEqual([2, 1]);
  });

  it('is failed at a refused hop once a POST was applied, and says so', async () => {
    const server = await servers.raw((socket) =>
      socket.write('HTTP/1.1 307 Temporary Redirect\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n'),
    );
    const supervisor = open({ authorize: ({ kind }) => ({ allow: kind === 'run' }) as { allow: true } });
    const result = await supervisor.runTool(toolOf('POST', { redirects: 3 }), server.url);
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_DENIED' },
      intents: [{ state: 'applied' }],
    });
    expect(server.heads).toHaveLength(1);
  });

  it('is failed and names the limit that stops', async () => {
    const server = await servers.http((_request, response) => response.end('abc'));
    const tool = toolOf('GET', { limits: { bodyBytes: 2 }, onLimit: 'stop' });
    const result = await open().runTool(tool, server.url);
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_OUTPUT_LIMIT' },
    });
  });
});
