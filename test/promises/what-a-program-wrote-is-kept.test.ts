/**
 * Promise: what a program wrote is in its result, whole characters and the right bytes, however late and in whatever pieces.
 *
 * Invariant: everything comes through a real pipe. Deliberately absent: large output
 * (`a-gibibyte-of-output-stays-small.test.ts`) and secrets (`a-secret-is-found-nowhere.test.ts`).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { createSupervisor } from 'leasehold';
import { afterAll, describe, expect, it } from 'vitest';
import { cutAt, Hearing, leavesNothing, piecewise, script } from '../support/program-run.ts';
import { scratch } from '../tools/scratch.ts';

leavesNothing();
const supervisor = createSupervisor({ isolates: 1, standby: 0 });
afterAll(() => supervisor.close());

describe('output that comes late', () => {
  it.each(['in the turn of the exit', 'in the turn after it'])('is kept when the host is blocked %s', async (when) => {
    const file = join(scratch(), 'written');
    const block = () => {
      while (!existsSync(file));
    };
    const blocked = createSupervisor({
      isolates: 1,
      standby: 0,
      inspect: (told) => {
        const { event } = told as unknown as { readonly event?: { readonly type: string } };
        if (told.type !== '@xstate.event' || event?.type !== 'SETTLED') return;
        if (when === 'in the turn of the exit') block();
        else setImmediate(block);
      },
    });
    // The quiet time is long over when the host looks again, and the line is in the pipe.
    const late = script('echo up; (sleep 0.5; echo late; : > "$1") & exit 0', {
      drain: { quietMs: 100, maxMs: 5_000 },
    });
    const result = await blocked.runTool(late, file);
    await blocked.close();
    expect(result).toMatchObject({
      status: 'succeeded',
      output: { stdout: { text: 'up\nlate\n', eof: true }, drain: { ended: 'eof', holders: [] } },
      lease: { findings: [] },
    });
  });

  it('of a flood during the grace leaves the last words of it', async () => {
    const flood = 'i=0; while [ $i -lt 20000 ]; do echo flood $i; i=$((i+1)); done';
    const tool = script(
      `trap 'trap "" TERM; ${flood}; echo last words; exec sleep 45' TERM; echo up; sleep 45 & wait`,
      {
        graceMs: 1_000,
        output: { stdoutBytes: 4_096 },
      },
    );
    const [hearing, controller] = [new Hearing(), new AbortController()];
    const running = supervisor.runTool(tool, null, { ...hearing.options, signal: controller.signal });
    await hearing.until('up\n');
    controller.abort();
    const { status, exit, output } = await running;
    expect([status, exit?.signal]).toEqual(['cancelled', 'SIGKILL']);
    expect(output.stdout.bytesKept).toBeLessThanOrEqual(4_096);
    expect(output.stdout.text.startsWith('up\nflood 0\n')).toBe(true);
    expect(output.stdout.text.endsWith('flood 19999\nlast words\n')).toBe(true);
  });

  it('of a flood after the kill pushes out nothing that was there before', async () => {
    const flooding = `setsid sh -c 'echo ready; while kill -0 $1 2>/dev/null; do :; done; while :; do echo $2; done' sh $$`;
    const tool = script(`trap "" TERM; ${flooding} ${'flood'.repeat(20)} & echo last words; sleep 45; :`, {
      graceMs: 50,
    });
    const [hearing, controller] = [new Hearing(), new AbortController()];
    const running = supervisor.runTool(tool, null, { ...hearing.options, signal: controller.signal });
    await hearing.until('ready\n');
    await hearing.until('last words\n');
    controller.abort();
    const { status, output, lease } = await running;
    expect([status, output.stdout.text.split('\n').sort()]).toEqual(['cancelled', ['', 'last words', 'ready']]);
    expect(output.stdout.truncated).toBe(false);
    expect(output.postKill.bytesRead).toBeGreaterThan(64 * 1_024);
    expect(output.postKill.bytesKept).toBeLessThanOrEqual(64 * 1_024);
    expect(lease?.findings.map(({ kind }) => kind)).toEqual(['orphans-killed', 'killed']);
  });
});

describe('onLimit stop', () => {
  it.each([
    ['standard error', { stderrBytes: 100 }, 'while :; do echo oops >&2; done', 'stderr'],
    [
      'both together',
      { stdoutBytes: 1_000, stderrBytes: 1_000, combinedBytes: 1_000 },
      'while :; do echo oops; echo oops >&2; done',
      'stdout',
    ],
  ] as const)(
    'ends a program that passes the limit of %s, and keeps the beginning',
    async (_, output, text, stream) => {
      const result = await supervisor.runTool(script(text, { output, onLimit: 'stop' }), null);
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'ERR_LEASEHOLD_OUTPUT_LIMIT' },
        cause: { kind: 'output-limit' },
        exit: { code: null, signal: 'SIGTERM' },
      });
      expect(result.output[stream].text.startsWith('oops\n')).toBe(true);
      expect(result.output.combinedBytes).toBeLessThanOrEqual(1_000);
    },
  );
});

describe('characters', () => {
  const fatal = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  it('for any text in any pieces are never torn, in the result and on the way', async () => {
    const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(texts, cuts, fc.integer({ min: 1, max: 80 }), async (text, at, stdoutBytes) => {
        const written = Buffer.from(text);
        const hearing = new Hearing();
        const pieces = cutAt(written, at).map((bytes) => [1, bytes] as const);
        const tool = piecewise({ encoding: 'bytes', output: { stdoutBytes } });
        const result = await supervisor.runTool(tool, pieces, hearing.options);
        expect(result.status).toBe('succeeded');
        const { bytes = new Uint8Array(), headBytes, bytesKept, bytesOmitted, ...stdout } = result.output.stdout;
        expect(hearing.text).toBe(text);
        expect(bytesKept + bytesOmitted).toBe(written.length);
        expect(bytesKept).toBeLessThanOrEqual(stdoutBytes);
        const [head, tail] = [bytes.subarray(0, headBytes), bytes.subarray(headBytes)];
        expect(written.subarray(0, headBytes).equals(head)).toBe(true);
        expect(written.subarray(written.length - tail.length).equals(tail)).toBe(true);
        const shown = [fatal.decode(head), fatal.decode(tail)];
        if (!stdout.truncated) expect(stdout.text).toBe(text);
        else
          expect([stdout.text.startsWith(shown[0] ?? ''), stdout.text.endsWith(shown[1] ?? '')]).toEqual([true, true]);
      }),
      // Each run is a process: a failure is told at once, with its seed.
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('are left alone where bytes are asked for', async () => {
    const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const result = await supervisor.runTool(piecewise({ encoding: 'bytes' }), [
      [1, every],
      [2, every.toReversed()],
    ]);
    expect(result.output.stdout.bytes).toEqual(every);
    expect(result.output.stderr.bytes).toEqual(every.toReversed());
  });
});
