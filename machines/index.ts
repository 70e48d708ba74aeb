/**
 * The doors of `leasehold/machines`: the three charts as authored, the same compiled, and the compiler.
 *
 * Invariant: every public name of the machines, one by one. The compiled logics here count no violations.
 * Deliberately absent: actors. Nothing runs by importing this.
 */
import type { ChartLogic } from './chart.ts';
import { compile } from './compile.ts';
import { type IsolateContext, type IsolateEvent, type IsolateState, isolateMachine } from './isolate.ts';
import { type LeaseContext, type LeaseEvent, type LeaseState, leaseMachine } from './lease.ts';
import { type SupervisorContext, type SupervisorEvent, type SupervisorState, supervisorMachine } from './supervisor.ts';

export type { Chart, ChartLogic, ChartSnapshot, Violation } from './chart.ts';
export { type CompileOptions, compile } from './compile.ts';
export { type IsolateContext, type IsolateEvent, type IsolateState, isolateMachine } from './isolate.ts';
export { type LeaseContext, type LeaseEvent, type LeaseState, leaseMachine } from './lease.ts';
export {
  type SupervisorContext,
  type SupervisorEvent,
  type SupervisorState,
  supervisorMachine,
} from './supervisor.ts';

/** `leaseMachine`, compiled. */
export const leaseLogic: ChartLogic<LeaseState, LeaseContext, LeaseEvent> = compile(leaseMachine);
/** `isolateMachine`, compiled. */
export const isolateLogic: ChartLogic<IsolateState, IsolateContext, IsolateEvent> = compile(isolateMachine);
/** `supervisorMachine`, compiled. */
export const supervisorLogic: ChartLogic<SupervisorState, SupervisorContext, SupervisorEvent> =
  compile(supervisorMachine);
