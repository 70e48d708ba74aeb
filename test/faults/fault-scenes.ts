/**
 * What rows of the fault matrix set up besides their tool: inputs, cancels, a host that does not look, a FIFO.
 *
 * Invariant: what happens beside the call happens when the tool has said how far it is. Deliberately absent: expectations.
 */
import { buildCrashingAddon } from '../support/fault-addon.ts';
import { makeFifo } from '../support/fault-fifo.ts';
import type { Words } from '../support/fault-words.ts';
import type { Scene } from './fault-row.ts';

export const given = (input: Record<string, unknown>) => (): Scene => ({ input });

/** Cancels once the tool has said that it runs. */
export const cancelWhenRunning =
  (input: Record<string, unknown> = {}) =>
  (words: Words): Scene => {
    const controller = new AbortController();
    return {
      input: { ...input, words: words.shared },
      signal: controller.signal,
      async play() {
        await words.untilTold(0);
        controller.abort(new Error('enough'));
      },
    };
  };

/** Blocks this process's loop from before the tool's end until well past its deadline. */
export function blockedHost(words: Words): Scene {
  return {
    input: { words: words.shared },
    async play() {
      await words.untilTold(0);
      words.waitUntilTold(1);
      const until = performance.now() + 400;
      while (performance.now() < until);
    },
  };
}

/** The tool blocks in a read of it. */
export function blockedFifo(): Scene {
  const { path, untilRead, release } = makeFifo();
  return { input: { path }, play: untilRead, undo: release };
}

/** The tool blocks where it opens it. */
export function unopenedFifo(): Scene {
  const { path, release } = makeFifo();
  return { input: { path }, undo: release };
}

export function crashingAddon(): Scene {
  const { path, remove } = buildCrashingAddon();
  return { input: { addon: path }, undo: async () => remove() };
}

export const sharedMemory = (): Scene => ({ input: new SharedArrayBuffer(8) });

export function bigBuffer(): Scene {
  const buffer = new ArrayBuffer(64 * 1024 * 1024);
  return { input: buffer, transfer: [buffer] };
}
