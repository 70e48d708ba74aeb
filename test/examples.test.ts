/**
 * The examples and the tour as a reader starts them: each ends by itself, with exit code 0, and prints what matters.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pathsUnder, ROOT } from './support/sources.ts';

const start = promisify(execFile);
/** Rejects when the program does not end with 0. */
async function linesOf(path: string, ...args: string[]): Promise<string[]> {
  const { stdout, stderr } = await start(process.execPath, [join(ROOT, path), ...args]);
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

describe('examples/plugin-host', () => {
  it('answers nine visitors while one plugin hangs', async () => {
    const lines = await linesOf('examples/plugin-host/plugin-host.mjs');
    expect(lines[0]).toBe('/stuck -> 504 timed-out');
    expect(lines.slice(1)).toEqual(
      Array.from({ length: 9 }, (_, index) => `/upper?text=visitor%20${index + 1} -> 200 VISITOR ${index + 1}`),
    );
  });
});

describe('examples/cancellable-batch', () => {
  it('keeps what was finished and cancels the rest, each answered once', async () => {
    const lines = await linesOf('examples/cancellable-batch/cancellable-batch.mjs');
    expect(lines).toHaveLength(13);
    for (const line of lines.slice(0, 12)) {
      expect(line).toMatch(/^range \d+: (succeeded \(\d+ primes\)|cancelled \((had|never) started\))$/);
    }
    expect(lines[11]).toMatch(/^range 12: cancelled/);
    const [, succeeded, cancelled] = /^(\d+) succeeded, (\d+) cancelled: 12 of 12/.exec(lines[12] ?? '') ?? [];
    expect(Number(succeeded)).toBeGreaterThanOrEqual(4);
    expect(Number(succeeded) + Number(cancelled)).toBe(12);
  });
});

describe('examples/charge-once', () => {
  it('tells a charge, a refusal and a charge nobody can know of apart', async () => {
    expect(await linesOf('examples/charge-once/charge-once.mjs')).toEqual([
      'order-1: succeeded; charge order-1 applied',
      'order-2: failed; charge order-2 not-applied',
      '  NotAppliedError: retrySafe false',
      'order-3: indeterminate; charge order-3 dispatched',
      '  IndeterminateError: retrySafe false',
    ]);
  });
});

describe('examples/retrying-call', () => {
  it('tries three times under one key, and charges once', async () => {
    expect(await linesOf('examples/retrying-call/retrying-call.mjs')).toEqual([
      'attempt 1: indeterminate',
      'attempt 2: indeterminate',
      'attempt 3: succeeded',
      'answer: charge 1',
      '3 calls, 1 key, 1 charge',
    ]);
  });
});

describe('examples/charge-after-a-crash', () => {
  it('charges each order once, whatever its killed host had got to', async () => {
    const lines = await linesOf('examples/charge-after-a-crash/charge-after-a-crash.mjs');
    expect(lines.slice(0, 5)).toEqual([
      'order-1: succeeded, synced',
      'the host was ended by SIGKILL',
      'order-2: nobody knew; the server says applied',
      'order-3: nobody knew; the server says not-applied',
      'order-4: had not begun',
    ]);
    expect(lines.slice(5)).toEqual([
      'order-3: succeeded, synced',
      'order-4: succeeded, synced',
      'the host ended with 0',
      'charged: order-1, order-2, order-3, order-4',
    ]);
  });
});

describe('examples/agent-loop', () => {
  it('takes turns until the assessor has no remark', async () => {
    expect(await linesOf('examples/agent-loop/agent-loop.mjs')).toEqual([
      'draft: timed-out',
      'draft: Orders grew.',
      '  name a figure; say what follows',
      'draft: Orders grew by 12 %; we hire.',
      'accepted after 3 turns: Orders grew by 12 %; we hire.',
    ]);
  });
});

describe('examples/agent-tools', () => {
  const linesWith = (...answers: string[]) => linesOf('examples/agent-tools/agent-tools.mjs', ...answers);

  it('does what was allowed, and shows its token nowhere', async () => {
    expect(await linesWith('yes', 'yes', 'no')).toEqual([
      'read: succeeded, 50 bytes',
      'count: succeeded, 2 lines',
      expect.stringMatching(/^publish: succeeded, HTTP 201; POST 127\.0\.0\.1:\d+ applied$/),
      'save: succeeded, 11 bytes; write report.txt applied',
      'remove: denied, The authorizer said no: the user said no',
      'stderr of count: token: [redacted]',
      'the token shows: false',
      'published: 1; the notes are there: true',
    ]);
  });

  it('changes nothing where nobody is there to be asked', async () => {
    const lines = await linesWith();
    expect(lines.slice(2, 5)).toEqual(
      ['publish', 'save', 'remove'].map((name) => `${name}: denied, The authorizer said no: the user said no`),
    );
    expect(lines.at(-1)).toBe('published: 0; the notes are there: true');
  });

  it('removes the notes when told so', async () => {
    const lines = await linesWith('no', 'no', 'yes');
    expect(lines[4]).toBe('remove: succeeded, gone; remove applied');
    expect(lines.at(-1)).toBe('published: 0; the notes are there: false');
  });
});

describe('examples/plugin-processes', () => {
  it('loses one run to each plugin that ends its process', async () => {
    expect(await linesOf('examples/plugin-processes/plugin-processes.mjs')).toEqual([
      'crash: failed, The isolate ended while the tool ran, with signal SIGSEGV.',
      'abort: failed, The isolate ended while the tool ran, with signal SIGABRT.',
      'block: timed-out, The tool did not end within runTimeoutMs (500 ms).',
      'hog: failed, The isolate ran out of memory and was ended.',
      expect.stringMatching(/^pry: failed, Access to this API has been restricted/),
      'upper: succeeded, HELLO',
      'this program goes on; 0 processes are left',
    ]);
  });
});

describe('examples/tour', () => {
  it('shows ten faults, keeps within 100 columns and ends with whole capacity', async () => {
    const lines = await linesOf('examples/tour/tour.mjs');
    const table = lines.slice(lines.findIndex((line) => line.startsWith('THE TOOL')) + 1);
    const statuses = Object.fromEntries(
      table.slice(0, 10).map((line) => [line.slice(0, 26).trim(), line.slice(27, 40).trim()]),
    );
    expect(statuses).toEqual({
      'hangs in a busy loop': 'timed-out',
      'never resolves': 'timed-out',
      'exits the process': 'failed',
      'exhausts its heap': 'failed',
      'throws null': 'failed',
      'returns a function': 'failed',
      'leaks a timer': 'succeeded',
      'pollutes a global': 'succeeded',
      'floods its output': 'succeeded',
      'has an effect, then hangs': 'indeterminate',
    });
    expect(lines.at(-1)).toMatch(
      /^Capacity is whole again: 2 of 2 isolates at once, (\d+) of \1 digests equal, 0 abandoned\.$/,
    );
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(lines.join('\n')).not.toContain('\u001b');
  });
});

describe('examples', () => {
  it('are all run here', () => {
    const programs = pathsUnder('examples', /\.mjs$/).filter(
      (path) => path.split('/')[1] === path.split('/')[2]?.replace('.mjs', ''),
    );
    expect(programs).toEqual([
      'examples/agent-loop/agent-loop.mjs',
      'examples/agent-tools/agent-tools.mjs',
      'examples/cancellable-batch/cancellable-batch.mjs',
      'examples/charge-after-a-crash/charge-after-a-crash.mjs',
      'examples/charge-once/charge-once.mjs',
      'examples/plugin-host/plugin-host.mjs',
      'examples/plugin-processes/plugin-processes.mjs',
      'examples/retrying-call/retrying-call.mjs',
      'examples/tour/tour.mjs',
    ]);
  });
});
