/**
 * Promise: a program that could not be started, or was stopped before, has run nothing, and its result says so.
 *
 * Invariant: the truth is a file the program would have written, and the event log. Deliberately absent: what the platform
 * says of each failure (`process/spawn-failure.test.ts`).
 */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSupervisor, type EventLog, memoryEventLog, type RunResult } from 'leasehold';
import { type ProcessToolDefinition, processTool } from 'leasehold/tools';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Hearing, leavesNothing, script } from '../support/program-run.ts';
import { scratch } from '../tools/scratch.ts';

leavesNothing();
const eventLog = memoryEventLog();
const supervisor = createSupervisor({ isolates: 1, standby: 0, limits: { process: 1 }, eventLog });
afterAll(() => supervisor.close());

const program = (over: object) =>
  processTool({
    name: 'program',
    file: 'sh',
    args: () => [],
    input: z.unknown(),
    effects: 'opaque',
    ...over,
  } as ProcessToolDefinition);
async function openIntents(log: EventLog): Promise<string[]> {
  const open: string[] = [];
  for await (const { requestId } of log.openIntents()) open.push(requestId);
  return open;
}

/** Everything a result may not leave open when nothing ran. */
async function expectUnrun(result: RunResult, status: string): Promise<void> {
  expect(result).toMatchObject({ status, exit: null, output: { stdout: { bytesRead: 0 } } });
  expect(result.intents.filter(({ state }) => state !== 'not-applied')).toEqual([]);
  expect(result.lease?.end ?? 'completed').toBe('completed');
  expect(await openIntents(eventLog)).toEqual([]);
}

describe('a program that cannot be started', () => {
  it.each([
    ['a missing one', { file: 'no-such-program' }, 'not-found', 'ENOENT'],
    ['a missing folder', { cwd: '/no/such/folder' }, 'bad-cwd', 'ENOENT'],
    ['a file as its folder', { cwd: process.execPath }, 'bad-cwd', 'ENOTDIR'],
    ['an argument of a megabyte', { args: () => ['-c', 'x'.repeat(1_000_000)] }, 'too-large', 'E2BIG'],
    ['arguments of many megabytes', { args: () => Array(300).fill('x'.repeat(30_000)) }, 'too-large', 'E2BIG'],
  ])('fails once and leaves no intent open: %s', async (_, over, reason, errno) => {
    const result = await supervisor.runTool(program(over), null);
    await expectUnrun(result, 'failed');
    expect(result.error).toMatchObject({ code: 'ERR_LEASEHOLD_SPAWN_FAILED', fields: { reason, errno } });
    expect(result.intents).toMatchObject([{ state: 'not-applied' }]);
  });

  it('fails once where a file may not be executed', async () => {
    const file = join(scratch(), 'forbidden');
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, 0o644);
    const result = await supervisor.runTool(program({ file }), null);
    await expectUnrun(result, 'failed');
    expect(result.error).toMatchObject({ code: 'ERR_LEASEHOLD_SPAWN_FAILED', fields: { reason: 'not-permitted' } });
  });

  it.each([
    ['an argument', { args: () => ['-c', 'echo \0'] }],
    ['a variable', { env: { set: () => ({ NAME: 'a\0b' }) } }],
    ['its folder', { cwd: () => '/tmp\0' }],
  ])('fails once where %s holds a NUL byte', async (_, over) => {
    const result = await supervisor.runTool(program(over), null);
    await expectUnrun(result, 'failed');
    expect(result.error?.code).toMatch(/^ERR_LEASEHOLD_(TOOL_ERROR|SPAWN_FAILED)$/);
  });

  it('leaves its isolation to the next one', async () => {
    expect(await supervisor.runTool(program({ args: () => ['-c', 'echo next'] }), null)).toMatchObject({
      status: 'succeeded',
      output: { stdout: { text: 'next\n' } },
      intents: [{ state: 'applied' }],
    });
  });
});

describe('a program that is stopped before it starts', () => {
  const touch = (effects: 'none' | 'opaque') => script(': > "$1"', { effects });

  it('is not started when the signal had aborted before the call', async () => {
    const file = join(scratch(), 'ran');
    const result = await supervisor.runTool(touch('opaque'), file, { signal: AbortSignal.abort('too late') });
    await expectUnrun(result, 'cancelled');
    expect(existsSync(file)).toBe(false);
  });

  it('is not started when it is cancelled while it waits', async () => {
    const file = join(scratch(), 'ran');
    const [before, controller, hearing] = [new AbortController(), new AbortController(), new Hearing()];
    const first = supervisor.runTool(script('echo up; sleep 45'), null, { ...hearing.options, signal: before.signal });
    await hearing.until('up\n');
    const waiting = supervisor.runTool(touch('opaque'), file, { signal: controller.signal });
    expect(supervisor.statistics().queue.depth).toBe(1);
    controller.abort();
    await expectUnrun(await waiting, 'cancelled');
    before.abort();
    expect((await first).status).toBe('cancelled');
    expect(existsSync(file)).toBe(false);
  });

  it('is not started when it is cancelled at the moment it is granted', async () => {
    const file = join(scratch(), 'ran');
    const controller = new AbortController();
    const result = await supervisor.runTool(touch('opaque'), file, {
      signal: controller.signal,
      onPrepared: () => {
        controller.abort();
        return undefined;
      },
    });
    await expectUnrun(result, 'cancelled');
    expect(existsSync(file)).toBe(false);
  });

  it('would have written its file', async () => {
    const file = join(scratch(), 'ran');
    expect((await supervisor.runTool(touch('none'), file)).status).toBe('succeeded');
    expect(existsSync(file)).toBe(true);
  });
});

describe('a program that is stopped while it runs', () => {
  async function stopped(effects: 'none' | 'opaque', by: 'cancel' | 'run-timeout') {
    const [controller, hearing] = [new AbortController(), new Hearing()];
    const running = supervisor.runTool(script('echo up; sleep 45', { effects }), null, {
      ...hearing.options,
      signal: controller.signal,
      ...(by === 'run-timeout' ? { runTimeoutMs: 200 } : {}),
    });
    await hearing.until('up\n');
    if (by === 'cancel') controller.abort();
    return running;
  }

  it.each(['cancel', 'run-timeout'] as const)('is indeterminate after a %s where it may do anything', async (by) => {
    const result = await stopped('opaque', by);
    const code = by === 'cancel' ? 'ERR_LEASEHOLD_CANCELLED' : 'ERR_LEASEHOLD_RUN_TIMEOUT';
    expect(result).toMatchObject({
      status: 'indeterminate',
      error: { code: 'ERR_LEASEHOLD_INDETERMINATE', cause: { code } },
      cause: { kind: by },
      exit: { signal: 'SIGTERM' },
      intents: [{ state: 'dispatched' }],
    });
    expect(await openIntents(eventLog)).toContain(result.request.id);
  });

  it.each([
    ['cancel', 'cancelled'],
    ['run-timeout', 'timed-out'],
  ] as const)('is told by its cause after a %s where it has no effects', async (by, status) => {
    expect(await stopped('none', by)).toMatchObject({ status, cause: { kind: by }, intents: [] });
  });
});

describe('a program that reads no input', () => {
  it('ends as it will, whatever it was to be given', async () => {
    const stdin = () => Buffer.alloc(4 * 1024 * 1024, 'x');
    expect(await supervisor.runTool(program({ file: 'true', stdin }), null)).toMatchObject({
      status: 'succeeded',
      exit: { code: 0 },
      lease: { end: 'completed', findings: [] },
      diagnostics: [],
    });
  });
});
