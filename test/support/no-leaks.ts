/**
 * The leak check that ends every test file: threads, child processes, ports, sockets, timers and process listeners.
 *
 * Invariant: what the file began with is what it ends with. The loop gets a bounded number of turns to let closed
 * handles go, never a span of time. Deliberately absent: waiting for what a test forgot to end.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect } from 'vitest';

const TURNS = 2_000;
/** What holds the process open and is nobody's but the tests'. Pipes to the runner and its files are not counted. */
const COUNTED = /Worker|MessagePort|Timeout|Immediate|ProcessWrap|TCP|UDP|TLS|PipeServerWrap|FSEvent|StatWatcher/;

const threads = new Set<Worker>();
const children = new Set<ChildProcess>();

subscribe('worker_threads', (message) => {
  const { worker } = message as { worker: Worker };
  threads.add(worker);
  worker.once('exit', () => threads.delete(worker));
});
subscribe('child_process', (message) => {
  const child = (message as { process: ChildProcess }).process;
  children.add(child);
  for (const end of ['exit', 'error'] as const) child.once(end, () => children.delete(child));
});

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (COUNTED.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function listeners(): Record<string, number> {
  return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
}

function grown(now: Record<string, number>, before: Record<string, number>): string[] {
  return Object.keys(now).filter((kind) => (now[kind] ?? 0) > (before[kind] ?? 0));
}

let resourcesBefore: Record<string, number> = {};
let listenersBefore: Record<string, number> = {};

function leaks(): string[] {
  return [
    ...[...threads].map((worker) => `thread ${worker.threadId}`),
    // One without a pid was never started, and nothing more is told of it.
    ...[...children].filter(({ pid }) => pid !== undefined).map((child) => `process ${child.spawnargs.join(' ')}`),
    ...grown(resources(), resourcesBefore),
    ...grown(listeners(), listenersBefore).map((name) => `listener of ${name}`),
  ];
}

beforeAll(() => {
  resourcesBefore = resources();
  listenersBefore = listeners();
});

afterAll(async () => {
  for (let turn = 0; turn < TURNS && leaks().length > 0; turn += 1) {
    await new Promise<void>((resume) => setImmediate(resume));
  }
  expect(leaks(), 'left behind by this file').toEqual([]);
});
