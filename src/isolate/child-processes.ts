/**
 * ChildProcesses: those that the tools of one isolate started, so that they end with it.
 *
 * Invariants: only what the isolate reported, and has not reported ended, is ever signalled, once; where the system tells the
 * parent and the start of a process, nobody else's is, and no pid that was given anew. Deliberately absent: children of
 * blocking calls, which no thread can report, and their descendants.
 */
import { statOf } from '../process/proc.ts';
import { signalProcess } from '../process/signals.ts';

/** What the system says of processes, and does to them. */
export interface Processes {
  /** Null when there is no such process; undefined where nothing is told of any. The start is in any unit. */
  look(pid: number): { readonly parent: number; readonly start: number } | null | undefined;
  kill(pid: number): void;
}

const platformProcesses: Processes = {
  look(pid) {
    if (process.platform !== 'linux') return undefined;
    try {
      const stat = statOf(pid);
      return stat === null ? null : { parent: stat.parent, start: stat.startTime };
    } catch {
      return undefined;
    }
  },
  kill: (pid) => void signalProcess(pid, 'SIGKILL'),
};

export class ChildProcesses {
  readonly #parent: number | null;
  readonly #processes: Processes;
  /** By pid, when each started. */
  readonly #alive = new Map<number, number | undefined>();

  /** `parent`: whose children are meant; null: nobody's. */
  constructor(parent: number | null, processes: Processes = platformProcesses) {
    this.#parent = parent;
    this.#processes = processes;
  }

  note(pid: number, alive: boolean): void {
    this.#alive.delete(pid);
    if (!alive || this.#parent === null) return;
    const seen = this.#processes.look(pid);
    // Where nothing is told, a thread is believed: its word could as well have been the host's own.
    if (seen === undefined ? this.#parent === process.pid : seen?.parent === this.#parent) {
      this.#alive.set(pid, seen?.start);
    }
  }

  endAll(): void {
    for (const [pid, start] of this.#alive) {
      const seen = this.#processes.look(pid);
      if (seen !== null && seen?.start === start) this.#processes.kill(pid);
    }
    this.#alive.clear();
  }
}
