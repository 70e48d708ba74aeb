/**
 * LeaseChannels: the awaited calls in both directions during one lease, made when they are first needed.
 *
 * Invariants: they end with the lease, and every call that is then unanswered rejects; most leases make none.
 * Deliberately absent: what the calls do (`run/effects.ts`, and the module's hooks in the isolate).
 */
import { type Channel, openChannel } from '../wire/channel.ts';
import type { CallMessage, HostCalls, IsolateHooks } from '../wire/protocol.ts';

export class LeaseChannels {
  readonly #post: (message: CallMessage) => void;
  readonly #calls: HostCalls;
  #call: Channel | null = null;
  #hook: Channel<IsolateHooks> | null = null;

  /** `calls`: what the isolate may ask of the lease's holder. */
  constructor(post: (message: CallMessage) => void, calls: HostCalls) {
    this.#post = post;
    this.#calls = calls;
  }

  receive({ t, d }: CallMessage): void {
    if (t === 'hook') {
      this.#hook?.receive(d);
      return;
    }
    this.#call ??= openChannel({ post: (reply) => this.#post({ t: 'call', d: reply }), expose: this.#calls });
    this.#call.receive(d);
  }

  hooks(): IsolateHooks {
    this.#hook ??= openChannel<IsolateHooks>({ post: (d) => this.#post({ t: 'hook', d }) });
    return this.#hook.remote;
  }

  end(reason: string): void {
    this.#call?.end(reason);
    this.#hook?.end(reason);
  }
}
