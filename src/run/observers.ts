/**
 * Observers: who hears the events of one supervisor, and the stamp each event gets.
 *
 * Invariants: events are frozen, numbered and in order, also when an observer starts something from within one; an observer
 * that throws is told once, through a diagnostic of its request or else of the next result, and hears no more. Nothing is built when nobody listens.
 * Deliberately absent: what the events say, and what groups and channels make of them.
 */
import type { Event, Observer, RequestEvent, SupervisorEvent } from '../model/event.ts';
import type { Clock } from '../model/time.ts';
import { toFailure } from '../wire/failure.ts';
import { Channels } from './channels.ts';
import { Groups } from './groups.ts';

type WithoutStamp<E> = E extends unknown ? Omit<E, 'seq' | 'at'> : never;
export type UnstampedEvent = WithoutStamp<RequestEvent> | WithoutStamp<SupervisorEvent>;

interface Delivery {
  readonly event: Event;
  readonly hearers: readonly Observer[];
  readonly onThrow: (error: unknown) => void;
}

/** What a request says of who is to hear of it. */
interface Hearing {
  readonly observers: readonly Observer[];
  readonly group: string | null;
}

export class Observers {
  readonly groups = new Groups();
  readonly #channels = new Channels();
  readonly #clock: Clock;
  readonly #own: readonly Observer[];
  readonly #dropped = new WeakSet<Observer>();
  readonly #waiting: Delivery[] = [];
  #left: string[] = [];
  #seq = 0;
  #delivering = false;

  constructor(clock: Clock, own: readonly Observer[]) {
    this.#clock = clock;
    this.#own = own;
  }

  /** Who hears of a request: observers of the supervisor, of its scope and its own, in that order. Empty when nobody listens. */
  with(scope: readonly Observer[], { observers, group }: Hearing): readonly Observer[] {
    const isChannelled = this.#channels.hearsRequests;
    if (scope.length === 0 && observers.length === 0 && group === null && !isChannelled) return this.#own;
    const counting = group === null ? NOBODY : [this.groups.join(group)];
    return [...this.#own, ...scope, ...observers, ...counting, ...(isChannelled ? [this.#channels] : NOBODY)];
  }

  /** Tells the supervisor's own observers. */
  tell(event: UnstampedEvent): void {
    const hearers = this.#channels.hearsSupervisors ? [...this.#own, this.#channels] : this.#own;
    if (hearers.length > 0) this.tellAll(hearers, event, (error) => this.leave(brokenObserver(error)));
  }

  /** Tells `hearers` in order; an event caused by a hearer comes after this one for everybody. */
  tellAll(hearers: readonly Observer[], event: UnstampedEvent, onThrow: (error: unknown) => void): void {
    this.#seq += 1;
    const stamped = Object.freeze({ seq: this.#seq, at: this.#clock.wall(), ...event }) as Event;
    this.#waiting.push({ event: stamped, hearers, onThrow });
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#deliver(next);
    } finally {
      this.#delivering = false;
    }
  }

  /** Keeps words for the diagnostics of the next result: no other can hold them any more. */
  leave(message: string): void {
    this.#left.push(message);
  }
  takeLeft(): readonly string[] {
    const left = this.#left;
    if (left.length > 0) this.#left = [];
    return left;
  }

  #drop(hearer: Observer, error: unknown, onThrow: Delivery['onThrow']): void {
    if (this.#dropped.has(hearer)) return;
    this.#dropped.add(hearer);
    onThrow(error);
  }

  #deliver({ event, hearers, onThrow }: Delivery): void {
    for (const hearer of hearers) {
      if (this.#dropped.has(hearer)) continue;
      try {
        const returned: unknown = hearer.onEvent(event);
        // An asynchronous one is not waited for, but its rejection is not to end the host.
        if (returned instanceof Promise) returned.catch((error: unknown) => this.#drop(hearer, error, onThrow));
      } catch (error) {
        this.#drop(hearer, error, onThrow);
      }
    }
  }
}

const NOBODY: readonly never[] = Object.freeze([]);

/** What a diagnostic says of an observer that threw. */
export function brokenObserver(error: unknown): string {
  return `An observer threw and hears no more: ${toFailure(error, 'TOOL_ERROR').message}`;
}
