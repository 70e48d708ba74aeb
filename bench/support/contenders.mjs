// Leasehold and its peers behind one small interface, so that a benchmark is written once.
//
// `open({ threads })` gives `{ run(task, argument, { signal, transfer }), close() }`; `run` rejects when the run failed.
// Peers are set up as their documents advise. Their queue is theirs; nothing here helps or hinders one of them.
import { fileURLToPath } from 'node:url';
import { Worker as JestWorker } from 'jest-worker';
import { createSupervisor, defineTool, unwrap } from 'leasehold';
import { Piscina } from 'piscina';
import { FixedThreadPool } from 'poolifier';
import { Tinypool } from 'tinypool';
import workerpool from 'workerpool';
import { z } from 'zod';

const module = new URL('./tasks.mjs', import.meta.url);
const filename = fileURLToPath(module);
const beside = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The input of `add` is checked by a schema, as a user would; the other tasks take anything. */
const toolOf = (name) =>
  defineTool({
    name: name.toLowerCase(),
    module,
    exportName: name,
    input: name === 'add' ? z.object({ a: z.number(), b: z.number() }) : z.unknown(),
    effects: 'none',
    // Peers know no grace: they end a thread at once. One millisecond is the nearest to that.
    graceMs: 1,
  });

/** @param options further options of the supervisor */
export function leasehold(options = {}) {
  const tools = new Map();
  return ({ threads, capacity = 1_000 }) => {
    const supervisor = createSupervisor({ isolates: threads, queue: { capacity }, ...options });
    const spares = options.standby ?? 1;
    return {
      run(task, argument, runOptions) {
        if (!tools.has(task)) tools.set(task, toolOf(task));
        return supervisor.runTool(tools.get(task), argument, runOptions).then(unwrap);
      },
      ready: () => supervisor.untilReady(),
      whole: () => supervisor.statistics().isolates.idle >= threads + spares,
      close: () => supervisor.close({ withinMs: 10_000 }),
    };
  };
}

/** With a signal of its own for each run: without one, piscina cannot end a run at all. */
export const piscina = ({ threads }) => piscinaPool(threads, () => new AbortController().signal);
export const piscinaWithoutSignal = ({ threads }) => piscinaPool(threads, () => undefined);

function piscinaPool(threads, newSignal) {
  const pool = new Piscina({ filename, minThreads: threads, maxThreads: threads });
  return {
    run: (task, argument, { signal = newSignal(), transfer } = {}) =>
      pool.run(argument, { name: task, ...(signal && { signal }), ...(transfer && { transferList: transfer }) }),
    close: () => pool.destroy(),
  };
}

export function tinypool({ threads }) {
  const pool = new Tinypool({ filename, minThreads: threads, maxThreads: threads });
  return {
    run: (task, argument, { signal, transfer } = {}) =>
      pool.run(argument, { name: task, ...(signal && { signal }), ...(transfer && { transferList: transfer }) }),
    close: () => pool.destroy(),
  };
}

export function workerpoolThreads({ threads }) {
  const options = { workerType: 'thread', minWorkers: threads, maxWorkers: threads };
  const pool = workerpool.pool(beside('./workerpool-worker.mjs'), options);
  return {
    run(task, argument, { signal, transfer } = {}) {
      const running = pool.exec(task, [argument], transfer && { transfer });
      // Braces: what a listener returns, a rejected promise here, Node throws at the process.
      const cancel = () => {
        running.cancel();
      };
      signal?.addEventListener('abort', cancel, { once: true });
      return running;
    },
    close: () => pool.terminate(true),
  };
}

/** Left out where a thread must be ended: an aborted busy loop keeps its thread. */
export function poolifier({ threads }) {
  const pool = new FixedThreadPool(threads, beside('./poolifier-worker.mjs'), { enableTasksQueue: true });
  return {
    run: (task, argument, { signal, transfer } = {}) => pool.execute(argument, task, signal, transfer),
    close: () => pool.destroy(),
  };
}

/** Knows neither signals nor transfer lists. */
export function jestWorker({ threads }) {
  const options = {
    enableWorkerThreads: true,
    numWorkers: threads,
    exposedMethods: ['add', 'empty', 'measureBytes', 'spin'],
  };
  const pool = new JestWorker(filename, options);
  return {
    run: (task, argument) => pool[task](argument),
    close: () => pool.end(),
  };
}

export const everyone = {
  leasehold: leasehold(),
  piscina,
  'piscina, no signal': piscinaWithoutSignal,
  tinypool,
  workerpool: workerpoolThreads,
  poolifier,
  'jest-worker': jestWorker,
};
