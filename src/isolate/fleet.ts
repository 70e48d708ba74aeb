/**
 * Fleet: all isolates of one kind and one set of permissions: booted, leased, replaced, retired.
 *
 * Invariants: no more are held than the shape allows; those that live are kept at what the shape wants, as far as its limit
 * allows, counting the ones that have not died yet; a condemned isolate's slot is free at once.
 * Deliberately absent: the queue, other kinds (`fleets.ts`), and what runs on an isolate.
 */
import type { IsolateState } from '../../machines/index.ts';
import { judge, recycleFor } from '../decide/condemn.ts';
import { place } from '../decide/placement.ts';
import { isLeaseholdError } from '../model/errors.ts';
import type { SupervisorConfig } from '../model/options.ts';
import type { FindingKind } from '../model/result.ts';
import { settlesWithin, type Timer } from '../model/time.ts';
import type { ActorTree } from './actor-tree.ts';
import type { FleetOwner, FleetShape, IsolateInfo } from './fleet-shape.ts';
import { Isolate, type Keeper } from './isolate.ts';
import { Restarts } from './restarts.ts';

/** How long a missing standby may wait for its boot. Milliseconds. */
const STANDBY_DELAY_MS = 25;

export class Fleet implements Keeper {
  readonly #config: SupervisorConfig;
  readonly #shape: FleetShape;
  readonly #actors: ActorTree;
  readonly #owner: FleetOwner;
  readonly #isolates = new Set<Isolate>();
  readonly #restarts: Restarts;
  #impairment: string | null = null;
  #spare: Timer | null = null;
  /** The most that lived at once: what is booted beyond it is more, what is booted within it replaces. */
  #peak = 0;
  /** Requests that ask just now and stand in no line. */
  #asking = 0;
  #replacements = 0;
  #closed = false;
  #onAllEnded: (() => void) | null = null;

