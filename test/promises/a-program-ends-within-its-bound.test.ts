/**
 * Promise: whatever a program leaves behind, its run ends within the bound that was told, truthfully, and nothing is left.
 *
 * Invariant: the truth is the process table, read when the result is there; the bound is the result's own. Deliberately
 * absent: how the peers fare (`bench/who-hangs.mjs`) and each step on its own (`isolate/command.test.ts`).
 */
import { createSupervisor, type RunResult } from 'leasehold';
import { afterAll, describe, expect, it } from 'vitest';
import { Hearing, leavesNothing, living, type ProgramTool, script } from '../support/program-run.ts';

leavesNothing();
const supervisor = createSupervisor({ isolates: 1, standby: 0, defaults: { killMs: 1_000 } });
afterAll(() => supervisor.close());

/** What a busy machine may add. Milliseconds. */
const SLACK_MS = 2_000;
const PRINTING = `setsid sh -c 'i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); sleep 0.02; done'`;

function expectBounded(result: RunResult): void {
  const { terminatingMs, drainingMs, boundMs } = result.timing;
  expect(terminatingMs + drainingMs).toBeLessThan(boundMs + SLACK_MS);
  expect(supervisor.statistics().worstCaseStopMs).toBeGreaterThanOrEqual(boundMs);
  expect(living()).toEqual([]);
}
const kinds = ({ lease }: RunResult) => lease?.findings.map(({ kind }) => kind);

/** Cancels once the program said `up`. */
async function cancelled(tool: ProgramTool): Promise<RunResult> {
  const hearing = new Hearing();
  const controller = new AbortController();
  const running = supervisor.runTool(tool, null, { ...hearing.options, signal: controller.signal });
  await hearing.until('up\n');
  controller.abort();
  return running;
}

describe('a program that leaves a process behind', () => {
  it.each([
    ['orphan', 'sleep 45 & exit 0', {}, 'succeeded', { code: 0, signal: null }, 'quiet', /^sleep \(\d+\)$/],
    ['orphanT', 'sleep 45 & exit 0', { runTimeoutMs: 9_000 }, 'succeeded', { code: 0 }, 'quiet', /^sleep \(\d+\)$/],
    ['wait', 'sleep 45 & wait', { runTimeoutMs: 500 }, 'timed-out', { signal: 'SIGTERM' }, 'eof', null],
    ['ignore', 'trap "" TERM; sleep 45; :', { runTimeoutMs: 500 }, 'timed-out', { signal: 'SIGKILL' }, 'eof', null],
    [
      'setsid',
      'setsid sleep 45 & wait',
      { runTimeoutMs: 500 },
      'timed-out',
      { signal: 'SIGTERM' },
      'quiet',
      /^sleep \(/,
    ],
    [
      'setsidw',
      `${PRINTING} & wait`,
      { runTimeoutMs: 200 },
      'timed-out',
      { signal: 'SIGTERM' },
      'cap',
      /^(sh|sleep) \(/,
    ],
  ])('ends within its bound and names who held its pipe: %s', async (_, text, over, status, exit, ended, holder) => {
    const result = await supervisor.runTool(script(text, over), null);
    expectBounded(result);
    // A kill is the end of an isolate, whatever was found.
    const end = text.startsWith('trap') ? 'quarantined' : 'completed';
    expect(result).toMatchObject({ status, exit, output: { drain: { ended } }, lease: { end } });
    const { holders } = result.output.drain;
    if (holder === null) expect([holders, kinds(result)?.includes('orphans-killed')]).toEqual([[], false]);
    else expect([holders[0], kinds(result)]).toEqual([expect.stringMatching(holder), ['orphans-killed']]);
  });

  it('ends all of two hundred descendants by one signal', async () => {
    const many = 'i=0; while [ $i -lt 200 ]; do sleep 45 & i=$((i+1)); done; echo up; wait';
    const result = await cancelled(script(many));
    expectBounded(result);
    expect(result).toMatchObject({ status: 'cancelled', exit: { signal: 'SIGTERM' }, lease: { end: 'completed' } });
  });

  it('finds the children a shell with job control put in groups of their own', async () => {
    const jobs = 'set -m; sleep 45 & sleep 45 & echo up; wait';
    const result = await cancelled(script(jobs, { shell: 'bash' }));
    expectBounded(result);
    expect(result.status).toBe('cancelled');
    expect(result.lease?.findings).toEqual([{ kind: 'orphans-killed', condemns: false, detail: '2 processes' }]);
  });

  it('finds one that left group, session and pipes behind, by its marker', async () => {
    const result = await cancelled(script(`setsid sh -c 'echo up; exec sleep 45 >/dev/null 2>&1' & wait`));
    expectBounded(result);
    expect(result).toMatchObject({ status: 'cancelled', output: { drain: { ended: 'eof', holders: [] } } });
    expect(kinds(result)).toEqual(['orphans-killed']);
  });

  it('finds one that hid its environment, by the pipe it holds', async () => {
    const result = await cancelled(script(`env -i setsid sh -c 'echo up; exec sleep 45' & wait`));
    expectBounded(result);
    expect(result).toMatchObject({
      status: 'cancelled',
      output: { drain: { holders: [expect.stringMatching(/^sleep \(/)] } },
    });
    expect(kinds(result)).toEqual(['orphans-killed']);
  });

  it('takes no zombie for one that lives', async () => {
    // What replaced the shell waits for nobody, so its child stays in the table.
    const result = await cancelled(script('(exit 0) & echo up; exec sleep 45'));
    expectBounded(result);
    expect(result).toMatchObject({ status: 'cancelled', lease: { end: 'completed', findings: [] } });
  });
});

describe('a program that is told to stop', () => {
  const OBEDIENT = 'trap "exit 0" TERM; sleep 45 & echo up; while :; do wait; done';

  it('stays timed-out when it then exits with 0, and shows the 0', async () => {
    const result = await supervisor.runTool(script(OBEDIENT, { runTimeoutMs: 200 }), null);
    expectBounded(result);
    expect(result).toMatchObject({
      status: 'timed-out',
      error: { code: 'ERR_LEASEHOLD_RUN_TIMEOUT' },
      cause: { kind: 'run-timeout', state: 'running' },
      exit: { code: 0, signal: null },
    });
  });

  it('stays cancelled when it then exits with 0', async () => {
    const result = await cancelled(script(OBEDIENT));
    expectBounded(result);
    expect(result).toMatchObject({ status: 'cancelled', exit: { code: 0, signal: null }, also: [] });
  });

  const STUBBORN = 'trap "" TERM; echo up; sleep 45; :';

  it('timed out and then cancelled, tells both in that order', async () => {
    const controller = new AbortController();
    const result = await supervisor.runTool(script(STUBBORN, { runTimeoutMs: 200 }), null, {
      signal: controller.signal,
      observers: [{ onEvent: ({ type }) => type === 'stop.recorded' && controller.abort() }],
    });
    expectBounded(result);
    expect(result).toMatchObject({ status: 'timed-out', cause: { kind: 'run-timeout' }, also: [{ kind: 'cancel' }] });
  });

  it('cancelled and then timed out, tells both in that order', async () => {
    const result = await cancelled(script(STUBBORN, { runTimeoutMs: 400, graceMs: 1_000 }));
    expectBounded(result);
    expect(result).toMatchObject({ status: 'cancelled', cause: { kind: 'cancel' }, also: [{ kind: 'run-timeout' }] });
    expect(result.also[0]?.state).toBe('terminating');
  });
});
