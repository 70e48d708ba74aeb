/**
 * ChildProcesses: those that the tools of one isolate started, so that they end with it.
 *
 * Invariant: only pids that the isolate reported, and has not reported ended, are ever signalled.
 * Deliberately absent: children of blocking calls, which no thread can report, and their descendants.
 */
export class ChildProcesses {
  readonly #alive = new Set<number>();

  note(pid: number, alive: boolean): void {
    if (alive) this.#alive.add(pid);
    else this.#alive.delete(pid);
  }

  endAll(): void {
    for (const pid of this.#alive) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // ESRCH: nothing is left to end.
      }
    }
  }
}
