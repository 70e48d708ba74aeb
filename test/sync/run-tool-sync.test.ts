/** `leasehold/sync` on real threads and processes: the same results as `runTool`, told to a caller that waits. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  createSupervisor,
  defineTool,
  type RunResult,
  runResultSchema,
  stableResult,
  type Tool,
  unwrap,
} from 'leasehold';
import { createSyncRunner, runToolSync, type SyncRunner, type SyncRunOptions } from 'leasehold/sync';
import { powershellTool, processTool, readFileTool, shellTool } from 'leasehold/tools';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runProgram } from '../support/fault-programs.ts';

const at = (file: string) => new URL(`../fixtures/tools/${file}.mjs`, import.meta.url);
const toolOf = (file: string, exportName = 'default', rest: object = {}): Tool<unknown, unknown> =>
  defineTool({ name: 'tool', module: at(file), exportName, input: z.unknown(), effects: 'none', graceMs: 50, ...rest });
const sh = (text: string) => shellTool({ name: 'sh', script: text, input: z.unknown(), effects: 'none', graceMs: 100 });

const runner: SyncRunner = createSyncRunner();
afterAll(() => {
  expect(runner.close()).toMatchObject({ abandoned: [] });
});
const noPlan = (): string[] => {
  throw new RangeError('no arguments for this');
};
/** Without what two runs on two supervisors differ in. */
const comparable = (result: RunResult) => JSON.parse(JSON.stringify(stableResult(result)));
/** An isolate was asked for. */
const ran = (result: RunResult) => result.lease !== null;

describe('runToolSync', () => {
  it.each<[string, Tool<unknown, unknown>, unknown]>([
    ['a value', toolOf('print', 'printSome'), { line: 1 }],
    ['a throw', toolOf('throw', 'throwError'), null],
    ['a thrown null', toolOf('throw', 'throwNull'), null],
    ['a missing module', toolOf('missing'), null],
    ['an exit of its isolate', toolOf('exit', 'exitThree'), null],
    ['a hang', toolOf('hang', 'loopForever', { runTimeoutMs: 100 }), null],
    ['a refused input', toolOf('print', 'printSome', { input: z.string() }), 7],
    ['a refused value', toolOf('print', 'printSome', { output: z.date() }), null],
    ['a program', sh('echo out; echo err >&2'), null],
    ['a program that fails', sh('exit 3'), null],
    [
      'a program that cannot start',
      processTool({ name: 'no-file', file: '/nowhere/program', args: () => [], input: z.unknown(), effects: 'none' }),
      null,
    ],
    [
      'a plan that throws',
      processTool({ name: 'no-plan', file: 'sh', args: noPlan, input: z.unknown(), effects: 'none' }),
      null,
    ],
    ['a process', toolOf('print', 'printSome', { isolation: 'process' }), null],
  ])('tells of %s what runTool tells', async (_, tool, input) => {
    await using supervisor = createSupervisor({ isolates: 1 });
    const waited = runner.runToolSync(tool, input);
    expect(runResultSchema.parse(waited)).toBeDefined();
    expect(comparable(waited)).toEqual(comparable(await supervisor.runTool(tool, input)));
  });

  it('rejects an input that cannot cross as runTool does, without a lease', async () => {
    await using supervisor = createSupervisor({ isolates: 1 });
    const waited = runner.runToolSync(toolOf('print', 'printSome'), () => 1);
    const { status, error } = await supervisor.runTool(toolOf('print', 'printSome'), () => 1);
    expect(waited).toMatchObject({ status, lease: null, error: { code: error?.code, message: error?.message } });
  });

  it('gives a value that is a clone, in a result that is frozen deeply', () => {
    const result = runner.runToolSync(toolOf('echo'), { given: [1] });
    expect(result).toMatchObject({ ok: true, value: { echo: { given: [1] } } });
    for (const part of [result, result.timing, result.request.attempts[0], result.lease?.path, result.output.stdout])
      expect(Object.isFrozen(part)).toBe(true);
    expect(Object.isFrozen(result.value)).toBe(false);
  });

  it('parses input and value with the schemas of its caller', () => {
    const tool = toolOf('echo', 'default', {
      input: z.string().transform((text) => text.length),
      output: z.object({ echo: z.number().transform((length) => `${length} long`) }),
    });
    expect(unwrap(runner.runToolSync(tool, 'four'))).toEqual({ echo: '4 long' });
  });

  it('fails with the words of the schema that refuses the value, and its attempt too', () => {
    const tool = toolOf('echo', 'default', { output: z.object({ echo: z.string() }) });
    const result = runner.runToolSync(tool, 7);
    expect(result).toMatchObject({ status: 'failed', ok: false, error: { code: 'ERR_LEASEHOLD_INVALID_OUTPUT' } });
    expect(result.request.attempts).toMatchObject([{ status: 'failed' }]);
    expect('value' in result).toBe(false);
    expect(runResultSchema.safeParse(result).success).toBe(true);
  });

  it('fails a value whose schema is asynchronous, as it cannot wait for it', () => {
    const output = z.unknown().refine(async () => true);
    const result = runner.runToolSync(toolOf('echo', 'default', { output }), 7);
    expect(result.error).toMatchObject({
      code: 'ERR_LEASEHOLD_INVALID_OUTPUT',
      message: expect.stringContaining('asynchronous'),
    });
  });

  it('ends a run at its operation timeout while its caller waits', () => {
    const result = runner.runToolSync(toolOf('hang', 'loopForever'), null, { operationTimeoutMs: 100 });
    const message = 'The request did not end within operationTimeoutMs (100 ms).';
    expect(result).toMatchObject({ status: 'timed-out', error: { code: 'ERR_LEASEHOLD_OPERATION_TIMEOUT', message } });
    expect(runner.runToolSync(toolOf('echo'), 1).status).toBe('succeeded');
  });

  it('hides the secrets of an input in what the tool printed and threw', () => {
    const tool = toolOf('echo', 'default', { secrets: () => ['hunter22'], output: z.string() });
    const printed = { ...sh('echo hunter22'), secrets: () => ['hunter22'] };
    expect(runner.runToolSync(Object.freeze(printed), null).output.stdout.text).toBe('[redacted]\n');
    expect(JSON.stringify({ ...runner.runToolSync(tool, 'hunter22'), value: null })).not.toContain('hunter22');
  });

  it('carries labels, group and the key that intents grow from', () => {
    const options = { labels: { colour: 'blue' }, group: 'nightly', idempotencyKey: 'order-7' };
    const tool = toolOf('effect', 'failCertainly', { effects: 'declared' });
    const results = [0, 1].map(() => runner.runToolSync(tool, null, options));
    expect(results[0]?.request).toMatchObject({ labels: { colour: 'blue' }, group: 'nightly' });
    expect(results[0]?.intents[0]?.key).toBe(results[1]?.intents[0]?.key);
    expect(results[0]?.intents).toMatchObject([{ state: 'not-applied' }]);
  });

  it('makes standard error readable with the reader of its tool', () => {
    const tool = powershellTool({
      name: 'power',
      script: 'clixml',
      executable: new URL('../fixtures/powershell/pwsh.mjs', import.meta.url).pathname,
      input: z.unknown(),
      effects: 'none',
    });
    const { text } = runner.runToolSync(tool, null).output.stderr;
    expect(text).not.toBe('');
    expect(text).not.toContain('CLIXML');
  });
});

