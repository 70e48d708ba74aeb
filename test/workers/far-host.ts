/**
 * FarHost: the least of a host, around one real isolate in a bare Worker, for tests of the far side.
 *
 * Invariants: every record is kept in order; nothing waits for time, only for records and exits; each isolate opened is
 * ended after its test. Deliberately absent: Piscina, leases, decisions.
 */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { afterEach } from 'vitest';
import type { Effects } from '../../src/model/tool.ts';
import { type Channel, openChannel } from '../../src/wire/channel.ts';
import {
  type HostCalls,
  type HostMessage,
  type InstallTask,
  type IsolateHooks,
  type IsolateMessage,
  type LookedMessage,
  type SettledMessage,
  WORD,
  WORDS,
} from '../../src/wire/protocol.ts';

const opened = new Set<FarHost>();
afterEach(async () => {
  for (const far of opened) await far.end();
});

export interface FarOptions {
  readonly tailBytes?: number;
  readonly full?: 'sampled' | 'every';
  readonly calls?: Partial<HostCalls>;
  /** Each run counts as a short one. */
  readonly stillClock?: boolean;
}
export interface RunShape {
  readonly effects?: Effects;
  readonly remainingMs?: number | null;
  readonly transfer?: readonly ArrayBuffer[];
  readonly module?: string;
}

export class FarHost {
  readonly nonce = 'n'.repeat(32);
  readonly words = new Int32Array(new SharedArrayBuffer(WORDS * 4));
  readonly records: IsolateMessage[] = [];
  /** What came without the nonce. */
  readonly foreign: unknown[] = [];
  /** What reached the Worker's own listeners. */
  readonly onParent: unknown[] = [];
  readonly worker: Worker;
  readonly hook: Channel<IsolateHooks>;
  readonly #call: Channel;
  readonly #port: MessagePort;
  readonly #wake = new Set<() => void>();
  #seq = 0;
  exit: number | null = null;

  constructor(options: FarOptions) {
    const { port1, port2 } = new MessageChannel();
    const task: InstallTask = {
      nonce: this.nonce,
      port: port2,
      words: this.words.buffer as SharedArrayBuffer,
      health: { full: options.full ?? 'sampled' },
      tailBytes: options.tailBytes ?? 65_536,
    };
    const entry = new URL('../../dist/workers/isolate.js', import.meta.url).href;
    const boot = new URL('../fixtures/far/boot.mjs', import.meta.url);
    const workerData = { entry, task, stillClock: options.stillClock };
    this.worker = new Worker(boot, { workerData, transferList: [port2], stdout: true, stderr: true });
    this.#port = port1;
    this.#call = openChannel({ post: (d) => this.post({ t: 'call', d }), expose: options.calls });
    this.hook = openChannel<IsolateHooks>({ post: (d) => this.post({ t: 'hook', d }) });
    port1.on('message', (record: IsolateMessage) => this.#take(record));
    this.worker.on('message', (message) => this.onParent.push(message));
    this.worker.on('error', () => {});
    this.worker.on('exit', (code) => {
      this.sweep();
      this.exit = code;
      this.#tell();
    });
    opened.add(this);
  }

  post(message: HostMessage, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  /** Starts a lease of an export of a fixture. Returns its `seq`. */
  start(file: string, exportName: string, input: unknown = null, shape: RunShape = {}): number {
    this.#seq += 1;
    const ctx = {
      tenant: 'acme',
      run: 'r-1',
      branch: 'main',
      requestId: 'req-1',
      attempt: 1,
      trace: { traceparent: '00-1-1-00' },
      remainingMs: shape.remainingMs === undefined ? 60_000 : shape.remainingMs,
    };
    const module = shape.module ?? new URL(`../fixtures/far/${file}.mjs`, import.meta.url).href;
    const { effects = 'none', transfer } = shape;
    this.post({ t: 'run', seq: this.#seq, module, exportName, effects, input, ctx }, transfer);
    return this.#seq;
  }

  /** Starts a lease and waits for its end. */
  async run(file: string, exportName: string, input: unknown = null, shape: RunShape = {}): Promise<SettledMessage> {
    return this.settled(this.start(file, exportName, input, shape));
  }

  settled(seq: number): Promise<SettledMessage> {
    return this.until('settled', (record) => record.seq === seq);
  }

  looked(seq: number): Promise<LookedMessage> {
    return this.until('looked', (record) => record.seq === seq);
  }

  /** Runs and returns the kinds of what the looks found; `[]` when the record itself said clean. */
  async findings(file: string, exportName: string, shape: RunShape = {}): Promise<string[]> {
    const settled = await this.run(file, exportName, null, shape);
    if (settled.clean) return [];
    return (await this.looked(settled.seq)).findings.map(({ kind }) => kind);
  }

  /** Sets the word and posts the message, as a host does, once the lease has begun: before, it would be recalled. */
  stop(seq: number, kind: string, reason: string | null = null): void {
    while (Atomics.load(this.words, WORD.STARTED) < seq);
    Atomics.store(this.words, WORD.STOP, seq);
    this.post({ t: 'stop', seq, kind, reason });
  }

  of<T extends IsolateMessage['t']>(t: T): Extract<IsolateMessage, { t: T }>[] {
    return this.records.filter((record): record is Extract<IsolateMessage, { t: T }> => record.t === t);
  }

  /** Waits for a record. Rejects when the thread ends first. */
  async until<T extends IsolateMessage['t']>(
    t: T,
    fits: (record: Extract<IsolateMessage, { t: T }>) => boolean = () => true,
  ): Promise<Extract<IsolateMessage, { t: T }>> {
    for (;;) {
      const found = this.of(t).find(fits);
      if (found !== undefined) return found;
      if (this.exit !== null) throw new Error(`the thread ended with ${this.exit} before ${t}`);
      await this.changed();
    }
  }

  async untilExit(): Promise<number> {
    while (this.exit === null) await this.changed();
    return this.exit;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.add(resolve));
  }

  /** Reads the port until empty. */
  sweep(): void {
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      this.#take(next.message as IsolateMessage);
    }
  }

  async end(): Promise<void> {
    opened.delete(this);
    const pids = new Set(this.of('child').map(({ pid }) => pid));
    for (const { pid } of this.of('child').filter(({ alive }) => !alive)) pids.delete(pid);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    if (this.exit === null) {
      void this.worker.terminate();
      await this.untilExit();
    }
    this.#port.close();
  }

  #take(record: IsolateMessage): void {
    if (record.n !== this.nonce) this.foreign.push(record);
    else if (record.t === 'call') this.#call.receive(record.d);
    else if (record.t === 'hook') this.hook.receive(record.d);
    else {
      if ('credit' in record) Atomics.sub(this.words, WORD.CREDIT, record.credit);
      this.records.push(record);
    }
    this.#tell();
  }

  #tell(): void {
    const woken = [...this.#wake];
    this.#wake.clear();
    for (const wake of woken) wake();
  }
}

/** Boots one isolate and waits until it is ready. */
export async function openFar(options: FarOptions = {}): Promise<FarHost> {
  const far = new FarHost(options);
  await once(far.worker, 'message');
  return far;
}

/** All the bytes of one stream, as text. */
export function textOf(far: FarHost, stream: 'stdout' | 'stderr'): string {
  return Buffer.concat(
    far
      .of('output')
      .filter((o) => o.stream === stream)
      .map((o) => o.bytes),
  ).toString('latin1');
}
