/**
 * ThreadPool: tenures on Piscina threads. The only file that imports Piscina.
 *
 * Invariants: each thread serves one install task and is never given another; every thread ever seen is watched until
 * its own `exit`; no rejection and no pool error goes unheard; after `close` the pool is never called again, since it
 * would revive. Deliberately absent: leases, records and what they mean.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { Piscina, queueOptionsSymbol } from 'piscina';
import { LeaseholdError } from '../model/errors.ts';
import { mintNonce } from '../model/ids.ts';
import { type Clock, settlesWithin, type Timer } from '../model/time.ts';
import { type Installed, type InstallTask, WORDS } from '../wire/protocol.ts';
import type { Tenure, TenureExit, TenureListener, TenureMessage, TenureSource } from './tenure.ts';

export interface ThreadPoolOptions {
  readonly clock: Clock;
  /** The most threads at once: leased, standing by, and abandoned. */
  readonly maxThreads: number;
  readonly resourceLimits?: { readonly [limit: string]: number };
  readonly health: InstallTask['health'];
  readonly tailBytes: number;
  /** Called when the pool reports an error that belongs to no install task. */
  readonly onError: (error: unknown) => void;
}

/** The thread entry has the extension of the file that asks, so that sources and builds both find theirs. */
const entryUrl = new URL(`../../workers/isolate${/\.[^./]+$/.exec(import.meta.url)?.[0] ?? '.js'}`, import.meta.url);

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;
type Balancer = NonNullable<PiscinaOptions['loadBalancer']>;