  /** Whether a finding of this kind condemns, by the policy of the supervisor. */
  readonly #condemns = (kind: FindingKind): boolean =>
    judge([{ kind }], this.#config.health.condemn).some(({ condemns }) => condemns);

  constructor(config: SupervisorConfig, shape: FleetShape, actors: ActorTree, owner: FleetOwner) {
    this.#config = config;
    this.#shape = shape;
    this.#actors = actors;
    this.#owner = owner;
    this.#restarts = new Restarts(config.clock, config.restart, () => {
      this.#review();
      this.#refill();
    });
  }

  /** How many isolates were made in place of others. */
  get replacements(): number {
    return this.#replacements;
  }
  /** A reason to refuse admission, or null. */
  get impairment(): string | null {
    return this.#impairment;
  }
  /** It cannot serve: what it boots dies, or what it had to give up still has all its places. */
  get isShut(): boolean {
    const { keepsPlace, leases } = this.#shape;
    return this.#restarts.isOverLimit || (keepsPlace && this.count().abandoned >= leases);
  }
  /** Nothing of it is left and nobody wants anything of it. */
  get isAtRest(): boolean {
    return this.#isolates.size === 0 && this.#asked === 0 && !this.#restarts.hasFailures;
  }
  /** How many requests want an isolate of it. */
  get #asked(): number {
    return Math.max(this.#asking, this.#owner.waiting());
  }
  /** How many places are taken by isolates that were given up. */
  get #lost(): number {
    if (!this.#shape.keepsPlace) return 0;
    const { quarantined, abandoned } = this.count();
    return quarantined + abandoned;
  }
  /** How many are to live. */
  get #target(): number {
    const { leases, standby, isEager } = this.#shape;
    if (isEager) return leases + standby;
    const wanted = Math.min(leases - this.#lost, this.held + this.#asked);
    return wanted + (wanted > 0 || this.live > 0 ? standby : 0);
  }

  count(): Readonly<Record<IsolateState, number>> {
    const counts = { booting: 0, idle: 0, leased: 0, resetting: 0, quarantined: 0, retiring: 0, abandoned: 0, gone: 0 };
    for (const { state } of this.#isolates) counts[state] += 1;
    return counts;
  }

  /** How many are held by leases. */
  get held(): number {
    const { leased, resetting } = this.count();
    return leased + resetting;
  }
  /** How many live and can be leased, or are. */
  get live(): number {
    const { booting, idle, leased, resetting } = this.count();
    return booting + idle + leased + resetting;
  }
  /** How many leases could be granted now, one that is booted on demand counting as free. */
  get free(): number {
    const { idle, leased, resetting } = this.count();
    const room = this.#owner.mayHold() ? this.#shape.leases - this.#lost - leased - resetting : 0;
    return Math.max(0, this.#shape.isEager ? Math.min(idle, room) : room);
  }
  /** Whether all isolates and the standby are up. */
  get isFull(): boolean {
    const { idle, leased, resetting } = this.count();
    return idle + leased + resetting >= this.#target;
  }

  /** Boots what is missing. @throws LeaseholdError `ERR_LEASEHOLD_ENTRY_MISSING` */
  fill(): void {
    if (this.#closed || this.#restarts.isPaused) return;
    const { kind, leases, standby, killMs, source } = this.#shape;
    const { maxAbandoned, defaults, clock } = this.#config;
    const most = leases + standby + maxAbandoned;
    const target = this.#target;
    const needed = this.held + this.#asked;
    for (let { live } = this; live < target && this.#isolates.size < most; live += 1) {
      if (!this.#owner.mayBoot(live >= needed)) return;
      const tenure = source.open(defaults.bootMs);
      const setting = { kind, clock, killMs, actors: this.#actors, keeper: this, condemns: this.#condemns };
      const isolate = new Isolate(setting, tenure);
      this.#isolates.add(isolate);
      if (live >= this.#peak) this.#peak = live + 1;
      else if (!this.#shape.isOnce) {
        this.#replacements += 1;
        this.#owner.onIsolateEvent('isolate.replaced', isolate.id);
      }
    }
  }

  /** An idle isolate for a request, or null: then the request waits for `onCapacity`. */
  acquire(request: Parameters<typeof place>[0]): Isolate | null {
    this.#asking += 1;
    try {
      return this.#place(request);
    } finally {
      this.#asking -= 1;
    }
  }

  #place(request: Parameters<typeof place>[0]): Isolate | null {
    const idle: Isolate[] = [];
    let held = 0;
    for (const isolate of this.#isolates) {
      const { state } = isolate;
      if (state === 'idle') idle.push(isolate);
      else if (state === 'leased' || state === 'resetting') held += 1;
    }
    if (this.#closed || held >= this.#shape.leases - this.#lost || !this.#owner.mayHold()) return null;
    const { share, isEager } = this.#shape;
    const placement = place(request, idle, share);
    if (placement === null) {
      if (!isEager) this.#refill();
      return null;
    }
    if ('retire' in placement) {
      // One at a time, and only where a fresh one can follow: healthy isolates are not given up for boots that fail.
      const { booting, quarantined, retiring } = this.count();
      if (booting + quarantined + retiring === 0 && !this.#restarts.hasFailures)
        idle.find(({ id }) => id === placement.retire)?.retire();
      this.#refill();
      return null;
    }
    const isolate = idle.find(({ id }) => id === placement.use) as Isolate;
    isolate.tenant = request.tenant;
    isolate.tool = request.tool;
    // It may have been the standby.
    if (!isEager) this.#refillSoon();
    return isolate;
  }

  /** Gives up the isolate that was idle for longest, so that another fleet may boot one. False when none is idle. */
  yield(): boolean {
    const [first, ...others] = [...this.#isolates].filter(({ state }) => state === 'idle');
    if (first === undefined) return false;
    others.reduce((oldest, next) => (next.idleSince < oldest.idleSince ? next : oldest), first).retire();
    return true;
  }

  onIsolateChange(isolate: Isolate): void {
    switch (isolate.state) {
      case 'idle':
        if (this.#isSpent(isolate)) {
          isolate.retire();
          return;
        }
        // Booting alone proves nothing: it may die again before it serves.
        if (isolate.leases > 0) this.#restarts.forget();
        break;
      case 'abandoned':
        this.#owner.onIsolateEvent('isolate.abandoned', isolate.id);
        break;
      case 'gone':
        this.#isolates.delete(isolate);
        this.#actors.tell({ type: 'EXIT', isolate: isolate.id });
        break;
    }
    if (this.#closed) {
      this.#noticeEnd();
      return;
    }
    this.#review();
    // Who waits is served first: to start a thread holds the host's loop for some milliseconds.
    this.#owner.onCapacity();
    const isShort = this.#shape.isEager ? this.live < this.#shape.leases : this.#owner.waiting() > 0;
    if (isShort || this.#owner.isAwaited()) this.#refill();
    else this.#refillSoon();
  }

  onUnusedDeath(): void {
    this.#restarts.note(this.#owner.isAwaited());
  }

  onProtocolViolation(): void {
    this.#owner.onViolation();
  }

  /** Ends every isolate; resolves when all exits were seen or the time is up. Idempotent only in effect. */
  async close(withinMs: number): Promise<IsolateInfo[]> {
    const { clock } = this.#config;
    const deadline = clock.now() + withinMs;
    this.#closed = true;
    this.#restarts.end();
    if (this.#spare !== null) clock.clearTimeout(this.#spare);
    for (const isolate of [...this.#isolates]) {
      if (isolate.state === 'leased' || isolate.state === 'resetting') isolate.condemn();
      else isolate.retire();
      isolate.hurryKill(withinMs);
    }
    const ended = new Promise<void>((resolve) => {
      this.#onAllEnded = resolve;
    });
    this.#noticeEnd();
    await settlesWithin(clock, withinMs, ended);
    // With an abandoned thread the pool's own end would not come: nothing is left to wait for.
    await this.#shape.source.close(this.#isolates.size > 0 ? 0 : Math.max(0, deadline - clock.now()));
    return [...this.#isolates].map(({ id, kind, state, leases }) => ({ id, kind, state, leases }));
  }

  /** Somebody waits for isolates now: what was put off is not put off any longer, and a pause holds the process. */
  hasten(): void {
    if (this.#closed) return;
    this.#restarts.hold();
    this.#refill();
  }

  /** Whether every isolate has either ended or been given up. */
  #noticeEnd(): void {
    if ([...this.#isolates].every(({ state }) => state === 'abandoned')) this.#onAllEnded?.();
  }

  #isSpent(isolate: Isolate): boolean {
    if (isolate.leases === 0) return false;
    const spent = recycleFor(isolate.heapHistory, this.#config.recycle, isolate.leases) !== null;
    return spent || this.#shape.share === 'none';
  }

  /** Only the standby is missing: it can wait until what was just granted has had its answer. */
  #refillSoon(): void {
    if (this.#closed || this.#spare !== null || this.live >= this.#target) return;
    this.#spare = this.#config.clock.setTimeout(
      () => {
        this.#spare = null;
        this.#refill();
      },
      STANDBY_DELAY_MS,
      false,
    );
  }

  #refill(): void {
    try {
      this.fill();
    } catch (error) {
      if (!isLeaseholdError(error)) throw error;
      this.onUnusedDeath();
    }
  }

  #review(): void {
    const { abandoned } = this.count();
    const reason = this.#restarts.isOverLimit
      ? 'isolates die before they serve'
      : abandoned > this.#config.maxAbandoned
        ? 'too many isolates are abandoned'
        : null;
    if (reason === this.#impairment) return;
    this.#impairment = reason;
    this.#owner.onImpairment();
  }
}
