/**
 * The other half of the fault matrix: clean code is never taken for spoiled.
 *
 * Invariant: all patterns run in one thread, and in one process, 25 times each, and the isolate of the first run serves the
 * last.
 * Deliberately absent: anything a tool could be blamed for.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSupervisor, defineTool, type Supervisor } from 'leasehold';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
// @ts-expect-error a plain module: only the names of its exports are read here
import * as patterns from '../fixtures/tools/clean.mjs';
import { fixture } from '../support/fault-adapter.ts';

const RUNS = 25;
const names = Object.keys(patterns as object);

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((_request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it('Clean tools come in at least twenty-five patterns', () => {
  expect(names.length).toBeGreaterThanOrEqual(25);
});

describe.each(['thread', 'process'] as const)('a clean tool in a %s', (isolation) => {
  const isolates = new Set<string>();
  let supervisor: Supervisor;
  beforeAll(async () => {
    supervisor = createSupervisor({
      isolates: 1,
      limits: { process: 1 },
      standby: 0,
      health: { full: 'every' },
    });
    await supervisor.untilReady();
  });
  afterAll(async () => {
    await supervisor.close({ withinMs: 10_000 });
  });

  it.each(names)('keeps its isolate through 25 runs of %s', async (exportName) => {
    const tool = defineTool({
      name: 'clean',
      module: fixture('clean.mjs'),
      exportName,
      input: z.object({ url: z.string() }),
      effects: 'none',
      isolation,
    });
    for (let run = 0; run < RUNS; run += 1) {
      const result = await supervisor.runTool(tool, { url });
      // What the platform itself puts on the global under a symbol, as fetch does, is told and condemns nothing.
      const condemning = result.lease?.findings.filter(({ condemns }) => condemns);
      expect({ status: result.status, error: result.error, condemning }).toEqual({
        status: 'succeeded',
        error: null,
        condemning: [],
      });
      expect(result.lease?.end).toBe('completed');
      if (result.lease?.isolate) isolates.add(result.lease.isolate.id);
    }
    expect(isolates.size).toBe(1);
  });
});
