/**
 * Processes on Windows, by `taskkill`. Untested on that platform.
 *
 * Invariants: a tree is ended before its root, since it cannot be found afterwards; `taskkill` is bounded by a second of
 * its own. Deliberately absent: a graceful stop, which consoles do not have, groups, and a look at what is left.
 */
import { execFile } from 'node:child_process';
import type { Leader, ProcessBackend } from './backend.ts';
import { startProcess } from './spawn.ts';

const TASKKILL_MS = 1_000;

export function windowsBackend(): ProcessBackend {
  const identifying = {
    hostStart: null,
    identify: (pid: number, marker: string): Leader => ({ pid, marker, startTime: null, pipes: [] }),
  };
  return {
    start: (request, listener) => startProcess(request, listener, identifying),
    signal: ({ pid }, signal) => {
      if (signal === 'SIGKILL') endTree(pid);
      return 'sent';
    },
    probe: () => 'unknown',
    hasEnded: () => false,
    look: async () => null,
    kill: () => 'gone',
  };
}

function endTree(pid: number): void {
  const bounds = { timeout: TASKKILL_MS, killSignal: 'SIGKILL', windowsHide: true } as const;
  execFile('taskkill', ['/T', '/F', '/PID', String(pid)], bounds, (error) => {
    if (error === null) return;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  });
}
