/**
 * ChildProcesses: those that the tools of one thread started, so that they end with it.
 *
 * Invariants: only what the thread reported, and has not reported ended, is ever signalled, once; where the start of a
 * process can be read, a pid that was given anew is not. Deliberately absent: children of blocking calls, which no thread
 * can report, their descendants, and those of a process, which are found without its word.
 */
import { statOf } from '../process/proc.ts';
import { signalProcess } from '../process/signals.ts';

/** What the system says of processes, and does to them. */
export interface Processes {
  /** When one started, in any unit; null when there is none; undefined where that is not told. */
  startOf(pid: number): number | null | undefined;
  kill(pid: number): void;
}

const platformProcesses: Processes = {
  startOf(pid) {
    if (process.platform !== 'linux') return undefined;
    try {
      return statOf(pid)?.startTime ?? null;
    } catch {
      return undefined;
    }
  },
  kill: (pid) => void signalProcess(pid, 'SIGKILL'),
};

export class ChildProcesses {
  readonly #processes: Processes;
  /** By pid, when each started. */
  readonly #alive = new Map<number, number | undefined>();

  constructor(processes: Processes = platformProcesses) {
    this.#processes = processes;
  }

  note(pid: number, alive: boolean): void {
    const start = alive ? this.#processes.startOf(pid) : null;
    if (start === null) this.#alive.delete(pid);
    else this.#alive.set(pid, start);
  }

  endAll(): void {
    for (const [pid, start] of this.#alive) if (this.#processes.startOf(pid) === start) this.#processes.kill(pid);
    this.#alive.clear();
  }
}
