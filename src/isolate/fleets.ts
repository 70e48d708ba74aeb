/**
 * Fleets: every fleet of one supervisor: threads from the start, each other kind from the first tool that needs it.
 *
 * Invariants: a tool is served by isolates of its own lane only; what a kind may hold is shared by its lanes; impairment and
 * counts are those of all together. Deliberately absent: the queue, and the life of an isolate.
 */
import type { IsolateState } from '../../machines/index.ts';
import { kindOf, type Lane } from '../decide/lanes.ts';
import type { SupervisorConfig } from '../model/options.ts';
import type { Tool } from '../model/tool.ts';
import type { ActorTree } from './actor-tree.ts';
import { Fleet } from './fleet.ts';
import type { FleetOwner, FleetShape, IsolateInfo } from './fleet-shape.ts';
import type { Isolate } from './isolate.ts';
import { leasesOf, shapeOf, threadShape } from './shapes.ts';
import type { TenureSource } from './tenure.ts';

/** Who is told of changes. */
export interface FleetsOwner extends Omit<FleetOwner, 'onImpairment' | 'waiting' | 'mayHold' | 'mayBoot'> {
  /** A reason to refuse admission, or null when there is none any more. */
  onImpairment(reason: string | null): void;
  /** How many requests wait for isolates of a lane. */
  waiting(lane: Lane): number;
  /** How many wait for isolates of the same kind in other lanes. */
  waitingBeside(lane: Lane): number;
}

/** Who asks for an isolate. */
export interface Asking {
  readonly lane: Lane;
  readonly tenant: string;
  readonly definition: Tool;
}

export class Fleets {
  readonly #config: SupervisorConfig;
  readonly #actors: ActorTree;
  readonly #owner: FleetsOwner;
  readonly #threads: Fleet;
  readonly #shapeOf: typeof shapeOf;
  /** By lane; those at rest are forgotten when another one is made. */
  readonly #fleets = new Map<Lane, { readonly fleet: Fleet; readonly shape: FleetShape }>();
  /** Replacements in fleets that were forgotten. */
  #forgotten = 0;
  #impairment: string | null = null;
  #closed = false;

  /** `threads`: where threads come from; by default Piscina. `shaped`: what the other fleets are made of. */
  constructor(
    config: SupervisorConfig,
    threads: TenureSource | undefined,
    actors: ActorTree,
    owner: FleetsOwner,
    shaped: typeof shapeOf = shapeOf,
  ) {
    this.#config = config;
    this.#shapeOf = shaped;
    this.#actors = actors;
    this.#owner = owner;
    this.#threads = this.#add('thread', threadShape(config, threads));
  }

  get replacements(): number {
    return this.#all.reduce((sum, { replacements }) => sum + replacements, this.#forgotten);
  }
  /** Whether all threads and their standby are up. */
  get isFull(): boolean {
    return this.#threads.isFull;
  }
  /** How many lanes have a fleet. */
  get lanes(): number {
    return this.#fleets.size;
  }
  get #all(): Fleet[] {
    return [...this.#fleets.values()].map(({ fleet }) => fleet);
  }

