/**
 * Queue: requests that wait for an isolate, in strict order of arrival.
 *
 * Invariants: the first of a lane is served first, also when a later one of it could be placed; lanes do not wait for one another, and
 * what they share goes to the one that waits longest; one whose isolate was lost keeps its place; whatever frees capacity is followed by `dispatch`.
 * Deliberately absent: who may enter (`decide/admission.ts`), and where isolates come from.
 */
import type { Lane } from '../decide/lanes.ts';
import type { Isolate } from '../isolate/isolate.ts';

/** Who waits in line, and what its placement depends on. */
export interface Waiting {
  readonly lane: Lane;
  /** An instant of the clock. */
  readonly since: number;
  grant(isolate: Isolate): void;
}

/** Those that wait for isolates of one lane. */
class Line<W extends Waiting> {
  readonly arrived = new Set<W>();
  /** Those that were granted an isolate and lost it, before all others. */
  readonly returned = new Set<W>();

  get first(): W | undefined {
    return this.returned.values().next().value ?? this.arrived.values().next().value;
  }
  get length(): number {
    return this.arrived.size + this.returned.size;
  }
  delete(waiting: W): boolean {
    return this.arrived.delete(waiting) || this.returned.delete(waiting);
  }
}

export class Queue<W extends Waiting = Waiting> {
  readonly #hasRoomFor: (depth: number) => boolean;
  readonly #acquire: (waiting: W) => Isolate | null;
  /** None is empty. */
  readonly #lines = new Map<Lane, Line<W>>();
  #arriving = 0;
  #dispatching = false;
  /** Somebody joined a line while it was dispatched. */
  #joined = false;
  #hopeful: (() => void)[] = [];

  constructor(hasRoomFor: (depth: number) => boolean, acquire: (waiting: W) => Isolate | null) {
    this.#hasRoomFor = hasRoomFor;
    this.#acquire = acquire;
  }

  /** Everything that is not yet leased, from the call on. */
  get depth(): number {
    let depth = this.#arriving;
    for (const line of this.#lines.values()) depth += line.length;
    return depth;
  }
  /** Since when the one that waits longest waits; null when nobody does. */
  get oldestSince(): number | null {
    let oldest: number | null = null;
    for (const { first } of this.#lines.values()) {
      if (first !== undefined && (oldest === null || first.since < oldest)) oldest = first.since;
    }
    return oldest;
  }

  /** How many wait for isolates of this lane. */
  waiting(lane: Lane): number {
    return this.#lines.get(lane)?.length ?? 0;
  }

  /** How many wait for isolates of other lanes, of those that `counts`. */
  waitingElsewhere(lane: Lane, counts: (other: Lane) => boolean = () => true): number {
    let waiting = 0;
    for (const [other, line] of this.#lines) if (other !== lane && counts(other)) waiting += line.length;
    return waiting;
  }

  /** How many lanes somebody waits in. */
  get lanes(): number {
    return this.#lines.size;
  }

  /** A request was made that is not in line yet. */
  expect(): void {
    this.#arriving += 1;
  }
  /** It will not come. */
  giveUp(): void {
    this.#arriving -= 1;
    this.#notice();
  }

  /** An expected request joins its line, or is granted an isolate at once when nobody is before it. */
  enter(waiting: W): void {
    this.#arriving -= 1;
    const isolate = this.#dispatching || this.#lines.has(waiting.lane) ? null : this.#acquire(waiting);
    if (isolate === null) {
      this.#lineOf(waiting).arrived.add(waiting);
      this.#joined = true;
    } else {
      waiting.grant(isolate);
      this.#notice();
    }
  }
  /** Back to the head of its line. */
  enterAgain(waiting: W): void {
    this.#lineOf(waiting).returned.add(waiting);
    this.#joined = true;
    this.dispatch();
  }
  leave(waiting: W): void {
    if (this.#delete(waiting)) this.#notice();
  }

  /** Grants what can be granted. A grant may end at once and free its isolate again; the loop takes that up. */
  dispatch(): void {
    if (this.#dispatching) return;
    this.#dispatching = true;
    try {
      do {
        this.#joined = false;
        const served = new Set<Line<W>>();
        for (let line = this.#eldest(served); line !== null; line = this.#eldest(served)) {
          const first = line.first as W;
          const isolate = this.#acquire(first);
          if (isolate === null) served.add(line);
          else {
            this.#delete(first);
            first.grant(isolate);
          }
        }
      } while (this.#joined);
    } finally {
      this.#dispatching = false;
    }
    this.#notice();
  }

  /** Resolves once there is room in the queue, or when `release` is called. */
  untilCapacity(): Promise<void> {
    if (this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => this.#hopeful.push(resolve));
  }
  /** Lets everybody go who waits for room: there will be none. */
  release(): void {
    const released = this.#hopeful;
    this.#hopeful = [];
    for (const resolve of released) resolve();
  }

  /** The line whose first waits longest, without those that have been served as far as they can be. */
  #eldest(served: ReadonlySet<Line<W>>): Line<W> | null {
    let eldest: Line<W> | null = null;
    for (const line of this.#lines.values()) {
      if (line.first === undefined || served.has(line)) continue;
      if (eldest?.first === undefined || line.first.since < eldest.first.since) eldest = line;
    }
    return eldest;
  }

  #delete(waiting: W): boolean {
    const line = this.#lines.get(waiting.lane);
    if (line === undefined || !line.delete(waiting)) return false;
    if (line.first === undefined) this.#lines.delete(waiting.lane);
    return true;
  }
  #lineOf({ lane }: W): Line<W> {
    let line = this.#lines.get(lane);
    if (line === undefined) {
      line = new Line<W>();
      this.#lines.set(lane, line);
    }
    return line;
  }
  #hasRoom(): boolean {
    return this.#hasRoomFor(this.depth);
  }
  #notice(): void {
    if (this.#hopeful.length > 0 && this.#hasRoom()) this.release();
  }
}
