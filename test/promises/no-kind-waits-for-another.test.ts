/**
 * Promise: a tool that hangs costs its own isolate: no other kind of tool waits for it, and the host stays alive.
 *
 * Invariant: everything is real: a thread, a Node process, a program, a server that never answers, a file. Deliberately absent:
 * the queue of one kind (`a-hung-tool-costs-no-capacity.test.ts`).
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSupervisor, defineTool, type RunResult, type Tool } from 'leasehold';
import { httpTool, readFileTool } from 'leasehold/tools';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';
import { Servers } from '../support/http-server.ts';
import { Hearing, leavesNothing, living, script } from '../support/program-run.ts';
import { connections } from '../support/socket-tales.ts';
import { scratch } from '../tools/scratch.ts';

leavesNothing();
const servers = new Servers();
afterEach(() => servers.close());

const module = (file: string, isolation: 'thread' | 'process', exportName = 'default') =>
  defineTool({
    name: `${file.replace('.mjs', '')}-${isolation}`,
    module: fixture(file),
    exportName,
    input: z.unknown(),
    effects: 'none',
    isolation,
  });
const get = httpTool({
  name: 'get',
  request: (input) => ({ method: 'GET', url: (input as { url: string }).url }),
  input: z.unknown(),
});

type Call = readonly [Tool<unknown, unknown>, unknown];

/** One quick call of each kind. */
async function quickCalls(): Promise<Call[]> {
  const root = scratch();
  writeFileSync(join(root, 'file'), 'read');
  const server = await servers.http((_, response) => response.end('answered'));
  return [
    [module('echo.mjs', 'thread'), 'echoed'],
    [module('echo.mjs', 'process'), 'echoed'],
    [script('echo printed'), null],
    [get, { url: server.url }],
    [readFileTool({ name: 'read', root, maxBytes: 100 }) as Tool<unknown, unknown>, { path: 'file' }],
  ];
}

describe('a hung tool', () => {
  it('of each kind at once leaves room for every kind, and all of them end', async () => {
    const supervisor = createSupervisor({
      isolates: 2,
      standby: 0,
      limits: { process: 4, inline: 4 },
      defaults: { graceMs: 200, killMs: 2_000 },
    });
    const words = sharedWords();
    const [controller, hearing] = [new AbortController(), new Hearing()];
    const silent = await servers.raw(() => undefined);
    const tales = await connections();
    const hung: Call[] = [
      [module('hang.mjs', 'thread', 'loopForever'), { words }],
      [module('connect.mjs', 'process'), { path: tales.path }],
      [script('trap "" TERM; echo up; sleep 45; :'), null],
      [get, { url: silent.url }],
    ];
    const options = { signal: controller.signal };
    const hanging = hung.map(([tool, input]) => supervisor.runTool(tool, input, { ...options, ...hearing.options }));
    await Promise.all([untilChanged(words, 0), tales.next(), hearing.until('up\n'), silent.untilAsked()]);

    const results = await Promise.all((await quickCalls()).map(([tool, input]) => supervisor.runTool(tool, input)));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'succeeded'));
    expect(supervisor.statistics().isolates.leased).toBe(4);

    // The host itself is gone for a second, told by a program that lasts as long.
    const file = join(scratch(), 'second');
    const second = supervisor.runTool(script('sleep 1; : > "$1"'), file);
    await new Promise<void>((resume) => setImmediate(resume));
    while (!existsSync(file));
    expect((await second).status).toBe('succeeded');

    const from = performance.now();
    controller.abort();
    const ended: RunResult[] = await Promise.all(hanging);
    const tookMs = performance.now() - from;
    expect(ended.map(({ status, cause }) => [status, cause?.kind])).toEqual(ended.map(() => ['cancelled', 'cancel']));
    expect(tookMs).toBeLessThan(Math.max(...ended.map(({ timing }) => timing.boundMs)) + 1_500);
    expect(ended.map(({ lease }) => lease?.isolate?.kind)).toEqual(['thread', 'process', 'process', 'inline']);
    await supervisor.close();
    await tales.close();
    expect(living()).toEqual([]);
  });

  it.each(['thread', 'process', 'program', 'http'])('in a full %s keeps no other kind waiting', async (kind) => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, limits: { process: 1, inline: 1 } });
    const words = sharedWords();
    const [controller, hearing] = [new AbortController(), new Hearing()];
    const silent = await servers.raw(() => undefined);
    const tales = await connections();
    const hung: Record<string, readonly [...Call, Promise<unknown>]> = {
      thread: [module('hang.mjs', 'thread', 'loopForever'), { words }, untilChanged(words, 0)],
      process: [module('connect.mjs', 'process'), { path: tales.path }, tales.next()],
      program: [script('echo up; sleep 45'), null, hearing.until('up\n')],
      http: [get, { url: silent.url }, silent.untilAsked()],
    };
    const [tool, input, untilHung] = hung[kind] as readonly [...Call, Promise<unknown>];
    const hanging = supervisor.runTool(tool, input, { signal: controller.signal, graceMs: 50, ...hearing.options });
    await untilHung;
    // Of the limit the hung one has used up, nobody else may have anything.
    const sharers: Record<string, readonly number[]> = { thread: [0], process: [1, 2], program: [1, 2], http: [3, 4] };
    const others = (await quickCalls()).filter((_, index) => sharers[kind]?.includes(index) === false);
    const results = await Promise.all(others.map(([quick, given]) => supervisor.runTool(quick, given)));
    expect(results.map(({ status }) => status)).toEqual(others.map(() => 'succeeded'));
    controller.abort();
    expect((await hanging).status).toBe('cancelled');
    await supervisor.close();
    await tales.close();
  });
});