export class ThreadPool implements TenureSource {
  readonly #options: ThreadPoolOptions;
  readonly #pool: Piscina<InstallTask, Installed>;
  readonly #watched = new Set<Worker>();
  /** Booting tenures without a thread yet, oldest first. */
  readonly #unplaced = new Set<ThreadTenure>();
  readonly #hosts = new Map<Worker, ThreadTenure>();

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#pool = new Piscina<InstallTask, Installed>({
      minThreads: 0,
      maxThreads: options.maxThreads,
      // Without it an installed thread, which looks unused to the pool, is taken away.
      idleTimeout: Number.POSITIVE_INFINITY,
      // The default parks an unused thread in a wait on shared memory: its event loop stands still.
      atomics: 'disabled',
      concurrentTasksPerWorker: 1,
      recordTiming: false,
      ...(options.resourceLimits === undefined ? {} : { resourceLimits: { ...options.resourceLimits } }),
      loadBalancer: (task, workers) => this.#offer(task, workers),
    });
    // Without a listener a crash outside a task would end the host.
    this.#pool.on('error', (error: unknown) => options.onError(error));
  }

  open(bootMs: number): Tenure {
    const entry = fileURLToPath(entryUrl);
    if (!existsSync(entry)) {
      throw new LeaseholdError(
        'ENTRY_MISSING',
        `The thread entry of Leasehold is missing: ${entryUrl.pathname.split('/').pop()}. A bundler must leave the package external.`,
      );
    }
    const { port1, port2 } = new MessageChannel();
    const words = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT);
    const tenure = new ThreadTenure(this.#options.clock, port1, words, () => this.#unplaced.delete(tenure));
    this.#unplaced.add(tenure);
    const task: InstallTask = {
      nonce: tenure.nonce,
      port: port2,
      words,
      health: this.#options.health,
      tailBytes: this.#options.tailBytes,
    };
    // The symbol does not cross to the thread; it tells the balancer whose task it places.
    const installing = this.#pool.run(Object.assign(task, { [queueOptionsSymbol]: tenure }), {
      filename: entry,
      transferList: [port2],
      signal: tenure.placing,
    });
    tenure.await(installing, bootMs);
    this.#watchNew();
    return tenure;
  }

  async close(withinMs: number): Promise<void> {
    for (const tenure of [...this.#unplaced, ...this.#hosts.values()]) tenure.terminate();
    for (const worker of this.#watched) void worker.terminate();
    const { clock } = this.#options;
    // `destroy` has no bound of its own: it waits for threads that may never end.
    await settlesWithin(clock, withinMs, this.#pool.destroy().catch(this.#options.onError));
  }

  /** Places an install task on a thread that never had one; null makes the pool start another. */
  #offer(...[task, workers]: Parameters<Balancer>): ReturnType<Balancer> {
    this.#watchNew();
    const tenure = (task as unknown as Record<symbol, unknown>)[queueOptionsSymbol];
    if (!(tenure instanceof ThreadTenure)) return null;
    for (const candidate of workers) {
      const worker = this.#pool.threads.find((thread) => thread.threadId === candidate.id);
      if (worker === undefined || this.#hosts.has(worker) || !this.#watched.has(worker)) continue;
      this.#hosts.set(worker, tenure);
      this.#unplaced.delete(tenure);
      tenure.place(worker);
      void tenure.installed.then(
        () => closeTaskPort(candidate),
        () => undefined,
      );
      return candidate;
    }
    return null;
  }

  #watchNew(): void {
    for (const worker of this.#pool.threads) {
      if (this.#watched.has(worker)) continue;
      this.#watched.add(worker);
      let failure: Error | null = null;
      worker.on('error', (error: Error) => {
        failure = error;
      });
      worker.once('exit', (code: number) => {
        this.#watched.delete(worker);
        // A thread that dies before it was given a task strands the oldest task that waits for one.
        const tenure = this.#hosts.get(worker) ?? this.#unplaced.values().next().value;
        this.#hosts.delete(worker);
        tenure?.end({ code, error: failure });
      });
    }
  }
}

/**
 * Makes Piscina deaf on the port over which the install task was answered. User code in the thread can find the other end,
 * and Piscina reads what comes without a check: a posted null would be an uncaught error of the host.
 */
function closeTaskPort(thread: object): void {
  for (const key of Object.getOwnPropertySymbols(thread)) {
    const { port } = (thread as Record<symbol, { port?: MessagePort }>)[key] ?? {};
    port?.removeAllListeners('message');
  }
}

class ThreadTenure implements Tenure {
  readonly sharesWords = true;
  readonly pid = process.pid;
  readonly poll = null;
  readonly transitMs = 0;
  readonly nonce = mintNonce();
  readonly words: Int32Array;
  readonly installed: Promise<void>;
  readonly #clock: Clock;
  readonly #port: MessagePort;
  readonly #placing = new AbortController();
  readonly #forget: () => void;
  #settleInstall!: { resolve: () => void; reject: (error: unknown) => void };
  #bootTimer: Timer | null = null;
  #worker: Worker | null = null;
  #listener: TenureListener | null = null;
  #exit: TenureExit | null = null;

  constructor(clock: Clock, port: MessagePort, words: SharedArrayBuffer, forget: () => void) {
    this.#clock = clock;
    this.#port = port;
    this.words = new Int32Array(words);
    this.#forget = forget;
    this.installed = new Promise<void>((resolve, reject) => {
      this.#settleInstall = { resolve, reject };
    });
    // Whoever listens is told; nobody has to.
    this.installed.catch(() => undefined);
  }

  get exit(): TenureExit | null {
    return this.#exit;
  }
  /** Fires when the install task is given up, so that the pool does not keep it for a later thread. */
  get placing(): AbortSignal {
    return this.#placing.signal;
  }

  await(installing: Promise<Installed>, bootMs: number): void {
    this.#bootTimer = this.#clock.setTimeout(() => {
      this.#booted(new LeaseholdError('LEASE_UNAVAILABLE', `The isolate did not boot within ${bootMs} ms.`));
      this.terminate();
    }, bootMs);
    installing.then(
      ({ threadId }) =>
        this.#booted(
          threadId === this.#worker?.threadId || this.#exit !== null
            ? null
            : new LeaseholdError('LEASE_UNAVAILABLE', 'The install task ran on another thread than it was placed on.'),
        ),
      (error: unknown) => this.#booted(error),
    );
  }

  place(worker: Worker): void {
    this.#worker = worker;
  }

  #booted(error: unknown): void {
    if (this.#bootTimer === null) return;
    this.#clock.clearTimeout(this.#bootTimer);
    this.#bootTimer = null;
    if (error === null) this.#settleInstall.resolve();
    else this.#settleInstall.reject(error);
  }

  listen(listener: TenureListener): void {
    this.#listener = listener;
    this.#port.on('message', (record: unknown) => listener.onRecord(record));
    // What could not be read on this side is told as what it is: not a record of the isolate.
    this.#port.on('messageerror', () => listener.onRecord(undefined));
    this.#port.unref();
  }

  post(message: TenureMessage, transfer?: readonly ArrayBuffer[]): void {
    if (transfer === undefined || transfer.length === 0) this.#port.postMessage(message);
    else this.#port.postMessage(message, [...transfer]);
  }

  receive(): { readonly message: unknown } | undefined {
    return receiveMessageOnPort(this.#port);
  }

  terminate(): void {
    if (this.#exit !== null) return;
    if (this.#worker === null) {
      this.#placing.abort();
      // No thread is bound to it: there is nothing whose exit could be awaited.
      queueMicrotask(() => this.end({ code: null, error: null }));
    } else {
      // Node 20 aborts the whole process when a thread is ended while it loads its entry: that is awaited, `bootMs` at most.
      const worker = this.#worker;
      const kill = () => void worker.terminate();
      if (this.#bootTimer === null) kill();
      else this.installed.then(kill, kill);
    }
  }

  end(exit: TenureExit): void {
    if (this.#exit !== null) return;
    this.#exit = exit;
    this.#forget();
    this.#placing.abort();
    this.#booted(
      exit.error ?? new LeaseholdError('LEASE_UNAVAILABLE', `The thread ended with code ${exit.code} while it booted.`),
    );
    this.#listener?.onExit(exit);
  }

  ref(): void {
    this.#port.ref();
  }
  unref(): void {
    this.#port.unref();
  }
  close(): void {
    this.#port.close();
  }
}
