/**
 * Sweep: ends what a run left behind, and verifies that nothing is left.
 *
 * Invariants: bounded by `withinMs`, after which nothing more is signalled; each process is compared with what was seen
 * right before its signal; what cannot be verified is never called clean. Deliberately absent: the leader's own end, and
 * processes that left the group, the session, the marker and the pipes behind: none can find those.
 */
import { type Clock, settlesWithin, type Timer } from '../model/time.ts';
import type { ProcessBackend, Survivor } from './backend.ts';
import type { ProcessGroup } from './group.ts';
import { type AfterPoll, afterPoll as nextPoll } from './poll.ts';

/** `swept`: some were found, and are verifiably gone. `unverified`: there is no way to look, and nothing speaks against. */
export type Verdict = 'clean' | 'swept' | 'unverified' | 'contaminated';

export interface SweepReport {
  readonly verdict: Verdict;
  /** Pids of those that were alive and were killed here, not with their group. */
  readonly killed: readonly number[];
  /** Who held a pipe at the first look, as `name (pid)`. */
  readonly holders: readonly string[];
  /** Why it is contaminated, in words; null otherwise. */
  readonly reason: string | null;
}

/** Of a run that needs no search: its group is gone, and nobody holds its pipes. */
export const NOTHING_FOUND: SweepReport = Object.freeze({ verdict: 'clean', killed: [], holders: [], reason: null });

export interface SweepTarget {
  readonly backend: ProcessBackend;
  readonly group: ProcessGroup;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly withinMs: number;
  /** Whether both streams have ended, and so nobody holds a pipe; null when nobody reads any more, and the look alone decides. */
  readonly isRead: (() => boolean) | null;
  readonly afterPoll?: AfterPoll;
}

/** The first pause between looks, for what was killed to die; each is twice the one before. Milliseconds. */
const PAUSE_MS = 10;

/** How many are named; the rest is a number. */
const MOST_NAMES = 8;

/** `name (pid)` of those that hold a pipe. */
export function holdersAmong(survivors: readonly Survivor[]): string[] {
  return survivors.filter(({ holdsPipe }) => holdsPipe).map(nameOf);
}
function nameOf({ name, pid }: Survivor): string {
  return `${name} (${pid})`;
}
/** The names of the first of them, in one text. */
export function namesOf(survivors: readonly Survivor[]): string {
  return survivors.slice(0, MOST_NAMES).map(nameOf).join(', ');
}

/** Looks once without signalling; null without a way to look, or when the look failed or took longer than `withinMs`. */
export async function lookWithin(target: SweepTarget): Promise<readonly Survivor[] | null> {
  const seen: { survivors: readonly Survivor[] | null } = { survivors: null };
  const looked = target.backend.look(target.group.leader, target.isRead?.() === true).then(
    (survivors) => {
      seen.survivors = survivors;
    },
    () => undefined,
  );
  const isInTime = await settlesWithin(target.clock, target.withinMs, looked);
  return isInTime ? seen.survivors : null;
}

/** Kills and looks until nothing of the run is left, or the time is over. Never rejects. */
export async function sweep(target: SweepTarget): Promise<SweepReport> {
  const search = new Search(target);
  const isInTime = await settlesWithin(target.clock, target.withinMs, search.run());
  return search.close(isInTime);
}

class Search {
  readonly #target: SweepTarget;
  readonly #killed = new Set<number>();
  #holders: readonly string[] | null = null;
  #left: readonly Survivor[] = [];
  #isRefused = false;
  #verdict: Verdict | null = null;
  #reason = 'the look for processes of the run did not end in time';
  #isClosed = false;
  #timer: Timer | null = null;

  constructor(target: SweepTarget) {
    this.#target = target;
  }

  /** Never rejects. */
  async run(): Promise<void> {
    try {
      await this.#search();
    } catch {
      this.#condemn('the look for processes of the run failed');
    }
  }

  async #search(): Promise<void> {
    const { backend, group, isRead } = this.#target;
    for (let pauseMs = PAUSE_MS; !this.#isClosed; pauseMs *= 2) {
      const found = await backend.look(group.leader, isRead?.() === true);
      if (this.#isClosed) return;
      this.#holders ??= holdersAmong(found ?? []);
      this.#left = found ?? [];
      for (const survivor of this.#left) this.#kill(survivor);
      if (this.#left.length === 0 && (await this.#isWitnessed())) {
        this.#conclude(found !== null);
        return;
      }
      // One look can miss what was born or changed meanwhile, and what was killed takes its time to die.
      if (!this.#isClosed) await this.#pause(pauseMs);
    }
  }

  /** After this nothing is signalled. */
  close(isInTime: boolean): SweepReport {
    this.#isClosed = true;
    if (this.#timer !== null) this.#target.clock.clearTimeout(this.#timer);
    if (!isInTime && this.#holders !== null) this.#condemn(this.#rest());
    const verdict = this.#verdict ?? 'contaminated';
    return {
      verdict,
      killed: [...this.#killed],
      holders: this.#holders ?? [],
      reason: verdict === 'contaminated' ? this.#reason : null,
    };
  }

  /** What speaks against it when the time is over. */
  #rest(): string {
    if (this.#left.length === 0) return 'a pipe of the run is held by a process that cannot be seen';
    const names = namesOf(this.#left);
    if (this.#left.every(({ isForeign }) => isForeign)) return `a pipe of the run is held by ${names}`;
    return this.#isRefused ? `not permitted to end ${names}` : `still alive: ${names}`;
  }

  #kill(survivor: Survivor): void {
    if (survivor.isForeign) return;
    const { backend, group } = this.#target;
    const reach = backend.kill(survivor);
    if (reach === 'sent' && !(survivor.isMember && group.wasKilled)) this.#killed.add(survivor.pid);
    if (reach === 'refused') this.#isRefused = true;
  }

  /** Whether the ends of the pipes say as well that nothing is left. */
  async #isWitnessed(): Promise<boolean> {
    const { isRead, afterPoll = nextPoll } = this.#target;
    if (isRead === null) return true;
    if (!isRead()) await new Promise<void>((resume) => afterPoll(resume));
    return isRead();
  }

  #conclude(hasLooked: boolean): void {
    if (hasLooked) this.#verdict = this.#killed.size > 0 ? 'swept' : 'clean';
    else if (this.#target.group.state === 'alive') this.#condemn('the group of the run is alive');
    else this.#verdict = 'unverified';
  }

  #condemn(reason: string): void {
    this.#verdict = 'contaminated';
    this.#reason = reason;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      this.#timer = this.#target.clock.setTimeout(resume, ms);
    });
  }
}
