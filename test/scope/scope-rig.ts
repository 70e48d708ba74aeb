/**
 * Scopes on a fake clock, without a supervisor: what is submitted is kept as a child until the test ends it.
 *
 * Invariant: nothing here is real time. Deliberately absent: requests; `supervisor*.test.ts` has real ones.
 */
import type { ScopeOptions } from '../../src/model/option-shapes.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { Aborts } from '../../src/scope/aborts.ts';
import type { ScopeChild, ScopeStop, ShutdownReport } from '../../src/scope/child.ts';
import { RunScope, type ScopeHost } from '../../src/scope/run-scope.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

/** How long scopes here wait for their children after a stop. Milliseconds. */
export const BOUND_MS = 1_000;

export function scopeRig() {
  const clock = new FakeClock();
  const host: ScopeHost = {
    clock,
    eventLog: memoryEventLog(),
    blobs: memoryBlobStore(),
    aborts: new Aborts(),
    boundMs: BOUND_MS,
    desk: {
      submit: () => new Promise(() => {}),
      validate: () => ({ ok: true }),
      describe: () => new Promise(() => {}),
      prepare: () => new Promise(() => {}),
      claim: () => new Promise(() => {}),
    },
  };
  const root = new RunScope(host, null, undefined);
  return { clock, host, root, open: (options?: ScopeOptions) => root.open(options) };
}

/** A child that hears stops and ends when it is told to. */
export function parkedChild(name = 'parked') {
  const stops: ScopeStop[] = [];
  const hear = (stop: ScopeStop) => void stops.push(stop);
  const child: ScopeChild = {
    name,
    boundMs: 0,
    stop: hear,
    stopIfWaiting: hear,
    giveUp: () => undefined,
    leftovers: () => [name],
  };
  return { child, stops };
}

/** A body that ends only by the stop of its scope. */
export const untilStopped = (inner: RunScope): Promise<never> =>
  new Promise((_, reject) => {
    const { signal } = inner.ctx;
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** Shuts a scope down, walking the clock until it has. */
export async function shutDown(scope: RunScope, clock: FakeClock): Promise<ShutdownReport> {
  let report: ShutdownReport | null = null;
  void scope.shutdown().then((settled) => (report = settled));
  await settle();
  while (report === null && (await clock.step())) await settle();
  if (report === null) throw new Error('the shutdown did not settle');
  return report;
}

/** The names in a report, by fate. */
export function namesIn(report: ShutdownReport): Record<string, string[]> {
  return Object.fromEntries(Object.entries(report).map(([fate, ends]) => [fate, ends.map(({ name }) => name)]));
}

/** A signal that counts who listens to it. */
export function countedSignal(): {
  controller: AbortController;
  signal: RunScope['ctx']['signal'];
  listening: ReadonlySet<unknown>;
} {
  const controller = new AbortController();
  const { signal } = controller;
  const listening = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: never, options?: never) => {
    listening.add(listener);
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: never) => {
    listening.delete(listener);
    remove(type, listener);
  };
  return { controller, signal, listening };
}
