/**
 * Spawned: a function of the host that lives in a scope, with a scope of its own inside it.
 *
 * Invariants: it leaves its scope once, after everything in its own scope has ended; its result settles and is never an
 * unhandled rejection. Deliberately absent: a kill. JavaScript of the host cannot be ended from outside.
 */
import { invalidOption } from '../model/errors.ts';
import { durationOr, optionsObject, refuseUnknown, wordOr } from '../model/option-checks.ts';
import type { Clock } from '../model/time.ts';
import type { ChildFate, Home, ScopeChild, ScopeStop } from './child.ts';
import { reasonOf } from './reason.ts';

export interface SpawnOptions {
  /** Whether its failure cancels the scope it lives in. Default `'isolate'`: its failure stays its own. */
  readonly onFailure?: 'isolate' | 'fail-scope';
  /** Milliseconds after which it is told to stop, and some time later given up. Default: the scope's deadline alone. */
  readonly hardTimeoutMs?: number;
}

export interface Child<T> {
  readonly name: string;
  /** Settles as the function does, or rejects when it is given up. Never an unhandled rejection. */
  readonly result: Promise<T>;
}

const KNOWN = new Set(['onFailure', 'hardTimeoutMs']);

export class Spawned<T, Scope extends Home<Scope>> implements Child<T>, ScopeChild {
  readonly name: string;
  readonly result: Promise<T>;
  readonly #outer: Scope;
  readonly #inner: Scope;
  #reject!: (reason: Error) => void;

  /** `boundMs`: how long after its hard timeout it is given up. */
  constructor(
    outer: Scope,
    clock: Clock,
    boundMs: number,
    name: string,
    body: (inner: Scope) => Promise<T>,
    options: SpawnOptions,
  ) {
    const given = optionsObject<SpawnOptions>('options', options);
    refuseUnknown(given, KNOWN, 'spawn');
    const hardTimeoutMs = durationOr('hardTimeoutMs', given.hardTimeoutMs, null);
    const onFailure = wordOr('onFailure', given.onFailure, ['isolate', 'fail-scope'], 'isolate');
    this.name = name;
    this.#outer = outer;
    this.#inner = outer.inner(hardTimeoutMs);
    outer.adopt(this);
    const { stopped } = outer;
    const work: Promise<T> = stopped === null ? invoke(body, this.#inner) : Promise.reject(reasonOf(stopped));
    this.result = new Promise<T>((resolve, reject) => {
      work.then(resolve, reject);
      this.#reject = reject;
    });
    if (hardTimeoutMs !== null) {
      const timer = clock.setTimeout(() => {
        this.giveUp();
        outer.release(this, 'abandoned');
      }, hardTimeoutMs + boundMs);
      const disarm = () => clock.clearTimeout(timer);
      work.then(disarm, disarm);
    }
    this.result.catch(() => undefined);
    work.then(
      () => this.#leave('completed'),
      (error: unknown) => {
        const wasStopped = this.#inner.stopped !== null;
        if (!wasStopped && onFailure === 'fail-scope') outer.cancel(`"${name}" failed`);
        return this.#leave(wasStopped ? 'aborted' : 'completed', error);
      },
    );
  }

  stop(stop: ScopeStop): void {
    this.#inner.stop(stop);
  }

  stopIfWaiting(stop: ScopeStop): void {
    this.#inner.stopIfWaiting(stop);
  }

  /** Its function may go on for ever; nobody waits for it any more. */
  giveUp(): void {
    const { stopped, id } = this.#inner;
    this.#reject(reasonOf(stopped ?? { kind: 'parent-deadline', atMs: 0, scope: id }));
    this.#inner.giveUp();
  }

  get boundMs(): number {
    return this.#inner.boundMs;
  }

  leftovers(): readonly string[] {
    return [this.name];
  }

  async #leave(fate: ChildFate, error?: unknown): Promise<void> {
    const { killed, abandoned } = await this.#inner.shutdown();
    // What it left running is told of by it; a run of its own that was killed and that it survived is not its end.
    const ended = fate === 'aborted' && killed.length > 0 ? 'killed' : fate;
    this.#outer.release(this, abandoned.length > 0 ? 'abandoned' : ended, error);
  }
}

/** A function that throws at once is a function whose promise rejects. */
async function invoke<T, Scope>(body: (inner: Scope) => Promise<T>, inner: Scope): Promise<T> {
  if (typeof body !== 'function') throw invalidOption('body', body, 'a function');
  return await body(inner);
}
