/**
 * What inline work is given, without a supervisor: its intents are kept in a list, and it is stopped by hand.
 *
 * Invariant: intents end by the same rule as in a lease. Deliberately absent: a log that refuses, bounds, and deadlines.
 */
import type { IntentState } from '../../src/model/result.ts';
import type { Hop, InlineContext } from '../../src/model/work.ts';
import { performEffect } from '../../src/wire/perform.ts';
import { FakeClock } from './fake-clock.ts';

export interface InlineRig {
  readonly context: InlineContext;
  readonly clock: FakeClock;
  /** In order of dispatch; an intent left open stays `dispatched`. */
  readonly intents: readonly { readonly name: string; readonly state: IntentState }[];
  readonly hops: readonly Hop[];
  readonly reason: Error;
  stop(): void;
  /** Stops within the look at the signal of this number, from 1 on. */
  stopAtLook(number: number): void;
}

/**
 * `onDispatch`: runs when an intent was granted, before its effect. `onLook`: runs within each look at the signal.
 * `authorize`: says no by a throw.
 */
export function inlineRig({
  remainingMs = 30_000,
  onDispatch = () => undefined,
  onLook = () => undefined,
  authorize = () => undefined,
}: {
  readonly remainingMs?: number;
  readonly onDispatch?: (name: string) => void;
  readonly onLook?: (number: number) => void;
  readonly authorize?: (hop: Hop) => void;
} = {}): InlineRig {
  const controller = new AbortController();
  const { signal } = controller;
  const clock = new FakeClock();
  const due = clock.now() + remainingMs;
  const intents: { name: string; state: IntentState }[] = [];
  const hops: Hop[] = [];
  const reason = new DOMException('stopped by the test', 'AbortError');
  let looks = 0;
  let stopAt = Number.POSITIVE_INFINITY;
  Object.defineProperty(signal, 'throwIfAborted', {
    value: () => {
      looks += 1;
      onLook(looks);
      if (looks === stopAt) controller.abort(reason);
      if (signal.aborted) throw signal.reason;
    },
  });
  const stop = {
    stopped: () => signal.aborted,
    get reason() {
      return signal.reason;
    },
  };
  const calls: Parameters<typeof performEffect>[0] = {
    async dispatch(_seq, { name, key }) {
      intents.push({ name, state: 'dispatched' });
      onDispatch(name);
      return key ?? `key of ${name}`;
    },
    async settle(_seq, name, state) {
      const intent = intents.find((candidate) => candidate.name === name);
      if (intent !== undefined && state !== 'open') intent.state = state;
    },
  };
  const context: InlineContext = {
    signal,
    clock,
    remainingMs: () => Math.max(0, due - clock.now()),
    perform: ({ name, key = null }, effect) =>
      performEffect(calls, 1, { name, key, onAmbiguous: 'hold' }, effect, stop),
    async authorizeHop(hop) {
      hops.push(hop);
      authorize(hop);
    },
  };
  return {
    context,
    clock,
    intents,
    hops,
    reason,
    stop: () => controller.abort(reason),
    stopAtLook(number) {
      stopAt = number;
    },
  };
}

/** Runs inline work as a lease would, with an input that its schema accepted. */
export async function serveInline(
  tool: { readonly work: unknown; readonly input: { parse(input: unknown): unknown } },
  input: unknown,
  context: InlineContext,
): Promise<unknown> {
  const work = tool.work as { readonly serve: (input: unknown, context: InlineContext) => Promise<unknown> };
  return work.serve(tool.input.parse(input), context);
}
