/**
 * HostWatch: ends a process isolate whose host has died while a tool keeps the loop busy, when the link is not read.
 *
 * Invariants: it runs on a thread of its own, which is up before any tool's code; it holds nothing open and has nothing
 * a tool can reach. Deliberately absent: Windows, where a dead parent keeps its number, and a process without the
 * permission for threads: there only the link tells, and a loop that never yields and never asks its context outlives
 * the host.
 */
import { isMainThread, Worker } from 'node:worker_threads';

const EVERY_MS = 500;

/** The number of a parent is another one once it has died. */
const WATCH = `
  const host = process.ppid;
  const isOver = () => {
    try { process.kill(-process.pid, 'SIGKILL'); } catch {}
    process.kill(process.pid, 'SIGKILL');
  };
  setInterval(() => { if (process.ppid !== host) isOver(); }, ${EVERY_MS});
  require('node:worker_threads').parentPort.postMessage('up');
`;

/** Calls back when the watch is up, or at once where there can be none. */
export function watchHost(then: () => void): void {
  const { permission } = process as { permission?: { has(scope: string): boolean } };
  if (!isMainThread || process.platform === 'win32' || permission?.has('worker') === false) {
    then();
    return;
  }
  const watch = new Worker(WATCH, { eval: true, env: {}, execArgv: [], stdout: true, stderr: true });
  // Node 20 aborts a process that exits while one of its threads loads: no tool runs before this.
  watch.once('message', () => {
    watch.unref();
    then();
  });
  watch.on('error', () => undefined);
}
