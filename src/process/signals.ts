/**
 * The one place where a process or a group is signalled on POSIX.
 *
 * Invariant: 0, 1 and negative pids never reach the platform: they mean the host's own group, or everything.
 * Deliberately absent: whether the pid still belongs to whom it was meant for.
 */
import type { GroupSignal, Reach } from './backend.ts';

/** Signals one process; 0 asks whether it could be. */
export function signalProcess(pid: number, signal: GroupSignal | 0): Reach {
  return pid > 1 ? send(pid, signal) : 'gone';
}

/** Signals a whole group; 0 asks whether one could. A group of zombies says `'sent'`. */
export function signalGroup(pid: number, signal: GroupSignal | 0): Reach {
  return pid > 1 ? send(-pid, signal) : 'gone';
}

function send(target: number, signal: GroupSignal | 0): Reach {
  try {
    process.kill(target, signal);
    return 'sent';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'refused';
  }
}
