/**
 * ProcessGroup: the group of one leader, as long as its id is known to be its own.
 *
 * Invariant: once the platform said that the group is gone it is never signalled or asked for again, since its id may be
 * given anew. Deliberately absent: members that left the group; `sweep.ts` looks for those.
 */
import type { GroupSignal, GroupState, Leader, ProcessBackend } from './backend.ts';

export class ProcessGroup {
  readonly leader: Leader;
  readonly #backend: ProcessBackend;
  #isGone = false;
  #wasKilled = false;

  constructor(backend: ProcessBackend, leader: Leader) {
    this.#backend = backend;
    this.leader = leader;
  }

  /** In this order, until one finds nobody. */
  signal(...signals: readonly GroupSignal[]): void {
    for (const signal of signals) {
      if (this.#isGone) return;
      this.#wasKilled ||= signal === 'SIGKILL';
      this.#isGone = this.#backend.signal(this.leader, signal) === 'gone';
    }
  }

  /** KILL was sent: those of its members that can still be seen are dying. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  get state(): GroupState {
    if (this.#isGone) return 'gone';
    const state = this.#backend.probe(this.leader);
    this.#isGone = state === 'gone';
    return state;
  }
}
