/**
 * Queue: requests that wait for an isolate, in strict order of arrival.
 *
 * Invariants: the first in line is served first, also when a later one could be placed; one whose isolate was lost keeps its
 * place; whatever frees capacity is followed by `dispatch`. Deliberately absent: who may enter (`decide/admission.ts`), and
 * where isolates come from.
 */
import type { Isolate } from '../isolate/isolate.ts';

/** Who waits in line, and what its placement depends on. */
export interface Waiting {
  readonly tenant: string;
  readonly tool: string;
  /** An instant of the clock. */
  readonly since: number;
  grant(isolate: Isolate): void;
}

export class Queue {
  readonly #hasRoomFor: (depth: number) => boolean;
  readonly #acquire: (waiting: Waiting) => Isolate | null;
  readonly #line = new Set<Waiting>();
  /** Those that were granted an isolate and lost it, before all others. */
  readonly #returned = new Set<Waiting>();
  #arriving = 0;
  #dispatching = false;
  #hopeful: (() => void)[] = [];

  constructor(hasRoomFor: (depth: number) => boolean, acquire: (waiting: Waiting) => Isolate | null) {
    this.#hasRoomFor = hasRoomFor;
    this.#acquire = acquire;
  }

  /** Everything that is not yet leased, from the call on. */
  get depth(): number {
    return this.#line.size + this.#returned.size + this.#arriving;
  }
  /** Since when the first in line waits; null when nobody does. */
  get oldestSince(): number | null {
    return this.#first()?.since ?? null;
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

  /** An expected request joins the line, or is granted an isolate at once when nobody is before it. */
  enter(waiting: Waiting): void {
    this.#arriving -= 1;
    const isolate = this.#dispatching || this.#first() !== undefined ? null : this.#acquire(waiting);
    if (isolate === null) this.#line.add(waiting);
    else {
      waiting.grant(isolate);
      this.#notice();
    }
  }
  /** Back to the head of the line. */
  enterAgain(waiting: Waiting): void {
    this.#returned.add(waiting);
    this.dispatch();
  }
  leave(waiting: Waiting): void {
    if (this.#line.delete(waiting) || this.#returned.delete(waiting)) this.#notice();
  }

  /** Grants what can be granted. A grant may end at once and free its isolate again; the loop takes that up. */
  dispatch(): void {
    if (this.#dispatching) return;
    this.#dispatching = true;
    try {
      for (let next = this.#first(); next !== undefined; next = this.#first()) {
        const isolate = this.#acquire(next);
        if (isolate === null) break;
        this.#line.delete(next);
        this.#returned.delete(next);
        next.grant(isolate);
      }
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

  #first(): Waiting | undefined {
    return this.#returned.values().next().value ?? this.#line.values().next().value;
  }
  #hasRoom(): boolean {
    return this.#hasRoomFor(this.depth);
  }
  #notice(): void {
    if (this.#hopeful.length > 0 && this.#hasRoom()) this.release();
  }
}