describe('runToolSync, refusing', () => {
  it.each([
    ['signal', { signal: new AbortController().signal }],
    ['onPrepared', { onPrepared: () => undefined }],
    ['onProgress', { onProgress: () => undefined }],
    ['onOutput', { onOutput: () => undefined }],
    ['observers', { observers: [] }],
    ['transfer', { transfer: [] }],
    ['repair', { repair: () => undefined }],
    ['retry.when', { retry: { when: () => true } }],
    ['retry.backoff.random', { retry: { backoff: { random: () => 0 } } }],
  ])('the option %s, names it', (name, options) => {
    expect(() => runToolSync(toolOf('echo'), 1, options as SyncRunOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_LEASEHOLD_NOT_AVAILABLE', message: expect.stringContaining(`"${name}"`) }),
    );
  });

  it.each([
    ['an unknown option', () => runToolSync(toolOf('echo'), 1, { timeout: 1 } as object), 'INVALID_OPTION'],
    [
      'a budget that is no number',
      () => runToolSync(toolOf('echo'), 1, { operationTimeoutMs: Number.NaN }),
      'INVALID_OPTION',
    ],
    ['what is no tool', () => runToolSync({} as Tool, 1), 'INVALID_OPTION'],
    [
      'an inline tool',
      () => runToolSync(readFileTool({ name: 'read', root: '/', maxBytes: 1 }), { path: 'x' }),
      'NOT_AVAILABLE',
    ],
    [
      'an asynchronous input schema',
      () => runToolSync(toolOf('echo', 'default', { input: z.unknown().refine(async () => true) }), 1),
      'NOT_AVAILABLE',
    ],
    ['a log for the other thread', () => createSyncRunner({ eventLog: {} } as object), 'NOT_AVAILABLE'],
    ['a supervisor option out of range', () => createSyncRunner({ isolates: 0 }), 'INVALID_OPTION'],
    ['an unknown option of close', () => createSyncRunner().close({ within: 1 } as object), 'INVALID_OPTION'],
  ])('%s, throws with a code', (_, call, code) => {
    expect(call).toThrow(expect.objectContaining({ code: `ERR_LEASEHOLD_${code}` }));
  });
});

describe('the authorizer of a synchronous runner', () => {
  const authorized = (authorize: () => unknown) =>
    createSyncRunner({ authorize: authorize as () => { readonly allow: true } });

  it.each([
    ['no', () => ({ allow: false, reason: 'not you' }), 'DENIED', 'not you'],
    ['a promise of a yes', () => Promise.resolve({ allow: true }), 'AUTHORIZER_FAILED', 'promise'],
    ['a promise that rejects', () => Promise.reject(new Error('later')), 'AUTHORIZER_FAILED', 'promise'],
    ['a promise that never settles', () => new Promise(() => {}), 'AUTHORIZER_FAILED', 'promise'],
    ['something else', () => true, 'AUTHORIZER_FAILED', 'neither'],
    [
      'a throw',
      () => {
        throw new Error('broken');
      },
      'AUTHORIZER_FAILED',
      'broken',
    ],
  ])('that answers %s, denies before anything is sent', (_, authorize, code, words) => {
    const own = authorized(authorize);
    const result = own.runToolSync(toolOf('echo'), 1);
    expect(result).toMatchObject({
      status: 'denied',
      error: { code: `ERR_LEASEHOLD_${code}`, message: expect.stringContaining(words) },
    });
    expect(ran(result)).toBe(false);
    own.close();
  });

  it('that answers yes, was asked once, by its caller, about what then runs', () => {
    const asked: { input: unknown; requestId: string; labels: object }[] = [];
    const own = createSyncRunner({
      authorize: (request) => {
        asked.push(request);
        return { allow: true };
      },
    });
    const tool = toolOf('echo', 'default', { input: z.string().transform((text) => text.length) });
    const result = own.runToolSync(tool, 'four', { labels: { colour: 'blue' } });
    expect(asked).toMatchObject([{ input: 4, requestId: result.request.id, run: result.request.run }]);
    expect(result.value).toMatchObject({ echo: 4 });
    own.close();
  });

  it('that says no, is followed by nothing: no plan of a command is made', () => {
    let planned = 0;
    const args = () => {
      planned += 1;
      return [];
    };
    const own = authorized(() => ({ allow: false }));
    const tool = processTool({ name: 'program', file: 'true', args, input: z.unknown(), effects: 'none' });
    expect(own.runToolSync(tool, 1).status).toBe('denied');
    expect(planned).toBe(0);
    own.close();
  });

  it('is not asked about an input that the schema refuses', () => {
    let asked = 0;
    const own = authorized(() => {
      asked += 1;
      return { allow: true };
    });
    const refused = own.runToolSync(toolOf('echo', 'default', { input: z.string() }), 7 as unknown);
    expect([refused.status, asked]).toEqual(['rejected', 0]);
    own.close();
  });
});

describe('a synchronous runner', () => {
  it('that is closed, reports once and rejects from then on', () => {
    const own = createSyncRunner();
    expect(own.runToolSync(toolOf('echo'), 1).status).toBe('succeeded');
    expect(own.close({ withinMs: 5_000 })).toEqual({ settled: 0, interrupted: 0, abandoned: [] });
    expect(own.close()).toEqual({ settled: 0, interrupted: 0, abandoned: [] });
    expect(own.runToolSync(toolOf('echo'), 1)).toMatchObject({
      status: 'rejected',
      error: { code: 'ERR_LEASEHOLD_CLOSED' },
    });
  });

  it('that is idle, holds no process open, and neither do its isolates', async () => {
    const end = await runProgram('sync.mjs', ['idle']);
    expect(end).toEqual({ code: 0, signal: null, stdout: 'succeeded\nexit\n', stderr: '' });
  });

  it('serves a caller that is a thread itself', async () => {
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      Promise.all([import('leasehold'), import('leasehold/sync'), import('zod')]).then(([lease, sync, { z }]) => {
        const tool = lease.defineTool({ name: 'echo', module: workerData, input: z.unknown(), effects: 'none' });
        const { status } = sync.runToolSync(tool, 1);
        parentPort.postMessage(status);
      });`;
    const worker = new Worker(source, { eval: true, workerData: at('echo').href });
    const [[status], [code]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
    expect([status, code]).toEqual(['succeeded', 0]);
  });
});
