/**
 * One lease of an HTTP tool, played without a supervisor: its context, with every intent and hop it saw.
 *
 * Invariants: effects are let go by the very function that real isolates use; time moves only when told, and one can wait
 * until a timer of a given length is set. Deliberately absent: expectations.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { LeaseholdError } from '../../src/model/errors.ts';
import type { Tool } from '../../src/model/tool.ts';
import type { Hop, InlineContext } from '../../src/model/work.ts';
import type { HttpResponse } from '../../src/tools/http.ts';
import { performEffect } from '../../src/wire/perform.ts';
import { FakeClock } from './fake-clock.ts';

/** Calls back once, when the client has read a piece of a body. */
export function onPiece(then: () => void): void {
  const channel = 'undici:request:bodyChunkReceived';
  const hear = (): void => {
    unsubscribe(channel, hear);
    // The client looks at the piece after the channel does.
    queueMicrotask(then);
  };
  subscribe(channel, hear);
}

/** Tells when a timer is set. */
class ToldClock extends FakeClock {
  readonly #armed = new Set<number>();
  readonly #waiting = new Map<number, () => void>();

  override setTimeout(fire: () => void, ms: number) {
    this.#armed.add(ms);
    this.#waiting.get(ms)?.();
    return super.setTimeout(fire, ms);
  }
  async untilArmed(ms: number): Promise<void> {
    if (!this.#armed.has(ms)) await new Promise<void>((resolve) => this.#waiting.set(ms, resolve));
  }
}

export class HttpCall implements InlineContext {
  readonly clock = new ToldClock();
  readonly intents: { readonly name: string; readonly key: string; state: string }[] = [];
  readonly hops: Hop[] = [];
  /** The number of the hop that is refused. */
  deniedHop = 0;
  readonly #abort = new AbortController();
  readonly #stop = {
    stopped: () => this.#abort.signal.aborted,
    reason: new Error('stopped by the test'),
  };

  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  get reason(): Error {
    return this.#stop.reason;
  }
  stop(): void {
    this.#abort.abort(this.#stop.reason);
  }
  remainingMs(): number {
    return 1_000;
  }

  perform: InlineContext['perform'] = ({ name, key = null }, effect) =>
    performEffect(
      {
        dispatch: async () => {
          this.intents.push({ name, key: `key-${this.intents.length + 1}`, state: 'dispatched' });
          return `key-${this.intents.length}`;
        },
        settle: async (_seq, settled, state) => {
          const intent = this.intents.find((one) => one.name === settled);
          if (intent !== undefined && state !== 'open') intent.state = state;
        },
      },
      1,
      { name, key, onAmbiguous: 'hold' },
      effect,
      this.#stop,
    );

  async authorizeHop(hop: Hop): Promise<void> {
    this.hops.push(hop);
    if (hop.number === this.deniedHop) throw new LeaseholdError('DENIED', 'not there');
  }

  /** Runs an HTTP tool under this lease. */
  async run<In>(tool: Tool<In, HttpResponse>, input: In): Promise<HttpResponse> {
    if (tool.work.kind !== 'inline') throw new Error('not an inline tool');
    return (await tool.work.serve(tool.input.parse(input), this)) as HttpResponse;
  }

  /** What it fails with. */
  async failure<In>(tool: Tool<In, HttpResponse>, input: In): Promise<Error & Record<string, unknown>> {
    const { error } = await this.run(tool, input).then(
      (value) => {
        throw new Error(`it succeeded with the status ${value.status}`);
      },
      (error: unknown) => ({ error }),
    );
    return error as Error & Record<string, unknown>;
  }
}
