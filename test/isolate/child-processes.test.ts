/** ChildProcesses: on real processes, ended with their isolate unless they were reported ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { ChildProcesses } from '../../src/isolate/child-processes.ts';

const started = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  started.clear();
});

/** A process that says what it hears, until its input ends. */
async function parrot() {
  const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'], { stdio: 'pipe' });
  started.add(child);
  await once(child, 'spawn');
  return { child, pid: child.pid as number };
}

describe('ChildProcesses', () => {
  it('ends every one that is alive', async () => {
    const children = new ChildProcesses(process.pid);
    const parrots = [await parrot(), await parrot()];
    for (const { pid } of parrots) children.note(pid, true);
    const exits = parrots.map(({ child }) => once(child, 'exit'));
    children.endAll();
    expect(await Promise.all(exits)).toEqual([
      [null, 'SIGKILL'],
      [null, 'SIGKILL'],
    ]);
  });

  it('leaves alone what was reported ended, and what nobody reported', async () => {
    const children = new ChildProcesses(process.pid);
    const [ended, other] = [await parrot(), await parrot()];
    children.note(ended.pid, true);
    children.note(ended.pid, false);
    children.note(ended.pid, false);
    children.endAll();
    for (const { child } of [ended, other]) {
      const told = [once(child.stdout, 'data'), once(child, 'exit')];
      child.stdin.end('alive');
      const [[heard], exit] = (await Promise.all(told)) as [unknown[], unknown[]];
      expect([String(heard), exit]).toEqual(['alive', [0, null]]);
    }
  });

  it('goes on past one that is gone already', async () => {
    const children = new ChildProcesses(process.pid);
    const [gone, alive] = [await parrot(), await parrot()];
    for (const { pid } of [gone, alive]) children.note(pid, true);
    gone.child.stdin.end();
    await once(gone.child, 'exit');
    const exit = once(alive.child, 'exit');
    children.endAll();
    expect(await exit).toEqual([null, 'SIGKILL']);
  });

  it.each([0, 1, -1])('signals nobody for the pid %i, which means more than one', async (pid) => {
    const children = new ChildProcesses(process.pid);
    const { child, pid: own } = await parrot();
    // Nothing tells that a pid is no child: what would end the test's own group has to be held back here too.
    for (const noted of [pid, own]) children.note(noted, true);
    const exit = once(child, 'exit');
    children.endAll();
    expect(await exit).toEqual([null, 'SIGKILL']);
  });
});

describe('ChildProcesses of a system that is not there', () => {
  /** Two processes, 7 started at 70 and 8 at 80, both by 5. */
  function openSystem(parent: number | null = 5) {
    const parents = new Map<number, number>();
    const starts = new Map<number, number | undefined>([
      [7, 70],
      [8, 80],
    ]);
    const killed: number[] = [];
    const look = (pid: number) => {
      const start = starts.get(pid);
      return start === undefined ? (starts.has(pid) ? undefined : null) : { parent: parents.get(pid) ?? 5, start };
    };
    const children = new ChildProcesses(parent, { look, kill: (pid) => killed.push(pid) });
    return { parents, starts, killed, children };
  }

  it('signals each once: its pid may be that of another afterwards', () => {
    const { killed, children } = openSystem();
    children.note(7, true);
    children.endAll();
    children.endAll();
    expect(killed).toEqual([7]);
  });

  it('leaves alone a pid that was given anew, one that is gone, and one that never was', () => {
    const { starts, killed, children } = openSystem();
    for (const pid of [7, 8, 9]) children.note(pid, true);
    starts.set(7, 71);
    starts.delete(8);
    starts.set(9, 90);
    children.endAll();
    expect(killed).toEqual([]);
  });

  it('signals nobody that another process started, whoever names it', () => {
    const { parents, killed, children } = openSystem();
    parents.set(7, 1);
    for (const pid of [7, 8]) children.note(pid, true);
    children.endAll();
    expect(killed).toEqual([8]);
  });

  it('believes a thread where the system tells nothing, and no process', () => {
    for (const [parent, ended] of [
      [process.pid, [7]],
      [5, []],
      [null, []],
    ] as const) {
      const { starts, killed, children } = openSystem(parent);
      starts.set(7, undefined);
      children.note(7, true);
      children.endAll();
      expect(killed).toEqual(ended);
    }
  });
});
