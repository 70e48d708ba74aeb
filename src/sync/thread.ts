/**
 * The thread of a synchronous runner: a supervisor of its own, asked through one port.
 *
 * Invariants: whatever is asked is answered once, and each answer, and the end of the thread, is told in shared memory after
 * it was posted, so that a caller asleep in a wait finds it. Deliberately absent: schemas and the authorizer, which stay with the
 * caller.
 */
import { workerData } from 'node:worker_threads';
import { createSupervisor } from '../supervisor.ts';
import { toFailure } from '../wire/failure.ts';
import { type FromThread, GONE, revivedTool, type ThreadSetting, TOLD, type ToThread } from './crossing.ts';

const { port, words, options } = workerData as ThreadSetting;

function wake(): void {
  Atomics.add(words, TOLD, 1);
  Atomics.notify(words, TOLD);
}

function tell(message: FromThread): void {
  port.postMessage(message);
  wake();
}

process.on('exit', () => {
  Atomics.store(words, GONE, 1);
  wake();
});

const supervisor = createSupervisor(options);
port.on('message', (message: ToThread) => {
  if (message.t === 'close') void close(message.withinMs);
  else void run(message);
});
tell({ t: 'ready' });

async function run({ call, tool, input, options: runOptions }: ToThread & { t: 'call' }): Promise<void> {
  try {
    const result = await supervisor.runTool(revivedTool(tool), input, runOptions);
    try {
      tell({ t: 'result', call, result, uncloneable: null });
    } catch (error) {
      const { value: _, ...rest } = result;
      const told = rest as typeof result;
      tell({ t: 'result', call, result: told, uncloneable: toFailure(error, 'NOT_CLONEABLE').message });
    }
  } catch (error) {
    tell({ t: 'refused', call, message: toFailure(error, 'TOOL_ERROR').message });
  }
}

async function close(withinMs: number): Promise<void> {
  const report = await supervisor.close({ withinMs });
  tell({ t: 'closed', report });
  port.close();
}
