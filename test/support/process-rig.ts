/**
 * Real processes for tests: a command under its tenure, and a look at what a test file has left.
 *
 * Invariant: every wait is for a record, an exit or the state of a process, never for time. Deliberately absent: processes
 * that are not there (`process-fakes.ts`).
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { type CommandOptions, CommandSource } from '../../src/isolate/command.ts';
import type { Tenure, TenureExit } from '../../src/isolate/tenure.ts';
import { systemClock } from '../../src/model/time.ts';
import type { CommandPlan } from '../../src/model/work.ts';
import { MARKER } from '../../src/process/marker.ts';
import { isAlive, statOf } from '../../src/process/proc.ts';
import type { DrainedMessage, IsolateMessage, LookedMessage, SettledMessage } from '../../src/wire/protocol.ts';
import { isIsolateMessage } from '../../src/wire/records.ts';

/** A plan for `sh -c SCRIPT`, with a short drain. */
export function shell(script: string, more: Partial<CommandPlan> = {}): CommandPlan {
  return {
    file: 'sh',
    args: ['-c', script],
    cwd: null,
    env: { inherit: ['PATH'], set: {} },
    stdin: null,
    okExitCodes: [0],
    onOrphans: 'kill',
    drain: { quietMs: 40, maxMs: 400 },
    publicArgs: false,
    ...more,
  };
}

type Of<T extends IsolateMessage['t']> = Extract<IsolateMessage, { t: T }>;

/** A tenure of a command, and everything it told, in order. */
export class Commanded {
  readonly tenure: Tenure;
  readonly records: IsolateMessage[] = [];
  exit: TenureExit | null = null;
  readonly #waiting = new Set<() => void>();

  constructor(tenure: Tenure) {
    this.tenure = tenure;
    tenure.listen({
      onRecord: (record) => {
        expect(isIsolateMessage(record, tenure.nonce)).toBe(true);
        this.records.push(record as IsolateMessage);
        this.#wake();
      },
      onExit: (exit) => {
        this.exit = exit;
        this.#wake();
      },
    });
    tenure.ref();
  }

  run(plan: CommandPlan, graceMs = 200): this {
    this.tenure.post({ t: 'command', seq: 1, plan, graceMs });
    return this;
  }
  stop(): void {
    this.tenure.post({ t: 'stop', seq: 1, kind: 'cancel', reason: null });
  }

  all<T extends IsolateMessage['t']>(tag: T): Of<T>[] {
    return this.records.filter((record): record is Of<T> => record.t === tag);
  }
  /** What it wrote so far, as text. */
  text(stream: 'stdout' | 'stderr' = 'stdout'): string {
    const pieces = this.all('output').filter((record) => record.stream === stream);
    return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
  }

  async until(check: () => boolean): Promise<void> {
    while (!check()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }
  async untilText(text: string): Promise<void> {
    await this.until(() => this.text().includes(text));
  }
  async first<T extends IsolateMessage['t']>(tag: T): Promise<Of<T>> {
    await this.until(() => this.all(tag).length > 0);
    return this.all(tag)[0] as Of<T>;
  }
  /** What it told at its end, once it is over. */
  async end(): Promise<{ settled: SettledMessage; drained: DrainedMessage; looked: LookedMessage }> {
    const looked = await this.first('looked');
    return { settled: await this.first('settled'), drained: await this.first('drained'), looked };
  }
  async terminated(): Promise<TenureExit> {
    this.tenure.terminate();
    await this.until(() => this.exit !== null);
    return this.exit as TenureExit;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

/** A command of a source of its own. */
export function command(options: Partial<CommandOptions> = {}): Commanded {
  const source = new CommandSource({ clock: systemClock, killMs: 10_000, sweepMs: 5_000, ...options });
  return new Commanded(source.open());
}

/** Turns of the loop until `check` holds. */
export async function turnsUntil(check: () => boolean): Promise<void> {
  while (!check()) await new Promise<void>((resume) => setImmediate(resume));
}

export function isLive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== null && isAlive(stat);
}

/** A FIFO in a folder of its own. */
export function makeFifo() {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-command-'));
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}

/** The numbers a test's program printed, as `NAME=PID` lines. */
export function pidOf(text: string, name: string): number {
  return Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(text)?.[1]);
}

/** Live processes that carry a marker of this host. */
export function marked(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && isLive(Number(pid)))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARKER}=${process.pid}.`);
      } catch {
        return false;
      }
    })
    .map((pid) => `${statOf(Number(pid))?.name} (${pid})`);
}

/** Ends the file with a look for processes it has left. */
export function leavesNoProcess(): void {
  afterAll(() => {
    expect(marked(), 'processes left behind by this file').toEqual([]);
  });
}
