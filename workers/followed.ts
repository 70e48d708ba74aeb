/**
 * Followed: nested workers, child processes and listening servers, seen from their start by diagnostics channels.
 *
 * Invariants: they are seen also when unref'ed, which the list of active resources misses; whether one lives is read
 * from it at a look, so that a tool that removes listeners hides nothing; the host knows a child's pid before the call
 * that started it returns, also when a busy loop follows.
 * Deliberately absent: children of the synchronous calls (`execFileSync`), which end with the call.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { WireFinding } from '../src/wire/protocol.ts';
import { append, apply, defineProperty } from '../src/wire/uncurried.ts';
import { once } from './references.ts';

interface Life {
  readonly kind: WireFinding['kind'];
  readonly detail: string;
  /** Was there at the last baseline. */
  known: boolean;
  alive(): boolean;
}

export interface Followed {
  /** Adds a finding for each life that is not part of the baseline. */
  look(findings: WireFinding[]): void;
  /** Makes what lives now the baseline. */
  rebase(): void;
}

/** Starts to follow. `onChild` hears of every child's start and end. */
export function follow(onChild: (pid: number, alive: boolean) => void): Followed {
  let lives: Life[] = [];
  const add = (life: Life): void => {
    append(lives, life);
  };
  const prune = (): void => {
    const kept: Life[] = [];
    for (let at = 0; at < lives.length; at += 1) {
      const life = lives[at] as Life;
      if (life.alive()) append(kept, life);
    }
    lives = kept;
  };

  subscribe('worker_threads', (message) => {
    const { worker } = message as { worker: Worker };
    // The id reads -1 after the exit.
    add({
      kind: 'nested-thread',
      detail: `thread ${worker.threadId}`,
      known: false,
      alive: () => worker.threadId !== -1,
    });
  });
  subscribe('tracing:net.server.listen:asyncStart', (message) => {
    const { server } = message as { server: Server };
    add({ kind: 'residual-handle', detail: 'Server', known: false, alive: () => server.listening });
  });
  subscribe('child_process', (message) => {
    const { process: child } = message as { process: ChildProcess };
    onSpawn(child, () => {
      const { pid } = child;
      if (pid === undefined) return;
      let told = false;
      const ended = (): void => {
        if (!told) onChild(pid, false);
        told = true;
      };
      onChild(pid, true);
      once(child, 'exit', ended);
      const alive = (): boolean => {
        if (child.exitCode === null && child.signalCode === null) return true;
        ended();
        return false;
      };
      add({ kind: 'child-process', detail: `pid ${pid}`, known: false, alive });
    });
  });

  return {
    look(findings) {
      if (lives.length === 0) return;
      prune();
      for (let at = 0; at < lives.length; at += 1) {
        const { known, kind, detail } = lives[at] as Life;
        if (!known) append(findings, { kind, detail });
      }
    },
    rebase() {
      prune();
      for (let at = 0; at < lives.length; at += 1) (lives[at] as Life).known = true;
    },
  };
}

/** The channel speaks from the constructor, before there is a pid; the start itself is the next call of `spawn`. */
function onSpawn(child: ChildProcess, started: () => void): void {
  const { spawn } = child as unknown as { spawn: (...args: unknown[]) => unknown };
  defineProperty(child, 'spawn', {
    configurable: true,
    writable: true,
    value: (...args: unknown[]) => {
      delete (child as unknown as { spawn?: unknown }).spawn;
      try {
        return apply(spawn, child, args) as unknown;
      } finally {
        started();
      }
    },
  });
}
