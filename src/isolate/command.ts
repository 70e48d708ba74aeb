/**
 * CommandTenure: an isolate that is one command: it serves one lease, then it is spent.
 *
 * Invariants: records are told in order from the queue, never from within a call of the host; once `terminate` was called
 * `exit` means that nothing of the command is left, as far as can be seen. Deliberately absent: what a command goes through
 * (`command-life.ts`), and reading ahead: the pipes themselves hold a process that writes faster than the host reads.
 */
import { mintNonce } from '../model/ids.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import type { ProcessBackend } from '../process/backend.ts';
import { platformBackend } from '../process/platform.ts';
import { afterPoll } from '../process/poll.ts';
import { WORD, WORDS } from '../wire/protocol.ts';
import { CommandLife } from './command-life.ts';
import type { CommandRecord } from './command-words.ts';
import type { CommandRun, Tenure, TenureExit, TenureListener, TenureMessage, TenureSource } from './tenure.ts';

export interface CommandOptions {
  readonly clock: Clock;
  /** From the kill to a seen exit. Milliseconds. */
  readonly killMs: number;
  /** The search for processes that are left. Milliseconds. */
  readonly sweepMs: number;
  /** For tests. Default: the platform's. */
  readonly backend?: ProcessBackend;
}

/** Commands, each in an isolate of its own. A kill takes `killMs`, 500 and `sweepMs` at the longest. */
export class CommandSource implements TenureSource {
  readonly #options: Required<CommandOptions>;
  readonly #open = new Set<CommandTenure>();
  #onAllGone: () => void = () => undefined;

  constructor(options: CommandOptions) {
    this.#options = { backend: platformBackend(), ...options };
  }

  /** Nothing boots: the program starts with its lease. */
  open(): Tenure {
    const tenure = new CommandTenure(this.#options, () => {
      this.#open.delete(tenure);
      if (this.#open.size === 0) this.#onAllGone();
    });
    this.#open.add(tenure);
    return tenure;
  }

  async close(withinMs: number): Promise<void> {
    for (const tenure of this.#open) tenure.terminate();
    const allGone = new Promise<void>((resolve) => {
      this.#onAllGone = resolve;
      if (this.#open.size === 0) resolve();
    });
    await settlesWithin(this.#options.clock, withinMs, allGone);
    for (const tenure of this.#open) tenure.forsake();
    this.#open.clear();
  }
}

class CommandTenure implements Tenure {
  readonly sharesWords = true;
  readonly pid = null;
  readonly poll = afterPoll;
  readonly transitMs = 0;
  readonly nonce = mintNonce();
  readonly words = new Int32Array(WORDS);
  readonly installed = Promise.resolve();
  readonly #options: Required<CommandOptions>;
  readonly #forget: () => void;
  #listener: TenureListener | null = null;
  #life: CommandLife | null = null;
  #queue: unknown[] = [];
  #phase: 'unused' | 'serving' | 'terminated' = 'unused';
  #hold: 'ref' | 'unref' = 'unref';
  /** Known here, and told once everything before it was. */
  #end: TenureExit | null = null;
  #exit: TenureExit | null = null;

  constructor(options: Required<CommandOptions>, forget: () => void) {
    this.#options = options;
    this.#forget = forget;
  }

  get exit(): TenureExit | null {
    return this.#exit;
  }

  listen(listener: TenureListener): void {
    this.#listener = listener;
  }

  post(message: TenureMessage): void {
    if (message.t === 'command') this.#begin(message);
    else if (message.t === 'stop') this.#life?.stop();
  }

  receive(): { readonly message: unknown } | undefined {
    return this.#queue.length === 0 ? undefined : { message: this.#queue.shift() };
  }

  terminate(): void {
    if (this.#phase === 'terminated') return;
    this.#phase = 'terminated';
    if (this.#life === null) this.#over({ code: null, error: null });
    else this.#life.kill();
  }

  ref(): void {
    this.#hold = 'ref';
    this.#life?.hold('ref');
  }
  unref(): void {
    this.#hold = 'unref';
    this.#life?.hold('unref');
  }
  close(): void {
    this.#queue = [];
    this.#life?.close();
  }
  /** Gives it up although something of it may be left. */
  forsake(): void {
    this.#life?.close();
  }

  #begin(run: CommandRun): void {
    if (this.#phase !== 'unused') return;
    this.#phase = 'serving';
    // Set before anything can be asked: from here on a stop has to tell the process.
    Atomics.store(this.words, WORD.STARTED, run.seq);
    this.#life = new CommandLife(this.#options, run, {
      onRecord: (record) => this.#tell(run.seq, record),
      onGone: (exit) => this.#over({ ...exit, error: null }),
    });
    this.#life.hold(this.#hold);
  }

  #tell(seq: number, record: CommandRecord): void {
    this.#queue.push({ ...record, n: this.nonce, seq });
    queueMicrotask(() => this.#deliver());
  }
  #over(exit: TenureExit): void {
    this.#end ??= exit;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    for (let next = this.receive(); next !== undefined; next = this.receive()) this.#listener?.onRecord(next.message);
    if (this.#end === null || this.#exit !== null) return;
    this.#exit = this.#end;
    this.#forget();
    this.#listener?.onExit(this.#exit);
  }
}
