/**
 * Promise: what a tool printed before it hung, exited or was killed is in its result, bounded per stream and together.
 *
 * Invariant: nothing is flushed by the tool: what it wrote is enough. Deliberately absent: the keeping of head and tail to
 * the byte (`test/output/`).
 */
import { createSupervisor, defineTool } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, sharedWords, untilChanged } from '../support/fault-adapter.ts';

const print = (exportName: string) =>
  defineTool({ name: 'print', module: fixture('print.mjs'), exportName, input: z.unknown(), effects: 'none' });

describe('output', () => {
  it('before a busy loop is kept', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { graceMs: 50, runTimeoutMs: 200 } });
    const result = await supervisor.runTool(print('printThenLoop'), {});
    await supervisor.close({ withinMs: 5_000 });
    expect(result).toMatchObject({
      status: 'timed-out',
      output: { stdout: { text: 'written to stdout\n' }, stderr: { text: 'said on stderr\n' } },
    });
  });

  it('before an exit is kept', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0 });
    const result = await supervisor.runTool(print('printThenExit'), {});
    await supervisor.close({ withinMs: 5_000 });
    expect(result).toMatchObject({ status: 'failed', output: { stdout: { text: 'before the exit\n' } } });
  });

  it('over its limits keeps the head and the tail, and counts the rest', async () => {
    const supervisor = createSupervisor({
      isolates: 1,
      standby: 0,
      defaults: { graceMs: 50, runTimeoutMs: 1_500 },
      output: { stdoutBytes: 4_096 },
    });
    // Their sum fits the window, so that no line waits for the host to read.
    const lines = 2_000;
    const result = await supervisor.runTool(print('printManyThenLoop'), { lines });
    await supervisor.close({ withinMs: 5_000 });
    const { stdout } = result.output;
    const written = Array.from({ length: lines }, (_, line) => `line ${line}\n`).join('');
    expect(stdout.bytesRead).toBe(Buffer.byteLength(written));
    expect(stdout.bytesKept + stdout.bytesOmitted).toBe(stdout.bytesRead);
    expect(stdout.bytesKept).toBeLessThanOrEqual(4_096);
    expect(stdout.truncated).toBe(true);
    expect(stdout.text.startsWith('line 0\n')).toBe(true);
    expect(stdout.text.endsWith(`line ${lines - 1}\n`)).toBe(true);
  });

  it.each(['return', 'exit', 'loop'])('to a blocked host is whole or said not to be, before a %s', async (then) => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { graceMs: 50, runTimeoutMs: 2_000 } });
    const words = sharedWords();
    const lines = 40_000;
    const running = supervisor.runTool(print('printToNobody'), { words, lines, then });
    await untilChanged(words, 0);
    Atomics.wait(words, 1, 0);
    const { stdout } = (await running).output;
    await supervisor.close({ withinMs: 5_000 });
    const written = Array.from({ length: lines }, (_, line) => `line ${line}\n`.length).reduce(
      (sum, size) => sum + size,
    );
    expect(stdout.bytesKept + stdout.bytesOmitted).toBe(stdout.bytesRead);
    if (then === 'return') expect(stdout.eof).toBe(true);
    // What the isolate still held when it ended cannot be known: then the stream has no end.
    if (stdout.eof) expect(stdout.bytesRead).toBe(written);
    else expect(stdout.bytesRead).toBeLessThanOrEqual(written);
  });

  it('of one run is not in the next', async () => {
    const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { graceMs: 50, runTimeoutMs: 200 } });
    await supervisor.runTool(print('printThenLoop'), {});
    const next = await supervisor.runTool(
      defineTool({ name: 'echo', module: fixture('echo.mjs'), input: z.unknown(), effects: 'none' }),
      1,
    );
    await supervisor.close({ withinMs: 5_000 });
    expect(next.output.stdout.bytesRead + next.output.stderr.bytesRead).toBe(0);
  });
});
