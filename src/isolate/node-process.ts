/**
 * NodeProcessPool: tenures on Node processes, each running a tool's module as a thread would.
 *
 * Invariants: one pool starts processes of one set of permissions, and serves with them only what was declared with
 * that very set; every process ever started is followed until nothing of it is left, or the pool is closed.
 * Deliberately absent: leases, and the life of one process (`node-process-tenure.ts`).
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LeaseholdError } from '../model/errors.ts';
import type { Permissions } from '../model/permissions.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import type { ProcessBackend } from '../process/backend.ts';
import { platformBackend } from '../process/platform.ts';
import type { InstallTerms } from '../wire/protocol.ts';
import { isolateEnv, type MemoryLimits, memoryFlags, permissionFlags } from './node-process-flags.ts';
import { NodeProcessTenure } from './node-process-tenure.ts';
import type { Tenure, TenureSource } from './tenure.ts';

export interface NodeProcessOptions {
  readonly clock: Clock;
  readonly resourceLimits?: MemoryLimits;
  readonly health: InstallTerms['health'];
  readonly tailBytes: number;
  /** How long a look for what a process left behind may take. Milliseconds. */
  readonly sweepMs: number;
  /** Null: none are restricted. */
  readonly permissions: Required<Permissions> | null;
  /** The modules that are served; with permissions, only these may be loaded beside what `fsRead` names. */
  readonly modules: readonly string[];
  /** Default: the Node that runs this. */
  readonly execPath?: string;
  readonly backend?: ProcessBackend;
}

/** The entry has the extension of the file that asks, so that sources and builds both find theirs. */
const entryUrl = new URL(`../../workers/process${/\.[^./]+$/.exec(import.meta.url)?.[0] ?? '.js'}`, import.meta.url);

export class NodeProcessPool implements TenureSource {
  readonly #options: NodeProcessOptions;
  readonly #live = new Set<NodeProcessTenure>();
  #onEmpty: (() => void) | null = null;

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  open(bootMs: number): Tenure {
    const entry = fileURLToPath(entryUrl);
    if (!existsSync(entry)) {
      throw new LeaseholdError(
        'ENTRY_MISSING',
        `The process entry of Leasehold is missing: ${entryUrl.pathname.split('/').pop()}. A bundler must leave the package external.`,
      );
    }
    const { clock, backend = platformBackend(), sweepMs, health, tailBytes } = this.#options;
    const tenure = new NodeProcessTenure(
      { clock, backend, sweepMs, bootMs, health, tailBytes },
      this.#request(entry),
      () => this.#forget(tenure),
    );
    this.#live.add(tenure);
    return tenure;
  }

  async close(withinMs: number): Promise<void> {
    for (const tenure of this.#live) tenure.terminate();
    const emptied = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      if (this.#live.size === 0) resolve();
    });
    await settlesWithin(this.#options.clock, withinMs, emptied);
    for (const tenure of this.#live) tenure.abandon();
  }

  #forget(tenure: NodeProcessTenure): void {
    this.#live.delete(tenure);
    if (this.#live.size === 0) this.#onEmpty?.();
  }

  #request(entry: string) {
    const { resourceLimits = {}, permissions, modules, execPath = process.execPath } = this.#options;
    const flags = [
      ...memoryFlags(resourceLimits),
      ...(permissions === null ? [] : permissionFlags(permissions, modules)),
    ];
    const env = isolateEnv(permissions !== null);
    return { file: execPath, args: [...flags, entry], cwd: null, env, stdin: null, link: true };
  }
}
