/**
 * ActorTree: one supervisor's actors, each a child of its root. The only file of `src` that creates actors.
 *
 * Invariants: one tree per supervisor, with logic of its own, so that violations are counted where they happened and two
 * supervisors share nothing; an actor never throws into the host.
 * Deliberately absent: what the events mean. Whoever holds an actor sends to it.
 */
import { type Actor, createActor, type InspectionEvent } from 'xstate';
import {
  type ChartLogic,
  compile,
  type IsolateContext,
  type IsolateEvent,
  type IsolateState,
  isolateMachine,
  type LeaseContext,
  type LeaseEvent,
  type LeaseState,
  leaseMachine,
  type SupervisorContext,
  type SupervisorEvent,
  type SupervisorState,
  supervisorMachine,
} from '../../machines/index.ts';
import type { Inspector } from '../model/option-shapes.ts';

export type LeaseActor = Actor<ChartLogic<LeaseState, LeaseContext, LeaseEvent>>;
export type IsolateActor = Actor<ChartLogic<IsolateState, IsolateContext, IsolateEvent>>;
type SupervisorActor = Actor<ChartLogic<SupervisorState, SupervisorContext, SupervisorEvent>>;

export class ActorTree {
  readonly #root: SupervisorActor;
  readonly #leaseLogic: ChartLogic<LeaseState, LeaseContext, LeaseEvent>;
  readonly #isolateLogic: ChartLogic<IsolateState, IsolateContext, IsolateEvent>;
  readonly #inspected: boolean;

  constructor(id: string, onViolation: () => void, inspect: Inspector | null) {
    this.#leaseLogic = compile(leaseMachine, { onViolation });
    this.#isolateLogic = compile(isolateMachine, { onViolation });
    this.#inspected = inspect !== null;
    this.#root = createActor(compile(supervisorMachine, { onViolation }), {
      id,
      systemId: id,
      ...(inspect === null ? {} : { inspect: guarded(inspect) }),
    });
    this.#root.start();
  }

  get state(): SupervisorState {
    return this.#root.getSnapshot().value;
  }
  send(event: SupervisorEvent): void {
    this.#root.send(event);
  }
  /** Tells the root what a child did; only an inspector can see it, so without one nothing is sent. */
  tell(event: Extract<SupervisorEvent, { type: 'REQUEST' | 'STOP' | 'EXIT' | 'SETTLEMENT' }>): void {
    if (this.#inspected) this.#root.send(event);
  }
  lease(id: string): LeaseActor {
    return createActor(this.#leaseLogic, { parent: this.#root, id, systemId: id }).start();
  }
  isolate(id: string): IsolateActor {
    return createActor(this.#isolateLogic, { parent: this.#root, id, systemId: id }).start();
  }
}

/** An inspector that throws would break out of `send` and leave that actor's mailbox dead: it hears no more instead. */
function guarded(inspect: Inspector): (event: InspectionEvent) => void {
  let heard = true;
  const drop = () => {
    heard = false;
  };
  return (event) => {
    if (!heard) return;
    try {
      const returned: unknown = typeof inspect === 'function' ? inspect(event) : inspect.next?.(event);
      // An asynchronous one is not waited for, but its rejection is not to end the host.
      if (returned instanceof Promise) returned.catch(drop);
    } catch {
      drop();
    }
  };
}
