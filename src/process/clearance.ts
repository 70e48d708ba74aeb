/**
 * Clearance: from the first search for what a run left to the proof that nothing of it is left.
 *
 * Invariants: the first report is told once, whatever it says; `onClear` comes once, after it, and never before a search
 * came to a verdict other than contaminated. Deliberately absent: the leader's own end, which has to be seen before, and
 * what is made of a report.
 */
import { Reaper } from './reaper.ts';
import { type SweepReport, type SweepTarget, sweep } from './sweep.ts';

/** Who hears of it. Never called from within the constructor. */
export interface ClearanceHearer {
  /** What the first search came to. */
  onSwept(report: SweepReport): void;
  /** Nothing is left, as far as can be seen. At once after `onSwept`, unless that told of contamination. */
  onClear(): void;
}

export class Clearance {
  readonly #again: SweepTarget;
  readonly #hearer: ClearanceHearer;
  #reaper: Reaper | null = null;
  #isStopped = false;

  /** Searches `first` at once; where that is contaminated, `again` each time the reaper comes back. */
  constructor(first: SweepTarget, again: SweepTarget, hearer: ClearanceHearer) {
    this.#again = again;
    this.#hearer = hearer;
    void sweep(first).then((report) => this.#onSwept(report));
  }

  /** Tells nothing from now on, and comes back no more. */
  stop(): void {
    this.#isStopped = true;
    this.#reaper?.stop();
  }

  #onSwept(report: SweepReport): void {
    if (this.#isStopped) return;
    const isClear = report.verdict !== 'contaminated';
    if (!isClear)
      this.#reaper = new Reaper(
        this.#again.clock,
        () => this.#verify(),
        () => this.#hearer.onClear(),
      );
    this.#hearer.onSwept(report);
    // Whoever hears of it may stop it.
    if (isClear && !this.#isStopped) this.#hearer.onClear();
  }

  async #verify(): Promise<boolean> {
    return (await sweep(this.#again)).verdict !== 'contaminated';
  }
}
