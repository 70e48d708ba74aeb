/**
 * Programs as tools under a supervisor, what they say while they run, and what of them still lives.
 *
 * Invariant: every wait is for something a program said or did, never for time. Deliberately absent: expectations but one:
 * that a file leaves no process of its own.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { OutputPiece, RunOptions, Tool } from 'leasehold';
import {
  type CommandValue,
  type ProcessToolDefinition,
  processTool,
  type ShellToolDefinition,
  shellTool,
} from 'leasehold/tools';
import { afterAll, expect } from 'vitest';
import { z } from 'zod';
import { MARKER } from '../../src/process/marker.ts';
import { isAlive, processes } from '../../src/process/proc.ts';

export type ProgramTool = Tool<unknown, CommandValue>;

/** A script with a short grace and a short drain. The input is its first positional parameter. */
export function script(text: string, over: Partial<ShellToolDefinition> = {}): ProgramTool {
  return shellTool({
    name: 'script',
    script: text,
    args: (input) => (typeof input === 'string' ? [input] : []),
    input: z.unknown(),
    effects: 'none',
    graceMs: 300,
    drain: { quietMs: 150, maxMs: 2_000 },
    ...over,
  });
}

/** Hears the output of one run. */
export class Hearing {
  text = '';
  readonly options: Required<Pick<RunOptions, 'onOutput'>> = { onOutput: (piece) => this.#hear(piece) };
  readonly #waiting = new Set<() => void>();

  /** Resolves once both streams together said so. */
  async until(words: string): Promise<void> {
    while (!this.text.includes(words)) await new Promise<void>((resume) => this.#waiting.add(resume));
  }

  #hear({ text }: OutputPiece): void {
    this.text += text;
    for (const resume of this.#waiting) resume();
    this.#waiting.clear();
  }
}

/** The live processes whose environment has a marker that begins so, as `name (pid)`. */
export function living(marker = `${process.pid}.`): string[] {
  return processes().flatMap((stat) => {
    if (!isAlive(stat)) return [];
    try {
      const environment = readFileSync(`/proc/${stat.pid}/environ`, 'latin1').split('\0');
      const isOurs = environment.some((entry) => entry.startsWith(`${MARKER}=${marker}`));
      return isOurs ? [`${stat.name} (${stat.pid})`] : [];
    } catch {
      return [];
    }
  });
}

/** Registers the check that ends a file: nothing its supervisors started lives. */
export function leavesNothing(): void {
  afterAll(() => expect(living(), 'left behind by this file').toEqual([]));
}

/** The program of `piecewise`; its argument says how it ends. */
export const PIECES = fileURLToPath(new URL('../fixtures/programs/pieces.mjs', import.meta.url));

/** What a program is to write, piece by piece. */
export type Pieces = readonly (readonly [1 | 2, Uint8Array])[];

/** A tool whose program writes its input, each piece in a write of its own. */
export function piecewise(over: Partial<ProcessToolDefinition> = {}): ProgramTool {
  return processTool({
    name: 'pieces',
    file: process.execPath,
    args: () => [PIECES],
    stdin: (pieces) =>
      JSON.stringify(
        (pieces as Pieces).map(([descriptor, bytes]) => [descriptor, Buffer.from(bytes).toString('base64')]),
      ),
    input: z.unknown(),
    effects: 'none',
    ...over,
  });
}

/** `bytes` cut at `cuts`, in any order and of any size. */
export function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at
    .slice(1)
    .map((end, index) => bytes.subarray(at[index], end))
    .filter(({ length }) => length > 0);
}
