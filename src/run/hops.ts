/**
 * Hops: what an HTTP tool asks the authorizer on its way, while its lease runs.
 *
 * Invariants: nothing but a yes lets a hop go; the first no is kept and decides the request, whatever the tool does with it;
 * a stop, or the end of the lease, ends the wait and is no answer. Deliberately absent: the call of the authorizer, which
 * is the request's.
 */
import { CancelledError, DeniedError } from '../model/errors.ts';
import type { Denial, Ruling } from '../model/ruling.ts';
import type { Clock } from '../model/time.ts';
import type { Hop } from '../model/work.ts';
import type { Redactor } from '../output/redaction.ts';
import { isDue } from '../scope/budget.ts';
import type { Attempt } from './attempt.ts';

/** Answers within the time that is left; a wait that somebody ended answers no. */
type Ask = (hop: Hop, leftMs: number) => Ruling | Promise<Ruling>;

export class Hops {
  denial: Denial | null = null;
  readonly #attempt: Attempt;
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  readonly #ask: Ask;

  constructor(attempt: Attempt, clock: Clock, redactor: Redactor, ask: Ask) {
    this.#attempt = attempt;
    this.#clock = clock;
    this.#redactor = redactor;
    this.#ask = ask;
  }

  /** @throws (rejects with) DeniedError `ERR_LEASEHOLD_DENIED`; CancelledError when a stop came first, which is no denial */
  async authorize(hop: Hop): Promise<void> {
    const leftMs = this.#timeLeft();
    const ruling = await this.#ask(hop, leftMs);
    this.#timeLeft();
    if (ruling.allowed) return;
    this.denial ??= ruling;
    const { message, truncated } = ruling;
    throw new DeniedError('DENIED', this.#redactor.text(message, { end: truncated }));
  }

  /**
   * Milliseconds until a stop. @throws when the lease is over, or stopped. A deadline whose timer has not fired yet is entered
   * before the tool hears of it, so that what the tool then throws is known to be the stop's own.
   */
  #timeLeft(): number {
    const { lease, ledger } = this.#attempt;
    this.#attempt.catchUp();
    const now = this.#clock.now();
    const deadline = ledger.earliest();
    if (deadline !== undefined && isDue(deadline, now)) this.#attempt.stop(deadline);
    if (lease.ended) throw new DeniedError('DENIED', 'The lease that this hop belongs to is over.');
    // An abort error without a cause, as the stop's own are.
    if (ledger.stops.length > 0) throw new CancelledError('CANCELLED', 'A stop came before the hop was allowed.');
    return deadline === undefined ? Number.POSITIVE_INFINITY : deadline.atMs - now;
  }
}
