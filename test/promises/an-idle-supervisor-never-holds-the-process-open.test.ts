/**
 * Promise: a program that is done ends, whatever it forgot to close; a program that waits for a result does not.
 *
 * Invariant: each case is a process of its own, judged by its exit. Deliberately absent: signals and forced ends.
 */
import { describe, expect, it } from 'vitest';
import { makeFifo } from '../support/fault-fifo.ts';
import { runProgram } from '../support/fault-programs.ts';

describe('a process', () => {
  it.each([
    ['booting', ['created', 'exit'], 'ends while isolates are still to boot'],
    ['ready', ['ready', 'exit'], 'ends beside idle isolates'],
    ['afterRuns', ['succeeded', 'succeeded', 'succeeded', 'exit'], 'ends after its runs'],
    ['afterKill', ['timed-out', 'exit'], 'ends after a kill'],
    ['readyAfterKill', ['timed-out', 'ready', 'exit'], 'stays for isolates that somebody waits for'],
    ['openScope', ['succeeded', 'exit'], 'ends beside an open scope'],
    ['closed', ['closed', 'exit'], 'ends after two closes'],
    ['closedWhileBooting', ['closed', 'exit'], 'ends after a close while booting'],
    ['running', ['succeeded', 'exit'], 'stays for a run in progress'],
    ['hung', ['timed-out', 'exit'], 'stays for the deadline of a hung run'],
    ['queued', ['succeeded', 'succeeded', 'succeeded', 'exit'], 'stays for queued runs'],
  ])('in the scene %s prints %j: %s', async (scene, lines) => {
    const end = await runProgram('idle.mjs', [scene]);
    expect(end).toEqual({ code: 0, signal: null, stdout: `${lines.join('\n')}\n`, stderr: '' });
  });

  it('ends quietly after a close that gave a blocked thread up', async () => {
    const fifo = makeFifo();
    const end = await runProgram('idle.mjs', ['closedBesideBlocked', fifo.path]);
    await fifo.release();
    expect(end).toEqual({ code: 0, signal: null, stdout: 'interrupted 1\nexit\n', stderr: '' });
  });
});
