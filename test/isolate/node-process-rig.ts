/**
 * Real tenures of Node processes, with everything a listener hears of each.
 *
 * Invariants: the pool is the built one, since a process needs a built entry; every pool opened is closed after its test.
 * Deliberately absent: isolates and leases.
 */
import { afterEach } from 'vitest';
import type { NodeProcessOptions } from '../../src/isolate/node-process.ts';
import type { Tenure, TenureExit } from '../../src/isolate/tenure.ts';
import { systemClock } from '../../src/model/time.ts';
import type { IsolateMessage, SettledMessage } from '../../src/wire/protocol.ts';

type Pools = typeof import('../../src/isolate/node-process.ts');
const { NodeProcessPool } = (await import(
  new URL('../../dist/src/isolate/node-process.js', import.meta.url).href
)) as Pools;
type Pool = InstanceType<Pools['NodeProcessPool']>;
type OfKind<T> = Extract<IsolateMessage, { t: T }>;

const opened = new Set<Pool>();
afterEach(async () => {
  for (const pool of opened) await pool.close(60_000);
  opened.clear();
});

export const moduleOf = (file: string) => new URL(`../fixtures/far/${file}.mjs`, import.meta.url).href;

/** `Pool`: of another copy of the package. */
export function openPool(options: Partial<NodeProcessOptions> = {}, Pool = NodeProcessPool): Pool {
  const pool = new Pool({
    ...{ clock: systemClock, health: { full: 'sampled' }, tailBytes: 65_536, sweepMs: 10_000 },
    ...{ permissions: null, modules: [moduleOf('own-process')], ...options },
  });
  opened.add(pool);
  return pool;
}

export class HeardTenure {
  readonly tenure: Tenure;
  readonly records: IsolateMessage[] = [];
  /** What came that is no record. */
  readonly foreign: unknown[] = [];
  readonly #wake = new Set<() => void>();
  #seq = 0;
  exit: TenureExit | null = null;

  constructor(pool: Pool, bootMs = 60_000) {
    this.tenure = pool.open(bootMs);
    this.tenure.listen({
      onRecord: (record) => this.#take(record),
      onExit: (exit) => {
        for (let next = this.tenure.receive(); next !== undefined; next = this.tenure.receive())
          this.#take(next.message);
        this.exit = exit;
        this.tenure.close();
        this.#tell();
      },
    });
  }

  start(exportName: string, input: unknown = null, file = 'own-process'): number {
    this.#seq += 1;
    const names = { tenant: 'acme', run: 'r-1', branch: 'main', requestId: 'req-1', attempt: 1 };
    const ctx = { ...names, trace: { traceparent: '00-1-1-00' }, remainingMs: 60_000 };
    this.tenure.post({ t: 'run', seq: this.#seq, module: moduleOf(file), exportName, effects: 'none', input, ctx });
    return this.#seq;
  }
  async run(exportName: string, input: unknown = null, file = 'own-process'): Promise<SettledMessage> {
    const seq = this.start(exportName, input, file);
    return this.until('settled', (record) => record.seq === seq);
  }
  of<T extends IsolateMessage['t']>(t: T): OfKind<T>[] {
    return this.records.filter((record): record is OfKind<T> => record.t === t);
  }
  text(stream: 'stdout' | 'stderr'): string {
    const pieces = this.of('output').filter((record) => record.stream === stream);
    return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');
  }
  /** Waits for a record. Rejects when the process ends first. */
  async until<T extends IsolateMessage['t']>(
    t: T,
    fits: (record: OfKind<T>) => boolean = () => true,
  ): Promise<OfKind<T>> {
    for (;;) {
      const found = this.of(t).find(fits);
      if (found !== undefined) return found;
      if (this.exit !== null) throw new Error(`it ended with ${JSON.stringify(this.exit)} before ${t}`);
      await this.changed();
    }
  }
  async untilExit(): Promise<TenureExit> {
    while (this.exit === null) await this.changed();
    return this.exit;
  }
  changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.add(resolve));
  }

  #take(record: unknown): void {
    const { n } = (record ?? {}) as { n?: unknown };
    if (n === this.tenure.nonce) this.records.push(record as IsolateMessage);
    else this.foreign.push(record);
    this.#tell();
  }
  #tell(): void {
    const woken = [...this.#wake];
    this.#wake.clear();
    for (const wake of woken) wake();
  }
}

/** Boots one and waits until it serves. */
export async function openTenure(options: Partial<NodeProcessOptions> = {}): Promise<HeardTenure> {
  const heard = new HeardTenure(openPool(options));
  await heard.tenure.installed;
  return heard;
}
