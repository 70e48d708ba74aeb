/**
 * The backend of Linux on real processes.
 *
 * Invariant: every process is one this file started, and is waited for by its own words or its state. Deliberately absent:
 * leases, time, and odd lines of `/proc` (`listings.test.ts`).
 */
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Leader, ProcessRequest, RunningProcess } from '../../src/process/backend.ts';
import { linuxBackend } from '../../src/process/linux.ts';
import { MARKER } from '../../src/process/marker.ts';
import { processes, statOf } from '../../src/process/proc.ts';
import { signalGroup, signalProcess } from '../../src/process/signals.ts';
import { isLive, leavesNoProcess, makeFifo, pidOf, turnsUntil } from '../support/process-rig.ts';

leavesNoProcess();
const backend = linuxBackend();

interface Started {
  readonly process: RunningProcess;
  readonly leader: Leader;
  text(): string;
  isOver(): boolean;
  /** Ends all of ran. */
  remove(): Promise<void>;
}

function start(script: string, more: Partial<ProcessRequest> = {}): Started {
  let text = '';
  let isOver = false;
  const request = {
    file: 'sh',
    args: ['-c', script],
    cwd: null,
    env: { PATH: process.env['PATH'] ?? '' },
    stdin: null,
  };
  const started = backend.start(
    { ...request, ...more },
    {
      onFailed: () => undefined,
      onChunk: (_stream, bytes) => {
        text += Buffer.from(bytes).toString();
      },
      onEnd: () => undefined,
      onExit: () => {
        isOver = true;
      },
    },
  );
  const { leader } = started;
  if (leader === null) throw new Error('not started');
  return {
    process: started,
    leader,
    text: () => text,
    isOver: () => isOver,
    remove: async () => {
      if (!isOver) signalGroup(leader.pid, 'SIGKILL');
      await turnsUntil(() => isOver);
      for (;;) {
        const found = (await backend.look(leader, false)) ?? [];
        if (found.length === 0) break;
        for (const one of found) backend.kill(one);
      }
      started.close();
    },
  };
}

describe('a leader', () => {
  it('has a session and a group of its own, and is known by its start and its pipes', async () => {
    const ran = start('echo ready; sleep 45');
    const { pid, startTime, pipes, marker } = ran.leader;
    expect(statOf(pid)).toMatchObject({ group: pid, session: pid, startTime });
    expect(pipes).toEqual([expect.stringMatching(/^socket:/), expect.stringMatching(/^socket:/)]);
    expect(marker).toMatch(new RegExp(`^${process.pid}\\.${statOf(process.pid)?.startTime}\\.`));
    expect(backend.hasEnded(ran.leader)).toBe(false);
    await ran.remove();
  });

  it('that ended and was not reaped yet has ended', async () => {
    const ran = start('exit 0');
    // The host's loop does not turn meanwhile, and so nobody reaps it.
    while (isLive(ran.leader.pid));
    expect([ran.isOver(), statOf(ran.leader.pid)?.state]).toEqual([false, 'Z']);
    expect(backend.hasEnded(ran.leader)).toBe(true);
    expect(signalGroup(ran.leader.pid, 0)).toBe('sent');
    expect(backend.probe(ran.leader)).toBe('gone');
    await ran.remove();
  });

  it('is another process when the start differs, and is not signalled', async () => {
    const ran = start('sleep 45');
    const other = { ...ran.leader, startTime: 1 };
    expect([backend.signal(other, 'SIGKILL'), backend.probe(other), backend.hasEnded(other)]).toEqual([
      'gone',
      'gone',
      true,
    ]);
    expect(isLive(ran.leader.pid)).toBe(true);
    await ran.remove();
  });
});

describe('a group', () => {
  it('of zombies only is not alive', async () => {
    const { path, remove } = makeFifo();
    // The middle one leaves the group, and as another program never waits for its child, which stays there as a zombie.
    const middle = `(read line < ${path}) & echo child=$!; exec setsid sleep 45 >/dev/null 2>&1`;
    const ran = start(`(${middle}) & exit 0`);
    const named = async () => (await backend.look(ran.leader, true))?.map(({ name }) => name) ?? [];
    while (!(await named()).includes('sleep'));
    writeFileSync(path, 'go\n');
    await turnsUntil(() => ran.isOver() && ran.process.isRead);
    const child = pidOf(ran.text(), 'child');
    await turnsUntil(() => !isLive(child));
    expect([statOf(child)?.state, signalGroup(ran.leader.pid, 0)]).toEqual(['Z', 'sent']);
    expect(backend.probe(ran.leader)).toBe('gone');
    expect(await named()).toEqual(['sleep']);
    await ran.remove();
    remove();
  });

  it('outlives its leader under its id', async () => {
    const ran = start('sleep 45 >/dev/null 2>&1 & echo orphan=$!');
    await turnsUntil(() => ran.isOver() && ran.process.isRead);
    expect([signalProcess(ran.leader.pid, 0), backend.probe(ran.leader)]).toEqual(['gone', 'alive']);
    expect(backend.signal(ran.leader, 'SIGKILL')).toBe('sent');
    await turnsUntil(() => backend.probe(ran.leader) === 'gone');
    await ran.remove();
  });
});

