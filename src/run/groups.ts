/**
 * Groups: what became of the requests that joined a name, counted as they go.
 *
 * Invariants: a request joins by its own option and never otherwise; a group whose members live is never forgotten, and of those
 * that have settled the latest thousand are kept. Deliberately absent: results. They are the callers' own.
 */
import type { Event, Observer } from '../model/event.ts';
import { textOr } from '../model/option-checks.ts';
import type { RunResult } from '../model/result.ts';
import { STATUSES, type Status } from '../model/stop.ts';

/** How many groups without a living member are remembered. */
export const MAX_SETTLED_GROUPS = 1_000;

/** The counts of one group, since it was last empty and forgotten. */
export interface GroupStatistics {
  /** Requests that have ended, by status. */
  readonly requests: Readonly<Record<Status, number>>;
  /** Attempts that have ended. */
  readonly attempts: number;
  /** Members without an isolate: on their way into the queue, in it, or between two attempts. */
  readonly waiting: number;
  /** Members whose attempt was granted an isolate and has not ended. */
  readonly running: number;
  /** `timing.totalMs` of the ended requests. Null when there is none. */
  readonly times: {
    readonly count: number;
    readonly sumMs: number;
    readonly minMs: number | null;
    readonly maxMs: number | null;
  };
}

/** Requests that joined by `options.group`, of whatever scope. A name that nobody joined is a group of none. */
export interface Group {
  readonly name: string;
  /** Of the group as it stands: zeros when nobody joined, or when it has settled and a thousand others have since. */
  statistics(): GroupStatistics;
  /** Resolves with its counts once no member lives; at once when none does. */
  untilSettled(): Promise<GroupStatistics>;
}

/** The counts of one group, as an observer of its members. */
class Tally implements Observer {
  readonly #onSettled: () => void;
  readonly #members = new Map<string, 'waiting' | 'running'>();
  readonly #ended = zeros();
  #attempts = 0;
  #sumMs = 0;
  #minMs: number | null = null;
  #maxMs: number | null = null;
  #count = 0;
  #hopeful: ((statistics: GroupStatistics) => void)[] = [];

  constructor(onSettled: () => void) {
    this.#onSettled = onSettled;
  }

  onEvent(event: Event): void {
    switch (event.type) {
      case 'request.started':
      case 'lease.queued':
        this.#members.set(event.requestId, 'waiting');
        break;
      case 'lease.granted':
        this.#members.set(event.requestId, 'running');
        break;
      case 'attempt.ended':
        this.#attempts += 1;
        this.#members.set(event.requestId, 'waiting');
        break;
      case 'request.ended':
        this.#end(event.requestId, event.result);
    }
  }

  statistics(): GroupStatistics {
    const running = [...this.#members.values()].filter((state) => state === 'running').length;
    const times = { count: this.#count, sumMs: this.#sumMs, minMs: this.#minMs, maxMs: this.#maxMs };
    return Object.freeze({
      requests: Object.freeze({ ...this.#ended }),
      attempts: this.#attempts,
      waiting: this.#members.size - running,
      running,
      times: Object.freeze(times),
    });
  }

  untilSettled(): Promise<GroupStatistics> {
    if (this.#members.size === 0) return Promise.resolve(this.statistics());
    return new Promise((resolve) => this.#hopeful.push(resolve));
  }

  #end(requestId: string, { status, timing: { totalMs } }: RunResult): void {
    this.#members.delete(requestId);
    this.#ended[status] += 1;
    this.#count += 1;
    this.#sumMs += totalMs;
    this.#minMs = Math.min(this.#minMs ?? totalMs, totalMs);
    this.#maxMs = Math.max(this.#maxMs ?? totalMs, totalMs);
    if (this.#members.size > 0) return;
    this.#onSettled();
    const hopeful = this.#hopeful;
    this.#hopeful = [];
    for (const resolve of hopeful) resolve(this.statistics());
  }
}

export class Groups {
  readonly #tallies = new Map<string, Tally>();
  /** Those without a living member, the one that settled first first. */
  readonly #settled = new Set<string>();

  /** Who is to hear of a request that joins. */
  join(name: string): Observer {
    this.#settled.delete(name);
    let tally = this.#tallies.get(name);
    if (tally === undefined) {
      tally = new Tally(() => this.#settle(name));
      this.#tallies.set(name, tally);
    }
    return tally;
  }

  /** @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
  named(name: string): Group {
    const known = textOr('name', name ?? null, '');
    const tally = () => this.#tallies.get(known) ?? NOBODY;
    return Object.freeze({
      name: known,
      statistics: () => tally().statistics(),
      untilSettled: () => tally().untilSettled(),
    });
  }

  #settle(name: string): void {
    this.#settled.add(name);
    if (this.#settled.size <= MAX_SETTLED_GROUPS) return;
    const [first = name] = this.#settled;
    this.#settled.delete(first);
    this.#tallies.delete(first);
  }
}

function zeros(): Record<Status, number> {
  return Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
}
const NOBODY = new Tally(() => undefined);
