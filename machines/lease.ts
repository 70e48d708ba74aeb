/**
 * The lease: the exclusive, bounded right of an attempt to an isolate. Its context counts, and keeps the isolate's end.
 *
 * | State       | Means                                              | Leaves by |
 * | ----------- | -------------------------------------------------- | --------- |
 * | queued      | waits for an isolate; nothing has run              | GRANTED → acquired · STOP → completed |
 * | acquired    | an isolate is bound to it; no user code has run    | STARTED → running · STOP, FAILED → completed · LOST → queued (twice at most), then completed |
 * | running     | the tool runs                                      | SETTLED, EXITED → draining · STOP → terminating |
 * | terminating | the tool was told; grace, then kill                | SETTLED, EXITED, ABANDONED → draining · STOP → itself |
 * | draining    | output, settle looks, reset and health check       | CLEAN → completed, or quarantined when the isolate ended · DIRTY → quarantined · STOP, EXITED, ABANDONED → itself |
 * | completed   | final: the isolate is fit, or none was touched     | – |
 * | quarantined | final: the isolate is condemned and replaced       | – |
 *
 * Invariant: a lease whose isolate exited or was abandoned after STARTED never ends `completed`.
 * Deliberately absent: an event for issuing a kill (its proof is EXITED or ABANDONED), time, effects, what a stop means.
 */
import { assign, setup } from 'xstate';
import type { Chart } from './chart.ts';

/** How often a lease goes back to the queue because its isolate was lost before user code ran. */
export const MAX_LOSSES = 2;

export type LeaseState = 'queued' | 'acquired' | 'running' | 'terminating' | 'draining' | 'completed' | 'quarantined';

export type LeaseEvent =
  /** An isolate is bound to the lease. */
  | { readonly type: 'GRANTED'; readonly isolate: string; readonly kind: 'thread' | 'process' | 'inline' }
  /** The isolate begins to load the tool: user code may run from here on. */
  | { readonly type: 'STARTED' }
  /** The tool answered, or its answer was found. */
  | { readonly type: 'SETTLED' }
  /** A stop was recorded; `kind` is its kind. */
  | { readonly type: 'STOP'; readonly kind: string }
  /** `onPrepared` threw. */
  | { readonly type: 'FAILED' }
  /** The isolate died, or its reset or health check failed, before user code ran. */
  | { readonly type: 'LOST' }
  /** The isolate's exit was seen. */
  | { readonly type: 'EXITED' }
  /** The isolate's exit was not seen in time after a kill. */
  | { readonly type: 'ABANDONED' }
  /** Nothing that condemns was found. */
  | { readonly type: 'CLEAN' }
  /** A finding condemns the isolate. */
  | { readonly type: 'DIRTY' };

export type LeaseContext = {
  /** Isolates lost before user code ran. */
  readonly losses: number;
  /** Stops recorded in any state but a final one. */
  readonly stops: number;
  /** The isolate bound now or last; null while queued. */
  readonly isolate: string | null;
  /** What is known of the isolate's end; an exit that is seen outranks an abandonment. */
  readonly isolateEnd: 'exited' | 'abandoned' | null;
};

/** The machine as authored; run it compiled (`leaseLogic`). */
export const leaseMachine = setup({
  types: { context: {} as LeaseContext, events: {} as LeaseEvent },
  actions: {
    bindIsolate: assign({
      isolate: ({ context, event }) => (event.type === 'GRANTED' ? event.isolate : context.isolate),
    }),
    releaseIsolate: assign({ isolate: null }),
    countLoss: assign({ losses: ({ context }) => context.losses + 1 }),
    countStop: assign({ stops: ({ context }) => context.stops + 1 }),
    noteExit: assign({ isolateEnd: 'exited' }),
    noteAbandonment: assign({ isolateEnd: ({ context }) => context.isolateEnd ?? 'abandoned' }),
  },
  guards: {
    mayQueueAgain: ({ context }) => context.losses < MAX_LOSSES,
    isolateStands: ({ context }) => context.isolateEnd === null,
  },
}).createMachine({
  id: 'lease',
  context: { losses: 0, stops: 0, isolate: null, isolateEnd: null },
  initial: 'queued',
  states: {
    queued: {
      on: {
        GRANTED: { target: 'acquired', actions: 'bindIsolate' },
        STOP: { target: 'completed', actions: 'countStop' },
      },
    },
    acquired: {
      on: {
        STARTED: 'running',
        STOP: { target: 'completed', actions: 'countStop' },
        FAILED: 'completed',
        LOST: [
          { guard: 'mayQueueAgain', target: 'queued', actions: ['countLoss', 'releaseIsolate'] },
          { target: 'completed', actions: 'countLoss' },
        ],
      },
    },
    running: {
      on: {
        SETTLED: 'draining',
        STOP: { target: 'terminating', actions: 'countStop' },
        EXITED: { target: 'draining', actions: 'noteExit' },
      },
    },
    terminating: {
      on: {
        SETTLED: 'draining',
        STOP: { actions: 'countStop' },
        EXITED: { target: 'draining', actions: 'noteExit' },
        ABANDONED: { target: 'draining', actions: 'noteAbandonment' },
      },
    },
    draining: {
      on: {
        CLEAN: [{ guard: 'isolateStands', target: 'completed' }, { target: 'quarantined' }],
        DIRTY: 'quarantined',
        STOP: { actions: 'countStop' },
        EXITED: { actions: 'noteExit' },
        ABANDONED: { actions: 'noteAbandonment' },
      },
    },
    completed: { type: 'final' },
    quarantined: { type: 'final' },
  },
}) as Chart<LeaseState, LeaseContext, LeaseEvent>;
