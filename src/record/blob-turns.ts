/**
 * Turns: work on one thing is done one after the other, in the order it came; work on different things at once.
 *
 * Invariant: a failure ends its own turn only; nothing is remembered of a thing nobody works on.
 * Deliberately absent: any hold over other processes.
 */
export class BlobTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(thing) ?? Promise.resolve()).then(work, work);
    this.#last.set(thing, turn);
    const leave = (): void => {
      if (this.#last.get(thing) === turn) this.#last.delete(thing);
    };
    turn.then(leave, leave);
    return turn;
  }
}
