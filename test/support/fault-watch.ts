/**
 * What the host process shows while a pool works: uncaught errors, threads, handles, listeners.
 *
 * Invariant: `untilQuiet` waits for the exits of threads and for turns of the loop, never for time, and then tells what
 * is left over what was there before. Deliberately absent: expectations.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

export interface HostWatch {
  /** Errors that reached the process. */
  readonly uncaught: unknown[];
  /** Threads started since and not seen to end. */
  readonly threads: ReadonlySet<Worker>;
  /** Waits until every thread is gone; then what is left over: empty when the host is as it was. */
  untilQuiet(): Promise<string[]>;
  stop(): void;
}

/** Resources whose number says something about a pool. A test runner has timers of its own. */
const TELLING = new Set(['MessagePort', 'Worker', 'TCPSERVERWRAP', 'TCPSocketWrap', 'ProcessWrap', 'Timeout']);
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
  const onUncaught = (error: unknown) => uncaught.push(error);
  const onThread = (message: unknown) => {
    const { worker } = message as { worker: Worker };
    threads.add(worker);
    worker.once('exit', () => threads.delete(worker));
  };
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  subscribe('worker_threads', onThread);
  const before = { resources: resources(), listeners: listeners() };

  return {
    uncaught,
    threads,
    async untilQuiet() {
      for (const thread of [...threads]) if (threads.has(thread)) await once(thread, 'exit');
      let left: string[] = [];
      for (let turns = 0; turns < TURNS; turns += 1) {
        left = [
          ...surplus('resource', before.resources, resources()),
          ...surplus('listener', before.listeners, listeners()),
        ];
        if (left.length === 0) return left;
        await turn();
      }
      return left;
    },
    stop() {
      process.off('uncaughtException', onUncaught);
      process.off('unhandledRejection', onUncaught);
      unsubscribe('worker_threads', onThread);
    },
  };
}
