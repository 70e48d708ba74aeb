/**
 * The supervisor: what it admits, and how it ends. Root of the tree in which isolates and leases are children.
 *
 * | State    | Means                                                 | Leaves by |
 * | -------- | ----------------------------------------------------- | --------- |
 * | opening  | recovers; requests queue                              | OPENED → open, or degraded when it was impaired meanwhile · DRAIN → draining · CLOSE → closing · DEGRADE, HEAL → itself |
 * | open     | admits                                                | DEGRADE → degraded · DRAIN → draining · CLOSE → closing |
 * | degraded | refuses: a restart or abandonment limit was passed    | HEAL → open · DRAIN → draining · CLOSE → closing · DEGRADE → itself |
 * | draining | refuses: running requests may finish                  | CLOSE → closing · DEGRADE, HEAL → itself |
 * | closing  | what still runs is stopped, isolates are ended        | CLOSED → closed · DEGRADE, HEAL → itself |
 * | closed   | final: everything has ended or is reported            | – |
 *
 * Every state takes REQUEST, STOP, EXIT and SETTLEMENT, the messages of its children, without a transition.
 * Invariant: after DRAIN or CLOSE nothing leads back to admission.
 * Deliberately absent: the queue, limits, and the count of isolates; they belong to decisions and to the host.
 */
import { assign, setup } from 'xstate';
import type { Chart } from './chart.ts';

export type SupervisorState = 'opening' | 'open' | 'degraded' | 'draining' | 'closing' | 'closed';

export type SupervisorEvent =
  /** Recovery is done. */
  | { readonly type: 'OPENED' }
  /** A limit was passed; `reason` names it for an inspector. */
  | { readonly type: 'DEGRADE'; readonly reason: string }
  | { readonly type: 'HEAL' }
  /** Admission ends; running requests may finish. */
  | { readonly type: 'DRAIN' }
  /** What still runs is stopped. */
  | { readonly type: 'CLOSE' }
  | { readonly type: 'CLOSED' }
  /** A request arrived. */
  | { readonly type: 'REQUEST'; readonly request: string }
  /** A stop was recorded for a request. */
  | { readonly type: 'STOP'; readonly request: string; readonly kind: string }
  /** An isolate's exit was seen. */
  | { readonly type: 'EXIT'; readonly isolate: string }
  /** A request ended. */
  | { readonly type: 'SETTLEMENT'; readonly request: string; readonly status: string };

export type SupervisorContext = {
  /** The limit that was passed; null when none is. */
  readonly impairment: string | null;
};

/** The machine as authored; run it compiled (`supervisorLogic`). */
export const supervisorMachine = setup({
  types: { context: {} as SupervisorContext, events: {} as SupervisorEvent },
  actions: {
    noteImpairment: assign({
      impairment: ({ context, event }) => (event.type === 'DEGRADE' ? event.reason : context.impairment),
    }),
    clearImpairment: assign({ impairment: null }),
  },
  guards: { isImpaired: ({ context }) => context.impairment !== null },
}).createMachine({
  id: 'supervisor',
  context: { impairment: null },
  initial: 'opening',
  on: { REQUEST: {}, STOP: {}, EXIT: {}, SETTLEMENT: {} },
  states: {
    opening: {
      on: {
        OPENED: [{ guard: 'isImpaired', target: 'degraded' }, { target: 'open' }],
        DEGRADE: { actions: 'noteImpairment' },
        HEAL: { actions: 'clearImpairment' },
        DRAIN: 'draining',
        CLOSE: 'closing',
      },
    },
    open: {
      on: { DEGRADE: { target: 'degraded', actions: 'noteImpairment' }, DRAIN: 'draining', CLOSE: 'closing' },
    },
    degraded: {
      on: {
        HEAL: { target: 'open', actions: 'clearImpairment' },
        DEGRADE: { actions: 'noteImpairment' },
        DRAIN: 'draining',
        CLOSE: 'closing',
      },
    },
    draining: {
      on: { CLOSE: 'closing', DEGRADE: { actions: 'noteImpairment' }, HEAL: { actions: 'clearImpairment' } },
    },
    closing: {
      on: { CLOSED: 'closed', DEGRADE: { actions: 'noteImpairment' }, HEAL: { actions: 'clearImpairment' } },
    },
    closed: { type: 'final' },
  },
}) as Chart<SupervisorState, SupervisorContext, SupervisorEvent>;
