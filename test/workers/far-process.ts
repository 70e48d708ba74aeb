/**
 * FarProcess: the least of a host, around one real isolate in a bare child process, for tests of the far side.
 *
 * Invariants: every record is kept in order; nothing waits for time, only for records, bytes and exits; each process
 * opened is ended with its group after its test. Deliberately absent: sweeps, leases, decisions.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { writeTo } from '../../src/isolate/node-process-link.ts';
import type { Effects } from '../../src/model/tool.ts';
import { type Channel, openChannel } from '../../src/wire/channel.ts';
import { FrameReader, frameOf } from '../../src/wire/frames.ts';
import type {
  HeldMessage,
  HostCalls,
  HostMessage,
  InstalledMessage,
  InstallMessage,
  IsolateHooks,
  IsolateMessage,
  LookedMessage,
  SettledMessage,
} from '../../src/wire/protocol.ts';

type FarRecord = IsolateMessage | InstalledMessage | HeldMessage;
type OfKind<T> = Extract<FarRecord, { t: T }>;

const opened = new Set<FarProcess>();
afterEach(async () => {
  for (const far of opened) await far.end();
});

export interface FarProcessOptions {
  readonly tailBytes?: number;
  readonly calls?: Partial<HostCalls>;
}
export interface RunShape {
  readonly effects?: Effects;
  readonly remainingMs?: number | null;
}

export class FarProcess {
  readonly nonce = 'n'.repeat(32);
  readonly records: FarRecord[] = [];
  /** What came without the nonce. */
  readonly foreign: unknown[] = [];
  readonly raw = { stdout: '', stderr: '' };
  readonly child: ChildProcess;
  readonly hook: Channel<IsolateHooks>;
  readonly #link: Duplex;
  readonly #call: Channel;
  readonly #reader = new FrameReader();
  readonly #wake = new Set<() => void>();
  #seq = 0;
  #isClosed = false;
  exit: { readonly code: number | null; readonly signal: string | null } | null = null;

  constructor(options: FarProcessOptions) {
    const entry = fileURLToPath(new URL('../../dist/workers/process.js', import.meta.url));
    this.child = spawn(process.execPath, [entry], { detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    this.#link = this.child.stdio[3] as Duplex;
    this.#call = openChannel({ post: (d) => this.post({ t: 'call', d }), expose: options.calls });
    this.hook = openChannel<IsolateHooks>({ post: (d) => this.post({ t: 'hook', d }) });
    this.#link.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk, (record) => this.#take(record as FarRecord));
      this.#tell();
    });
    this.#link.on('error', () => {});
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.on('data', (bytes: Buffer) => {
        this.raw[name] += bytes.toString('latin1');
        this.#tell();
      });
    }
    this.child.on('exit', (code, signal) => {
      this.exit = { code, signal };
      this.#tell();
    });
    // Of the pipes too: what was written has been read.
    this.child.on('close', () => {
      this.#isClosed = true;
      this.#tell();
    });
    this.post({ t: 'install', nonce: this.nonce, health: { full: 'sampled' }, tailBytes: options.tailBytes ?? 65_536 });
    opened.add(this);
  }

  post(...messages: (HostMessage | InstallMessage)[]): void {
    writeTo(this.#link, Buffer.concat(messages.map(frameOf)));
  }
  /** Nothing is read from now on, as by a host whose loop is blocked. */
  block(): void {
    this.#link.pause();
  }
  unblock(): void {
    this.#link.resume();
  }
  hangUp(): void {
    this.#link.destroy();
  }

  message(file: string, exportName: string, input: unknown = null, shape: RunShape = {}) {
    this.#seq += 1;
    const { effects = 'none', remainingMs = 60_000 } = shape;
    const names = { tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'req-1', attempt: 1 };
    const ctx = { ...names, trace: { traceparent: '00-1-1-00' }, remainingMs };
    const module = new URL(`../fixtures/far/${file}.mjs`, import.meta.url).href;
    return { t: 'run', seq: this.#seq, module, exportName, effects, input, ctx } as const;
  }
  /** Starts a lease of an export of a fixture. Returns its `seq`. */
  start(...run: Parameters<FarProcess['message']>): number {
    const message = this.message(...run);
    this.post(message);
    return message.seq;
  }
  /** Starts a lease and waits for its end. */
  run(...run: Parameters<FarProcess['message']>): Promise<SettledMessage> {
    return this.settled(this.start(...run));
  }
  settled(seq: number): Promise<SettledMessage> {
    return this.until('settled', (record) => record.seq === seq);
  }
  looked(seq: number): Promise<LookedMessage> {
    return this.until('looked', (record) => record.seq === seq);
  }
  of<T extends FarRecord['t']>(t: T): OfKind<T>[] {
    return this.records.filter((record): record is OfKind<T> => record.t === t);
  }
  text(stream: 'stdout' | 'stderr'): string {
    const pieces = this.of('output').filter((record) => record.stream === stream);
    return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');
  }

  /** Waits for a record. Rejects when the process ends first. */
  async until<T extends FarRecord['t']>(t: T, fits: (record: OfKind<T>) => boolean = () => true): Promise<OfKind<T>> {
    const found = () => this.of(t).find(fits);
    await this.untilSo(() => found() !== undefined);
    return found() as OfKind<T>;
  }
  async untilSo(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#isClosed) throw new Error(`the process ended with ${this.exit?.signal ?? this.exit?.code} before`);
      await this.#changed();
    }
  }
  async untilExit(): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    while (this.exit === null || !this.#isClosed) await this.#changed();
    return this.exit;
  }

  async end(): Promise<void> {
    opened.delete(this);
    if (this.exit === null) process.kill(-(this.child.pid as number), 'SIGKILL');
    this.unblock();
    await this.untilExit();
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.add(resolve));
  }
  #take(record: FarRecord | undefined): void {
    if (record?.n !== this.nonce) this.foreign.push(record);
    else if (record.t === 'call') this.#call.receive(record.d);
    else if (record.t === 'hook') this.hook.receive(record.d);
    else {
      if ('credit' in record) this.post({ t: 'credit', bytes: record.credit });
      this.records.push(record);
    }
  }
  #tell(): void {
    const woken = [...this.#wake];
    this.#wake.clear();
    for (const wake of woken) wake();
  }
}

/** Boots one isolate and waits until it is ready. */
export async function openFarProcess(options: FarProcessOptions = {}): Promise<FarProcess> {
  const far = new FarProcess(options);
  await far.until('installed');
  return far;
}
