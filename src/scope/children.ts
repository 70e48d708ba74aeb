/**
 * Children: what is alive in one scope, who else hears its stops, and how each child ended.
 *
 * Invariants: a child is let go once; what it ended as is kept, the latest thousand of each kind; whoever waits for the
 * scope to be empty is told when it is. Deliberately absent: deciding a stop, and waiting with a bound.
 */
import type { ChildEnd, ChildFate, ScopeChild, ScopeStop, ShutdownReport } from './child.ts';

const MAX_ENDS = 1_000;

export class Children {
  readonly #alive = new Set<ScopeChild>();
  #listening: Set<ScopeChild> | null = null;
  readonly #ends: Record<ChildFate, ChildEnd[]> = { completed: [], aborted: [], killed: [], abandoned: [] };
  readonly #remembers: boolean;
  #onEmpty: (() => void)[] = [];

  /** `remembers`: false for a scope that lives as long as its supervisor and would only grow. */
  constructor(remembers: boolean) {
    this.#remembers = remembers;
  }

  get size(): number {
    return this.#alive.size;
  }

  /** True when it is the first. */
  add(child: ScopeChild): boolean {
    this.#alive.add(child);
    return this.#alive.size === 1;
  }

  /** Whether it was here, and the last. `fate` is null for an inner scope, which has no end of its own. */
  remove(child: ScopeChild, fate: ChildFate | null, error?: unknown): 'unknown' | 'removed' | 'emptied' {
    if (!this.#alive.delete(child)) return 'unknown';
    if (fate !== null) this.remember(fate, child.name, error);
    if (this.#alive.size > 0) return 'removed';
    const waiting = this.#onEmpty;
    this.#onEmpty = [];
    for (const resolve of waiting) resolve();
    return 'emptied';
  }

  /** Keeps an end for the report: a child's, or one of an inner scope. */
  remember(fate: ChildFate, name: string, error?: unknown): void {
    if (!this.#remembers) return;
    const ends = this.#ends[fate];
    ends.push(Object.freeze({ name, ...(error === undefined || error === null ? {} : { error }) }));
    if (ends.length > MAX_ENDS) ends.shift();
  }

  /** The longest a stop may take to end all of them. Milliseconds. */
  get boundMs(): number {
    return [...this.#alive].reduce((longest, child) => Math.max(longest, child.boundMs), 0);
  }

  giveUp(): void {
    for (const child of this.#alive) child.giveUp();
  }

  leftovers(): readonly string[] {
    return [...this.#alive].flatMap((child) => child.leftovers());
  }

  /** Hears every stop without being alive here: an inner scope whose signal somebody holds. */
  listen(child: ScopeChild): void {
    this.#listening ??= new Set();
    this.#listening.add(child);
  }
  unlisten(child: ScopeChild): void {
    this.#listening?.delete(child);
  }

  stop(stop: ScopeStop): void {
    // The newest first: an isolate that a stop frees is then not granted to one that is stopped a moment later.
    const hearers = new Set([...(this.#listening ?? []), ...[...this.#alive].reverse()]);
    for (const child of hearers) child.stop(stop);
  }

  stopIfWaiting(stop: ScopeStop): void {
    for (const child of [...this.#alive].reverse()) child.stopIfWaiting(stop);
  }

  untilEmpty(): Promise<void> {
    return this.#alive.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  /** What is still alive is reported abandoned. */
  report(): ShutdownReport {
    const { completed, aborted, killed, abandoned } = this.#ends;
    const left = this.leftovers().map((name) => Object.freeze({ name }));
    return Object.freeze({
      completed: Object.freeze([...completed]),
      aborted: Object.freeze([...aborted]),
      killed: Object.freeze([...killed]),
      abandoned: Object.freeze([...abandoned, ...left]),
    });
  }
}
