/**
 * Lease: an attempt's exclusive, bounded right to an isolate, as an actor with its path and its times.
 *
 * Invariants: the actor alone says the state; the path holds each state once per entry, and the times add up to the whole.
 * Deliberately absent: what makes it move. The attempt sends, the machine decides.
 */
import type { LeaseEvent } from '../../machines/index.ts';
import type { ActorTree, LeaseActor } from '../isolate/actor-tree.ts';
import { mintId } from '../model/ids.ts';
import type { LeaseState } from '../model/stop.ts';
import type { Clock } from '../model/time.ts';

export class Lease {
  readonly id = mintId('lease');
  readonly path: LeaseState[] = ['queued'];
  readonly #actor: LeaseActor;
  readonly #clock: Clock;
  readonly #spent = { queued: 0, acquired: 0, running: 0, terminating: 0, draining: 0, completed: 0, quarantined: 0 };
  #state: LeaseState = 'queued';
  #enteredAt: number;

  constructor(actors: ActorTree, clock: Clock, now: number) {
    this.#actor = actors.lease(this.id);
    this.#clock = clock;
    this.#enteredAt = now;
  }

  get state(): LeaseState {
    return this.#state;
  }
  /** When it entered its state. */
  get enteredAt(): number {
    return this.#enteredAt;
  }
  get ended(): boolean {
    return this.#state === 'completed' || this.#state === 'quarantined';
  }
  /** Milliseconds spent in each state that was left. */
  get spent(): Readonly<Record<LeaseState, number>> {
    return this.#spent;
  }

  /** Sends an event that happened at `at`; the answer is the state after it. */
  send(event: LeaseEvent, at = this.#clock.now()): LeaseState {
    this.#actor.send(event);
    const next = this.#actor.getSnapshot().value;
    if (next !== this.#state) {
      const left = Math.max(at, this.#enteredAt);
      this.#spent[this.#state] += left - this.#enteredAt;
      this.#enteredAt = left;
      this.#state = next;
      this.path.push(next);
    }
    return next;
  }
}
