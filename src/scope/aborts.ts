/**
 * Aborts: the callers' signals that the requests and scopes of one supervisor follow.
 *
 * Invariants: one listener per signal, however many follow it (Node warns beyond ten), and none when nobody does; each
 * follower hears at most once, and at once where the abort has happened already. Deliberately absent: what it stops.
 */
export class Aborts {
  readonly #followed = new WeakMap<AbortSignal, Followers>();

  /** Hears of an abort with its reason in words. Returns what ends the hearing. @throws what a foreign signal throws */
  follow(signal: AbortSignal, hear: (reason: string) => void): () => void {
    if (signal.aborted) {
      hear(wordsOf(signal.reason));
      return () => undefined;
    }
    const followers = this.#followed.get(signal) ?? this.#listen(signal);
    const follower = (reason: string) => hear(reason);
    followers.hearers.add(follower);
    return () => {
      if (!followers.hearers.delete(follower) || followers.hearers.size > 0) return;
      this.#followed.delete(signal);
      signal.removeEventListener('abort', followers.listener);
    };
  }

  #listen(signal: AbortSignal): Followers {
    const hearers: Followers['hearers'] = new Set();
    const listener = () => {
      this.#followed.delete(signal);
      const reason = wordsOf(signal.reason);
      const told = [...hearers];
      hearers.clear();
      // The newest first: an isolate that a stop frees is then not granted to one that is stopped a moment later.
      for (const hear of told.reverse()) hear(reason);
    };
    signal.addEventListener('abort', listener, { once: true });
    const followers = { hearers, listener };
    this.#followed.set(signal, followers);
    return followers;
  }
}

interface Followers {
  readonly hearers: Set<(reason: string) => void>;
  readonly listener: () => void;
}

/** What a caller's abort reason says, in words. Total. */
function wordsOf(reason: unknown): string {
  try {
    return reason instanceof Error ? reason.message : String(reason);
  } catch {
    return 'aborted';
  }
}