  count(): Readonly<Record<IsolateState, number>> {
    const counts = { ...this.#threads.count() };
    for (const fleet of this.#all) {
      if (fleet === this.#threads) continue;
      for (const [state, number] of Object.entries(fleet.count())) counts[state as IsolateState] += number;
    }
    return counts;
  }

  /** How many leases of a lane could be granted now, those who wait for the same kind in other lanes before it. */
  free(lane: Lane): number {
    const kind = kindOf(lane);
    if (kind === 'thread') return this.#threads.free;
    const own = this.#fleets.get(lane)?.fleet.free ?? leasesOf(lane, this.#config);
    const shared = this.#config.limits[kind] - this.#heldOf(kind) - this.#owner.waitingBeside(lane);
    return Math.max(0, Math.min(own, shared));
  }
  /** Whether a lane beside the threads cannot serve, which is no reason to refuse others. */
  isShut(lane: Lane): boolean {
    const found = this.#fleets.get(lane);
    return found !== undefined && !found.shape.isEager && found.fleet.isShut;
  }
  get freeThreads(): number {
    return this.#threads.free;
  }

  /** Boots the threads that are missing. @throws LeaseholdError `ERR_LEASEHOLD_ENTRY_MISSING` */
  fill(): void {
    this.#threads.fill();
  }
  /** Somebody waits for the threads. */
  hasten(): void {
    this.#threads.hasten();
  }

  /** An idle isolate for a request, or null: then the request waits for `onCapacity`. */
  acquire({ lane, tenant, definition }: Asking): Isolate | null {
    return this.#fleetOf(lane, definition).acquire({ tenant, tool: definition.name });
  }

  /** Ends every isolate within the time and tells those whose end was not seen. */
  async close(withinMs: number): Promise<IsolateInfo[]> {
    this.#closed = true;
    const left = await Promise.all(this.#all.map((fleet) => fleet.close(withinMs)));
    return left.flat();
  }

  #fleetOf(lane: Lane, tool: Tool): Fleet {
    const found = this.#fleets.get(lane);
    if (found !== undefined) return found.fleet;
    this.#forgetResting();
    return this.#add(lane, this.#shapeOf(lane, tool, this.#config));
  }

  /** Permissions may differ from tenant to tenant: what they were is not kept for ever. */
  #forgetResting(): void {
    for (const [lane, { fleet, shape }] of this.#fleets) {
      if (shape.isEager || shape.isOnce || !fleet.isAtRest) continue;
      this.#fleets.delete(lane);
      this.#forgotten += fleet.replacements;
      void fleet.close(0);
    }
  }

  #add(lane: Lane, shape: FleetShape): Fleet {
    const owner = this.#owner;
    const fleet: Fleet = new Fleet(this.#config, shape, this.#actors, {
      onCapacity: () => {
        // An abandoned one may have ended.
        if (this.#impairment !== null) this.#review();
        owner.onCapacity();
      },
      onViolation: () => owner.onViolation(),
      onIsolateEvent: (type, isolate) => {
        owner.onIsolateEvent(type, isolate);
        if (type === 'isolate.abandoned') this.#review();
      },
      onImpairment: () => this.#review(),
      isAwaited: () => owner.isAwaited(),
      waiting: () => owner.waiting(lane),
      mayHold: () => this.#mayHold(shape),
      mayBoot: (forStandby) => this.#mayBoot(fleet, shape, forStandby),
    });
    this.#fleets.set(lane, { fleet, shape });
    return fleet;
  }

  /** Threads have a limit of their own; processes of all lanes share one, and so do inline calls. */
  #mayHold({ kind }: FleetShape): boolean {
    return kind === 'thread' || this.#heldOf(kind) < this.#config.limits[kind];
  }
  #heldOf(kind: FleetShape['kind']): number {
    let held = 0;
    for (const { fleet, shape } of this.#fleets.values()) if (shape.kind === kind) held += fleet.held;
    return held;
  }

  /** Idle processes of one lane make way for those that another lane waits for. */
  #mayBoot(asking: Fleet, { kind, isOnce }: FleetShape, forStandby: boolean): boolean {
    if (this.#closed) return false;
    if (kind !== 'process' || isOnce) return true;
    const { limits, standby } = this.#config;
    const reused = [...this.#fleets.values()].filter(({ shape }) => shape.kind === kind && !shape.isOnce);
    if (reused.reduce((sum, { fleet }) => sum + fleet.live, 0) < limits.process + standby) return true;
    return !forStandby && reused.some(({ fleet }) => fleet !== asking && fleet.yield());
  }

  #review(): void {
    const fleets = this.#all;
    const abandoned = fleets.reduce((sum, fleet) => sum + fleet.count().abandoned, 0);
    // Where another kind does not boot, it is shut alone.
    const reason =
      this.#threads.impairment ?? (abandoned > this.#config.maxAbandoned ? 'too many isolates are abandoned' : null);
    if (reason === this.#impairment) return;
    this.#impairment = reason;
    this.#owner.onImpairment(reason);
  }
}
