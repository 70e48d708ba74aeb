/**
 * Readiness: who waits until a supervisor is ready.
 *
 * Invariant: each is told once: that it is ready, or why it will not be. Deliberately absent: what readiness consists of.
 */
import { LeaseholdError } from './model/errors.ts';

export class Readiness {
  #waiting: { readonly resolve: () => void; readonly reject: (error: LeaseholdError) => void }[] = [];

  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  until(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  tell(): void {
    for (const { resolve } of this.#take()) resolve();
  }

  refuse(code: 'QUEUE_FULL' | 'CLOSED' | 'DEGRADED', state: string): void {
    for (const { reject } of this.#take())
      reject(new LeaseholdError(code, `The supervisor is ${state}: it will not be ready.`));
  }

  #take() {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }
}
