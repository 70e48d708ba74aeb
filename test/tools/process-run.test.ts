/**
 * Tools for programs under a real supervisor: what reaches the program, and what the result tells of it.
 *
 * Deliberately absent: stops, drains and sweeps in their own right, which are the isolate's (`isolate/command.test.ts`).
 */
import { createReadStream } from 'node:fs';
import { Readable, Stream, Writable } from 'node:stream';
import { createSupervisor, type RunResult, type Tool } from 'leasehold';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CommandValue, type ProcessToolDefinition, processTool, shellTool } from '../../src/tools/index.ts';

const supervisor = createSupervisor({ isolates: 1, standby: 0 });
afterAll(() => supervisor.close());

const node = (name: string, script: string, over: object = {}): Tool<unknown, CommandValue> =>
  processTool({
    name,
    file: process.execPath,
    args: () => ['-e', script],
    input: z.unknown(),
    effects: 'none',
    ...over,
  } as ProcessToolDefinition);
const run = (tool: Tool<unknown, CommandValue>, input?: unknown): Promise<RunResult<CommandValue>> =>
  supervisor.runTool(tool, input);

const ECHO = 'process.stdin.pipe(process.stdout)';

/** As streams were before Node's own, and as packages still bring them: it pushes, and can be paused. */
class OldStream extends Stream {
  readonly #left: unknown[];
  readonly #error: Error | null;
  #isPaused = false;
  constructor(chunks: readonly unknown[], error: Error | null = null) {
    super();
    this.#left = [...chunks];
    this.#error = error;
    this.resume();
  }
  pause(): void {
    this.#isPaused = true;
  }
  resume(): void {
    this.#isPaused = false;
    setImmediate(() => this.#push());
  }
  #push(): void {
    while (!this.#isPaused && this.#left.length > 0) this.emit('data', this.#left.shift());
    if (this.#left.length > 0) return;
    if (this.#error !== null) this.emit('error', this.#error);
    else this.emit('end');
  }
}

describe('processTool, run', () => {
  it('answers how the program ended, and keeps what it wrote apart', async () => {
    const result = await run(node('both', 'console.log("out"); console.error("err")'));
    expect(result).toMatchObject({
      status: 'succeeded',
      value: { exitCode: 0, signal: null },
      exit: { code: 0, signal: null },
      lease: { isolate: { kind: 'process' }, end: 'completed', findings: [] },
      output: { stdout: { text: 'out\n' }, stderr: { text: 'err\n' } },
    });
  });

  it('passes nothing of the environment on but what the tool says', async () => {
    process.env['LEASEHOLD_TEST_HOST'] = 'host';
    const names = 'console.log(JSON.stringify(process.env))';
    const shown = async (env: object) => JSON.parse((await run(node('env', names, { env }))).output.stdout.text);
    const [usual, chosen] = [await shown({}), await shown({ inherit: ['LEASEHOLD_TEST_HOST'], set: { MINE: 'yes' } })];
    delete process.env['LEASEHOLD_TEST_HOST'];
    expect(usual).toMatchObject({ PATH: process.env['PATH'] });
    expect(usual).not.toHaveProperty('LEASEHOLD_TEST_HOST');
    expect(Object.keys(chosen).sort()).toEqual(['LEASEHOLD_RUN', 'LEASEHOLD_TEST_HOST', 'MINE']);
  });

  it.each([
    ['a string', () => 'gr\u00fczi'],
    ['bytes', () => Buffer.from('gr\u00fczi')],
    ['a stream', () => Readable.from([Buffer.from('gr\u00fc'), Buffer.from('zi')])],
  ])('feeds standard input from %s', async (_, stdin) => {
    expect((await run(node('echo', ECHO, { stdin }))).output.stdout.text).toBe('gr\u00fczi');
  });

  it('feeds standard input from a stream that is not of this Node', async () => {
    const stdin = () => new OldStream(['gr\u00fc', Buffer.from('zi')]) as unknown as Readable;
    expect((await run(node('echo', ECHO, { stdin }))).output.stdout.text).toBe('gr\u00fczi');
  });

  it.each<[string, () => unknown, object]>([
    ['a file that is not there', () => createReadStream('/nope'), { name: 'Error', fields: { code: 'ENOENT' } }],
    ['a stream of objects', () => Readable.from([{ a: 1 }]), { name: 'TypeError' }],
    ['an old stream that breaks', () => new OldStream(['a'], new RangeError('broke')), { name: 'RangeError' }],
    ['an old stream of objects', () => new OldStream([{ a: 1 }]), { name: 'TypeError' }],
  ])('fails by %s on standard input, and tells no value', async (_, stdin, error) => {
    const result = await run(node('echo', ECHO, { stdin, effects: 'opaque' }));
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_TOOL_ERROR', ...error },
      exit: { code: null, signal: 'SIGTERM' },
      cause: null,
      intents: [{ state: 'failed' }],
    });
    expect(result).not.toHaveProperty('value.exitCode');
  });

  it.each<[string, () => unknown]>([
    ['a stream that cannot be paused', () => new Stream()],
    ['a stream that can only be written', () => new Writable()],
    ['an object that only claims to be bytes', () => Object.create(Uint8Array.prototype)],
  ])('starts nothing when its standard input is %s', async (_, stdin) => {
    expect(await run(node('echo', ECHO, { stdin, effects: 'opaque' }))).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('stdin() of the tool must return') },
      exit: null,
      intents: [{ state: 'not-applied' }],
    });
  });

  it('shows a reader of standard input its end when there is none', async () => {
    expect(await run(node('echo', ECHO))).toMatchObject({ status: 'succeeded', output: { stdout: { text: '' } } });
  });

  it('fails for an exit code that is not accepted, and tells no argument', async () => {
    const result = await run(node('leave', 'process.exit(3) // hush'));
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_EXIT_CODE', fields: { arguments: 2, exitCode: 3 } },
      exit: { code: 3 },
    });
    expect(JSON.stringify(result)).not.toContain('hush');
  });

  it('tells the arguments in an error where they are public', async () => {
    const result = await run(node('leave', 'process.exit(3)', { publicArgs: true }));
    expect(result.error?.fields).toMatchObject({ arguments: ['-e', 'process.exit(3)'] });
  });

  it('succeeds with an exit code that is accepted', async () => {
    expect(await run(node('leave', 'process.exit(3)', { okExitCodes: [0, 3] }))).toMatchObject({
      status: 'succeeded',
      value: { exitCode: 3, signal: null },
    });
  });

  it('starts nothing when its arguments cannot be made, and tells nothing of them', async () => {
    const args = () => {
      throw new RangeError('hush');
    };
    const result = await run(node('none', '', { args }));
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_TOOL_ERROR', message: 'args() of the tool threw a RangeError.' },
      exit: null,
    });
    expect(JSON.stringify(result)).not.toContain('hush');
  });

  it('hides the secrets of an input in what the program wrote', async () => {
    const tool = node('leak', 'console.log(process.argv[1])', {
      args: (input: string) => ['-e', 'console.log(process.argv[1])', '--', input],
      secrets: (input: string) => [input],
    });
    const result = await run(tool, 'hush-hush');
    expect(result.output.stdout).toMatchObject({ text: '[redacted]\n', redactions: 1 });
    expect(JSON.stringify(result)).not.toContain('hush-hush');
  });

  it('stops a program that passes its own limit, where that is asked for', async () => {
    const tool = node('flood', 'setInterval(() => process.stdout.write("x".repeat(1000)))', {
      output: { stdoutBytes: 5_000 },
      onLimit: 'stop',
    });
    expect(await run(tool)).toMatchObject({ status: 'failed', error: { code: 'ERR_LEASEHOLD_OUTPUT_LIMIT' } });
  });
});

describe('shellTool, run', () => {
  const greet = shellTool({
    name: 'greet',
    script: 'printf "%s, %s" "$0" "$1"; exit "$2"',
    args: (input) => [input.who, String(input.code)],
    input: z.object({ who: z.string(), code: z.number() }),
    effects: 'none',
  });

  it('reads what comes from the input as words', async () => {
    const result = await supervisor.runTool(greet, { who: '"; $(exit 9) `exit 9`', code: 0 });
    expect(result.output.stdout.text).toBe('greet, "; $(exit 9) `exit 9`');
    expect(result.value).toEqual({ exitCode: 0, signal: null });
  });

  it('fails with the exit code of the script', async () => {
    expect(await supervisor.runTool(greet, { who: 'ada', code: 4 })).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_EXIT_CODE' },
      exit: { code: 4 },
    });
  });
});
