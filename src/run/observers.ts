/**
 * Observers: who hears the events of one supervisor, and the stamp each event gets.
 *
 * Invariants: events are frozen, numbered and in order, also when an observer starts something from within one; an observer
 * that throws is told once, through a diagnostic of its request or else of the next result, and hears no more. Nothing is built when nobody listens.
 * Deliberately absent: what the events say.
 */
import type { Event, Observer, RequestEvent, SupervisorEvent } from '../model/event.ts';
import type { Clock } from '../model/time.ts';
import { toFailure } from '../wire/failure.ts';

type WithoutStamp<E> = E extends unknown ? Omit<E, 'seq' | 'at'> : never;
export type UnstampedEvent = WithoutStamp<RequestEvent> | WithoutStamp<SupervisorEvent>;

interface Delivery {
  readonly event: Event;
  readonly hearers: readonly Observer[];
  readonly onThrow: (error: unknown) => void;
}

export class Observers {
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

  /** The supervisor's observers with further ones. Empty when nobody listens. */
  with(...further: readonly (readonly Observer[])[]): readonly Observer[] {
    return further.every(({ length }) => length === 0) ? this.#own : [...this.#own, ...further.flat()];
  }

  /** Tells the supervisor's own observers. */
  tell(event: UnstampedEvent): void {
    if (this.#own.length > 0) this.tellAll(this.#own, event, (error) => this.leave(brokenObserver(error)));
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

/** What a diagnostic says of an observer that threw. */
export function brokenObserver(error: unknown): string {
  return `An observer threw and hears no more: ${toFailure(error, 'TOOL_ERROR').message}`;
}
