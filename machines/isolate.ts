/**
 * The isolate: where work happens, from its boot to the proof that it is gone. Its context counts the leases it served.
 *
 * | State       | Means                                           | Leaves by |
 * | ----------- | ----------------------------------------------- | --------- |
 * | booting     | its thread was asked for                        | BOOTED → idle · BOOT_FAILED, RETIRE → retiring · CONDEMNED → quarantined · EXITED → gone |
 * | idle        | ready, without a lease                          | LEASED → leased · RETIRE → retiring · CONDEMNED → quarantined · EXITED → gone |
 * | leased      | a lease holds it                                | RELEASED → resetting · CONDEMNED → quarantined · EXITED → gone |
 * | resetting   | its last lease is over, its fitness not decided | FIT → idle · CONDEMNED → quarantined · EXITED → gone |
 * | quarantined | condemned: never leased again                   | RETIRE → retiring · CONDEMNED → itself · EXITED → gone |
 * | retiring    | told to end, or killed; its exit is awaited     | ABANDONED → abandoned · CONDEMNED → itself · EXITED → gone |
 * | abandoned   | its kill was not confirmed in time              | CONDEMNED → itself · EXITED → gone |
 * | gone        | final: its exit was seen                        | – |
 *
 * Invariant: nothing leads from quarantined, retiring or abandoned back to idle.
 * Deliberately absent: why it was condemned, replacement, and limits; they belong to decisions and to the host.
 */
import { assign, setup } from 'xstate';
import type { Chart } from './chart.ts';

export type IsolateState =
  | 'booting'
  | 'idle'
  | 'leased'
  | 'resetting'
  | 'quarantined'
  | 'retiring'
  | 'abandoned'
  | 'gone';

export type IsolateEvent =
  | { readonly type: 'BOOTED' }
  /** It did not boot in time, or its entry failed; what there is of it must be ended. */
  | { readonly type: 'BOOT_FAILED' }
  | { readonly type: 'LEASED' }
  /** The lease's outcome is decided. */
  | { readonly type: 'RELEASED' }
  /** Nothing that condemns was found after the lease. */
  | { readonly type: 'FIT' }
  /** A finding, or a kill that was issued, condemns it. */
  | { readonly type: 'CONDEMNED' }
  /** It is told to end, or killed. */
  | { readonly type: 'RETIRE' }
  /** Its exit was seen. */
  | { readonly type: 'EXITED' }
  /** Its exit was not seen in time. */
  | { readonly type: 'ABANDONED' };

export type IsolateContext = {
  /** Leases it has been given, the running one included. */
  readonly leases: number;
};

/** The machine as authored; run it compiled (`isolateLogic`). */
export const isolateMachine = setup({
  types: { context: {} as IsolateContext, events: {} as IsolateEvent },
  actions: { countLease: assign({ leases: ({ context }) => context.leases + 1 }) },
}).createMachine({
  id: 'isolate',
  context: { leases: 0 },
  initial: 'booting',
  states: {
    booting: {
      on: { BOOTED: 'idle', BOOT_FAILED: 'retiring', RETIRE: 'retiring', CONDEMNED: 'quarantined', EXITED: 'gone' },
    },
    idle: {
      on: {
        LEASED: { target: 'leased', actions: 'countLease' },
        RETIRE: 'retiring',
        CONDEMNED: 'quarantined',
        EXITED: 'gone',
      },
    },
    leased: { on: { RELEASED: 'resetting', CONDEMNED: 'quarantined', EXITED: 'gone' } },
    resetting: { on: { FIT: 'idle', CONDEMNED: 'quarantined', EXITED: 'gone' } },
    quarantined: { on: { RETIRE: 'retiring', CONDEMNED: {}, EXITED: 'gone' } },
    retiring: { on: { ABANDONED: 'abandoned', CONDEMNED: {}, EXITED: 'gone' } },
    abandoned: { on: { CONDEMNED: {}, EXITED: 'gone' } },
    gone: { type: 'final' },
  },
}) as Chart<IsolateState, IsolateContext, IsolateEvent>;
