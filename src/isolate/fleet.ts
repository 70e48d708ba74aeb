/**
 * Fleet: all isolates of one supervisor: booted ahead, leased, replaced, retired.
 *
 * Invariants: no more isolates are held than `isolates`; those that live are kept at `isolates + standby` as far as the
 * limit on threads allows, counting the ones that have not died yet; a condemned isolate's slot is free at once.
 * Deliberately absent: the queue, and what runs on an isolate.
 */
import type { IsolateState } from '../../machines/index.ts';
import { judge, recycleFor } from '../decide/condemn.ts';
import { place } from '../decide/placement.ts';
import { restartDecision } from '../decide/restart.ts';
import { isLeaseholdError } from '../model/errors.ts';
import type { SupervisorConfig } from '../model/options.ts';
import type { FindingKind } from '../model/result.ts';
import { settlesWithin, type Timer } from '../model/time.ts';
import type { ActorTree } from './actor-tree.ts';
import { Isolate, type Keeper } from './isolate.ts';
import type { TenureSource } from './tenure.ts';

/** Who is told of the fleet's changes. */
export interface FleetOwner {
  /** Capacity may have changed. */
  onCapacity(): void;
  onViolation(): void;
  onIsolateEvent(type: 'isolate.replaced' | 'isolate.abandoned', isolate: string): void;
  /** A reason to refuse admission, or null when there is none any more. */
  onImpairment(reason: string | null): void;
  /** Whether somebody waits for isolates to boot: a wait before the next boot then holds the process open. */
  isAwaited(): boolean;
}

/** What is known of an isolate that outlived its kill. */
export interface IsolateInfo {
  readonly id: string;
  readonly kind: 'thread';
  readonly state: IsolateState;
  readonly leases: number;
}

/** How long a missing standby may wait for its boot. Milliseconds. */
const STANDBY_DELAY_MS = 25;

export class Fleet implements Keeper {
  readonly #config: SupervisorConfig;
  readonly #source: TenureSource;
  readonly #actors: ActorTree;
  readonly #owner: FleetOwner;
  readonly #isolates = new Set<Isolate>();
  #failures: number[] = [];
  #impairment: string | null = null;
  #retry: Timer | null = null;
  #retryAt = 0;
  #ageing: Timer | null = null;
  #spare: Timer | null = null;
  #booted = 0;
  #closed = false;
  #onAllEnded: (() => void) | null = null;

