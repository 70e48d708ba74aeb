/**
 * The narrow, public types of a chart: what a machine, its compiled logic and its snapshots show to the outside.
 *
 * Invariant: nothing here names an action, a guard or a transition, so the insides of a machine may change freely.
 * Deliberately absent: behaviour, and the inferred types of XState, which would make every detail public.
 */
import type {
  ActorLogic,
  AnyActorRef,
  EventObject,
  MachineContext,
  MetaObject,
  ParameterizedObject,
  StateMachine,
  StateSchema,
} from 'xstate';

/**
 * An authored machine with flat states, as XState, its graph functions and Stately's tools take it.
 * Machines are narrowed to it by way of `AnyStateMachine`: under `exactOptionalPropertyTypes` XState's types of two
 * instantiations are never assignable to each other.
 */
export type Chart<State extends string, Context extends MachineContext, Event extends EventObject> = StateMachine<
  Context,
  Event,
  Record<string, AnyActorRef | undefined>,
  never,
  ParameterizedObject,
  ParameterizedObject,
  string,
  State,
  string,
  unknown,
  unknown,
  EventObject,
  MetaObject,
  StateSchema
>;

/** A snapshot of a compiled chart: plain data. `stopped` only when the root of the actor system was stopped. */
export interface ChartSnapshot<State extends string, Context extends MachineContext> {
  readonly status: 'active' | 'done' | 'stopped';
  readonly value: State;
  readonly context: Context;
  output: undefined;
  error: undefined;
}

/** Actor logic for `createActor`. `config` is the machine's own, so that an inspector can draw the chart. */
export interface ChartLogic<State extends string, Context extends MachineContext, Event extends EventObject>
  extends ActorLogic<ChartSnapshot<State, Context>, Event> {
  readonly config: unknown;
}

/** Something that the chart does not allow. The state is unchanged. */
export interface Violation {
  /** The id of the machine. */
  readonly machine: string;
  /** The id of the actor. */
  readonly actor: string;
  readonly state: string;
  /** The type of the event. */
  readonly event: string;
  /** `impossible`: the state has no transition for the event. `threw`: a guard or an assign threw `error`. */
  readonly fault: 'impossible' | 'threw';
  readonly error?: unknown;
}
