/**
 * What the host process shows while a pool works: uncaught errors, threads, processes, handles, listeners.
 *
 * Invariant: `untilQuiet` waits for the exits of threads and for turns of the loop, never for time, and then tells what
 * is left over what was there before. A process is not waited for: a pool that has closed says that none is left.
 * Deliberately absent: expectations.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { marked } from './process-rig.ts';

export interface HostWatch {
  /** Errors that reached the process. */
  readonly uncaught: unknown[];
  /** Threads started since and not seen to end. */
  readonly threads: ReadonlySet<Worker>;
  /** Processes started since and not seen to end. */
  readonly processes: ReadonlySet<ChildProcess>;
  /** Waits until every thread is gone; then what is left over: empty when the host is as it was. */
  untilQuiet(): Promise<string[]>;
  stop(): void;
}

/** Resources whose number says something about a pool. A test runner has timers of its own. */
const TELLING = new Set([
  'MessagePort',
  'Worker',
  'TCPSERVERWRAP',
  'TCPSocketWrap',
  'ProcessWrap',
  'PipeWrap',
  'Timeout',
]);
/** Turns of the loop after which what is left counts as a leak. */
const TURNS = 2_000;

function resources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (TELLING.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function listeners(): Map<string, number> {
  return new Map(process.eventNames().map((name) => [String(name), process.listenerCount(name as string)]));
}

function surplus(label: string, before: Map<string, number>, after: Map<string, number>): string[] {
  return [...after].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return more > 0 ? [`${label} ${kind} +${more}`] : [];
  });
}

export function watchHost(): HostWatch {
  const uncaught: unknown[] = [];
  const threads = new Set<Worker>();
  const processes = new Set<ChildProcess>();
  const onUncaught = (error: unknown) => uncaught.push(error);
  const onThread = (message: unknown) => {
    const { worker } = message as { worker: Worker };
    threads.add(worker);
    worker.once('exit', () => threads.delete(worker));
  };
  const onProcess = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess };
    processes.add(child);
    child.once('exit', () => processes.delete(child));
  };
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  subscribe('worker_threads', onThread);
  subscribe('child_process', onProcess);
  const before = { resources: resources(), listeners: listeners() };

  return {
    uncaught,
    threads,
    processes,
    async untilQuiet() {
      const survivors = marked();
      for (const thread of [...threads]) if (threads.has(thread)) await once(thread, 'exit');
      let left: string[] = [];
      for (let turns = 0; turns < TURNS; turns += 1) {
        left = [
          ...surplus('resource', before.resources, resources()),
          ...surplus('listener', before.listeners, listeners()),
        ];
        if (left.length === 0) return survivors;
        await turn();
      }
      return [...survivors, ...left];
    },
    stop() {
      process.off('uncaughtException', onUncaught);
      process.off('unhandledRejection', onUncaught);
      unsubscribe('worker_threads', onThread);
      unsubscribe('child_process', onProcess);
    },
  };
}
