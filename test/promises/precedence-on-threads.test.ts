/**
 * A sample of the precedence table on real threads: both stops are told, in the order in which they came.
 *
 * Invariant: order comes from words shared with the tool, or from the results of the calls themselves.
 * Deliberately absent: exact ties, which real clocks do not have (`precedence.test.ts`).
 */
import { createSupervisor, defineTool, type RunResult, type Supervisor } from 'leasehold';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';

const tool = (exportName: string) =>
  defineTool({ name: 'hang', module: fixture('hang.mjs'), exportName, input: z.unknown(), effects: 'none' });
const kinds = (result: RunResult<unknown>) => ({
  status: result.status,
  cause: result.cause?.kind ?? null,
  also: result.also.map((stop) => `${stop.kind} while ${stop.state}`),
});

let supervisor: Supervisor;
beforeEach(async () => {
  supervisor = createSupervisor({ isolates: 1, standby: 1, defaults: { graceMs: 150, killMs: 3_000 } });
  await supervisor.untilReady();
});
afterEach(async () => {
  await supervisor.close({ withinMs: 10_000 });
});

describe('a result on a real thread', () => {
  async function cancelled(exportName: string, rest: { runTimeoutMs?: number; graceMs?: number } = {}) {
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(tool(exportName), { words }, { signal: controller.signal, ...rest });
    await untilChanged(words, 0);
    controller.abort(new Error('enough'));
    return running;
  }

  it('tells the cancel as the cause of a tool that obeys', async () => {
    expect(kinds(await cancelled('obey', { graceMs: 5_000 }))).toEqual({
      status: 'cancelled',
      cause: 'cancel',
      also: [],
    });
  });

  it('tells the cancel beside the value of a tool that answers all the same', async () => {
    const result = await cancelled('answerWhenStopped', { graceMs: 5_000 });
    expect(kinds(result)).toEqual({ status: 'succeeded', cause: null, also: ['cancel while running'] });
    expect(result).toMatchObject({ value: 'all the same', late: 'within-grace' });
  });

  it('tells the cancel beside the failure of a tool that fails by itself', async () => {
    const result = await cancelled('failWhenStopped', { graceMs: 5_000 });
    expect(kinds(result)).toEqual({ status: 'failed', cause: null, also: ['cancel while running'] });
    expect(result.error?.message).toBe('disk full');
  });

  it('tells the exit beside the cancel of a tool that exits when stopped', async () => {
    expect(kinds(await cancelled('exitWhenStopped', { graceMs: 5_000 }))).toEqual({
      status: 'cancelled',
      cause: 'cancel',
      also: ['isolate-exit while terminating'],
    });
  });

  it('tells a run timeout that passes while terminating beside the cancel', async () => {
    const result = await cancelled('neverSettle', { runTimeoutMs: 1_000, graceMs: 2_500 });
    expect(kinds(result)).toEqual({ status: 'cancelled', cause: 'cancel', also: ['run-timeout while terminating'] });
  });

  it('tells a shutdown beside the cancel that came first', async () => {
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(tool('loopForever'), { words }, { signal: controller.signal });
    await untilChanged(words, 0);
    controller.abort();
    await supervisor.close({ withinMs: 1 });
    expect(kinds(await running)).toEqual({
      status: 'cancelled',
      cause: 'cancel',
      also: ['shutdown while terminating'],
    });
  });

  it('tells a cancel beside the shutdown that came first', async () => {
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(tool('loopForever'), { words }, { signal: controller.signal });
    await untilChanged(words, 0);
    const closing = supervisor.close({ withinMs: 1 });
    controller.abort();
    await closing;
    expect(kinds(await running)).toEqual({
      status: 'interrupted',
      cause: 'shutdown',
      also: ['cancel while terminating'],
    });
  });

  it.each([
    [
      'operation-timeout',
      'OPERATION_TIMEOUT',
      { operationTimeoutMs: 100, runTimeoutMs: 400 },
      undefined,
      'run-timeout',
    ],
    ['run-timeout', 'RUN_TIMEOUT', { operationTimeoutMs: 1_200, runTimeoutMs: 100 }, undefined, 'operation-timeout'],
    ['parent-deadline', 'PARENT_DEADLINE', { operationTimeoutMs: 200 }, 100, 'operation-timeout'],
  ] as const)('tells the %s that came first as the cause', async (kind, code, options, deadlineMs, second) => {
    const scope = supervisor.openScope(deadlineMs === undefined ? {} : { deadlineMs });
    const result = await scope.runTool(tool('neverSettle'), {}, { ...options, graceMs: 2_000 });
    expect(kinds(result)).toEqual({ status: 'timed-out', cause: kind, also: [`${second} while terminating`] });
    expect(result.error?.code).toBe(`ERR_LEASEHOLD_${code}`);
  });

  it('drops a late value under lateResults discard, and still tells the stop', async () => {
    const words = sharedWords();
    const controller = new AbortController();
    const running = supervisor.runTool(
      tool('answerWhenStopped'),
      { words },
      {
        signal: controller.signal,
        graceMs: 5_000,
        lateResults: 'discard',
      },
    );
    await untilChanged(words, 0);
    controller.abort();
    const result = await running;
    expect(kinds(result)).toEqual({ status: 'cancelled', cause: 'cancel', also: [] });
    expect('value' in result).toBe(false);
  });
});