describe('a probe', () => {
  function counting() {
    let lists = 0;
    const listing = () => {
      lists += 1;
      return processes();
    };
    return { probe: linuxBackend(listing).probe, lists: () => lists };
  }

  it('lists nothing while the leader lives, or when its group is gone', async () => {
    const { probe, lists } = counting();
    const [lives, ends] = [start('sleep 45'), start('exit 0')];
    await turnsUntil(ends.isOver);
    expect([probe(lives.leader), probe(ends.leader), lists()]).toEqual(['alive', 'gone', 0]);
    await Promise.all([lives.remove(), ends.remove()]);
  });

  it('lists once in a turn for all groups that outlived their leaders, and anew later', async () => {
    const { probe, lists } = counting();
    const runs = Array.from({ length: 5 }, () => start('sleep 45 >/dev/null 2>&1 & exit 0'));
    await turnsUntil(() => runs.every((run) => run.isOver()));
    expect(runs.map((run) => probe(run.leader))).toEqual(runs.map(() => 'alive'));
    expect(lists()).toBe(1);
    const [first] = runs;
    if (first !== undefined) signalGroup(first.leader.pid, 'SIGKILL');
    await turnsUntil(() => first !== undefined && probe(first.leader) === 'gone');
    for (const run of runs.slice(1)) expect(probe(run.leader)).toBe('alive');
    await Promise.all(runs.map((run) => run.remove()));
  });

  it('of a group that is not in the list of its turn lists again', async () => {
    let first: ReturnType<typeof processes> | null = [];
    const { probe } = linuxBackend(() => {
      const list = first ?? processes();
      first = null;
      return list;
    });
    const ran = start('sleep 45 >/dev/null 2>&1 & exit 0');
    await turnsUntil(ran.isOver);
    expect(probe(ran.leader)).toBe('alive');
    await ran.remove();
  });
});

describe('a look', () => {
  it('finds what a host within the run has started, and the other way it does not', async () => {
    const outer = start('exec sleep 45');
    process.env[MARKER] = outer.leader.marker;
    const inner = start('exec sleep 45');
    delete process.env[MARKER];
    const pidsOf = async ({ leader }: Started) => (await backend.look(leader, true))?.map(({ pid }) => pid);
    expect(await pidsOf(outer)).toEqual([outer.leader.pid, inner.leader.pid].sort((a, b) => a - b));
    expect(await pidsOf(inner)).toEqual([inner.leader.pid]);
    await inner.remove();
    await outer.remove();
  });

  it('finds nothing of a run that is over', async () => {
    const ran = start('exit 0');
    await turnsUntil(() => ran.isOver() && ran.process.isRead);
    expect(await backend.look(ran.leader, true)).toEqual([]);
    await ran.remove();
  });

  it('finds by marker what left session and pipes, and not what carries another', async () => {
    const [ran, other] = [start(escapee('>/dev/null 2>&1')), start(escapee('>/dev/null 2>&1'))];
    await turnsUntil(() => [ran, other].every((one) => one.text().includes('self=')));
    const pid = pidOf(ran.text(), 'self');
    const found = await backend.look(ran.leader, false);
    expect(found?.filter((one) => !one.isMember)).toMatchObject([{ pid, isForeign: false }]);
    await ran.remove();
    await other.remove();
  });

  it('names who holds a pipe of a leader that was gone before it could be asked', async () => {
    const ran = start(`${escapee('')} & echo ready`);
    await turnsUntil(() => ran.isOver() && ran.text().includes('self='));
    const found = await backend.look({ ...ran.leader, pipes: [] }, false);
    expect(found?.find((one) => one.pid === pidOf(ran.text(), 'self'))).toMatchObject({ holdsPipe: true });
    await ran.remove();
  });

  it('has no way where the leader could not be seen', async () => {
    const ran = start('sleep 45');
    expect(await backend.look({ ...ran.leader, startTime: null }, false)).toBe(null);
    await ran.remove();
  });

  it('calls foreign what is older than the run', async () => {
    const ran = start('sleep 45');
    const { startTime, pid } = ran.leader;
    const younger = { ...ran.leader, startTime: (startTime ?? 0) + 1 };
    const found = await backend.look(younger, false);
    expect(found?.find((one) => one.pid === pid)).toMatchObject({ isForeign: true, holdsPipe: true });
    await ran.remove();
  });
});

/** A shell that leaves the session, tells its pid, and stays. */
function escapee(redirections: string): string {
  return `setsid sh -c 'echo self=$$; exec sleep 45 ${redirections}'`;
}

describe('a kill', () => {
  it('reaches nobody when another process has the pid now', async () => {
    const ran = start('sleep 45');
    const { pid, startTime } = ran.leader;
    const seen = { pid, name: 'sleep', holdsPipe: false, isMember: true, isForeign: false };
    expect(backend.kill({ ...seen, startTime: (startTime ?? 0) + 1 })).toBe('gone');
    expect(isLive(pid)).toBe(true);
    expect(backend.kill({ ...seen, startTime: startTime ?? 0 })).toBe('sent');
    await ran.remove();
  });

  it('never reaches the pids that mean more than one process', () => {
    expect([0, 1, -1].flatMap((pid) => [signalProcess(pid, 'SIGKILL'), signalGroup(pid, 'SIGKILL')])).toEqual(
      Array(6).fill('gone'),
    );
  });
});

describe('a link', () => {
  it('carries bytes both ways over descriptor 3, apart from the streams', async () => {
    const ran = start('read line <&3; echo "got $line" >&3', { link: true });
    let text = '';
    ran.process.link?.on('data', (bytes: Buffer) => {
      text += bytes.toString();
    });
    ran.process.link?.write('hello\n');
    await turnsUntil(() => text.includes('\n') && ran.isOver());
    expect([text, ran.text()]).toEqual(['got hello\n', '']);
    await ran.remove();
  });

  it('is not there unless it was asked for', async () => {
    const ran = start('exit 0');
    expect(ran.process.link).toBe(null);
    await ran.remove();
  });
});