  /** Whether a finding of this kind condemns, by the policy of the supervisor. */
  readonly #condemns = (kind: FindingKind): boolean =>
    judge([{ kind }], this.#config.health.condemn).some(({ condemns }) => condemns);

  constructor(config: SupervisorConfig, source: TenureSource, actors: ActorTree, owner: FleetOwner) {
    this.#config = config;
    this.#source = source;
    this.#actors = actors;
    this.#owner = owner;
  }

  /** How many isolates were made beyond the first set. */
  get replacements(): number {
    return Math.max(0, this.#booted - this.#target);
  }
  get #target(): number {
    return this.#config.isolates + this.#config.standby;
  }

  count(): Readonly<Record<IsolateState, number>> {
    const counts = { booting: 0, idle: 0, leased: 0, resetting: 0, quarantined: 0, retiring: 0, abandoned: 0, gone: 0 };
    for (const { state } of this.#isolates) counts[state] += 1;
    return counts;
  }

  /** How many leases could be granted now. */
  get free(): number {
    const { idle, leased, resetting } = this.count();
    return Math.max(0, Math.min(idle, this.#config.isolates - leased - resetting));
  }

  /** Whether all isolates and the standby are up. */
  get isFull(): boolean {
    const { idle, leased, resetting } = this.count();
    return idle + leased + resetting >= this.#target;
  }

  /** Boots what is missing. @throws LeaseholdError `ERR_LEASEHOLD_ENTRY_MISSING` */
  fill(): void {
    if (this.#closed || this.#retry !== null) return;
    const { maxAbandoned, defaults, clock } = this.#config;
    const most = this.#target + maxAbandoned;
    const { booting, idle, leased, resetting } = this.count();
    for (let live = booting + idle + leased + resetting; live < this.#target && this.#isolates.size < most; live += 1) {
      const tenure = this.#source.open(defaults.bootMs);
      const setting = { clock, killMs: defaults.killMs, actors: this.#actors, keeper: this, condemns: this.#condemns };
      const isolate = new Isolate(setting, tenure);
      this.#isolates.add(isolate);
      this.#booted += 1;
      if (this.#booted > this.#target) this.#owner.onIsolateEvent('isolate.replaced', isolate.id);
    }
  }

  /** An idle isolate for a request, or null: then the request waits for `onCapacity`. */
  acquire(request: { readonly tenant: string; readonly tool: string }): Isolate | null {
    const idle: Isolate[] = [];
    let held = 0;
    for (const isolate of this.#isolates) {
      const { state } = isolate;
      if (state === 'idle') idle.push(isolate);
      else if (state === 'leased' || state === 'resetting') held += 1;
    }
    if (this.#closed || held >= this.#config.isolates) return null;
    const placement = place(request, idle, this.#config.share);
    if (placement === null) return null;
    if ('retire' in placement) {
      // One at a time, and only where a fresh one can follow: healthy isolates are not given up for boots that fail.
      const { booting, quarantined, retiring } = this.count();
      const canFollow = booting + quarantined + retiring === 0 && this.#failures.length === 0;
      if (canFollow) idle.find(({ id }) => id === placement.retire)?.retire();
      this.#refill();
      return null;
    }
    const isolate = idle.find(({ id }) => id === placement.use) as Isolate;
    isolate.tenant = request.tenant;
    isolate.tool = request.tool;
    return isolate;
  }

  onIsolateChange(isolate: Isolate): void {
    switch (isolate.state) {
      case 'idle':
        if (this.#isSpent(isolate)) {
          isolate.retire();
          return;
        }
        // Booting alone proves nothing: it may die again before it serves.
        if (isolate.leases > 0) this.#failures = [];
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
    const { booting, idle, leased, resetting } = this.count();
    const isShort = booting + idle + leased + resetting < this.#config.isolates;
    if (isShort || this.#owner.isAwaited()) this.#refill();
    else this.#refillSoon();
  }

  onUnusedDeath(): void {
    const { clock, restart } = this.#config;
    const now = clock.now();
    this.#failures = [...this.#failures.filter((at) => now - at < restart.withinMs), now];
    const { delayMs } = restartDecision(this.#failures, now, restart);
    if (delayMs > 0) this.#pause(delayMs);
  }

  onProtocolViolation(): void {
    this.#owner.onViolation();
  }

  /** Ends every isolate; resolves when all exits were seen or the time is up. Idempotent only in effect. */
  async close(withinMs: number): Promise<IsolateInfo[]> {
    const { clock } = this.#config;
    const deadline = clock.now() + withinMs;
    this.#closed = true;
    for (const timer of [this.#retry, this.#ageing, this.#spare]) if (timer !== null) clock.clearTimeout(timer);
    this.#retry = null;
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
    await this.#source.close(this.#isolates.size > 0 ? 0 : Math.max(0, deadline - clock.now()));
    return [...this.#isolates].map(({ id, kind, state, leases }) => ({ id, kind, state, leases }));
  }

  /** Whether every isolate has either ended or been given up. */
  #noticeEnd(): void {
    if ([...this.#isolates].every(({ state }) => state === 'abandoned')) this.#onAllEnded?.();
  }

  #isSpent(isolate: Isolate): boolean {
    if (isolate.leases === 0) return false;
    const { recycle, share } = this.#config;
    return share === 'none' || recycleFor(isolate.heapHistory, recycle, isolate.leases) !== null;
  }

  /**
   * Waits before the next boot: what dies at once would otherwise be started for ever. Whoever waits meanwhile for isolates
   * is waited for: the timer then holds the process.
   */
  #pause(delayMs: number): void {
    if (this.#retry !== null || this.#closed) return;
    this.#retryAt = this.#config.clock.now() + delayMs;
    this.#retry = this.#config.clock.setTimeout(() => this.#endPause(), delayMs, this.#owner.isAwaited());
  }
  #endPause(): void {
    this.#retry = null;
    this.#review();
    this.#refill();
  }

  /** Somebody waits for isolates now: what was put off is not put off any longer, and a pause holds the process. */
  hasten(): void {
    if (this.#closed) return;
    const { clock } = this.#config;
    if (this.#retry !== null) {
      clock.clearTimeout(this.#retry);
      this.#retry = clock.setTimeout(() => this.#endPause(), Math.max(0, this.#retryAt - clock.now()));
    }
    this.#refill();
  }

  /** Only the standby is missing: it can wait until what was just granted has had its answer. */
  #refillSoon(): void {
    if (this.#spare !== null || this.count().idle >= this.#target) return;
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

  /** Failures age out without anything happening: somebody has to look. */
  #reviewAgain(withinMs: number): void {
    if (this.#ageing !== null) return;
    this.#ageing = this.#config.clock.setTimeout(
      () => {
        this.#ageing = null;
        const now = this.#config.clock.now();
        this.#failures = this.#failures.filter((at) => now - at < withinMs);
        this.#review();
        this.#refill();
      },
      withinMs,
      false,
    );
  }

  #review(): void {
    const { clock, restart, maxAbandoned } = this.#config;
    const { abandoned } = this.count();
    const reason = restartDecision(this.#failures, clock.now(), restart).degraded
      ? 'isolates die before they serve'
      : abandoned > maxAbandoned
        ? 'too many isolates are abandoned'
        : null;
    if (this.#failures.length > 0) this.#reviewAgain(restart.withinMs);
    if (reason === this.#impairment) return;
    this.#impairment = reason;
    this.#owner.onImpairment(reason);
  }
}
