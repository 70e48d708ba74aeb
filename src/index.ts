/**
 * Every public name of `leasehold`, one by one.
 *
 * Invariant: what is not listed here, or in the other subpaths, is not public.
 * Deliberately absent: any code.
 */

export type { IsolateInfo } from './isolate/fleet-shape.ts';
export type {
  AttemptEnd,
  BackoffOptions,
  Issue,
  PreparedContext,
  PreparedExecution,
  PreparedRun,
  Repair,
  RepairContext,
  RepairOptions,
  RetryOptions,
  Validation,
} from './model/control-shapes.ts';
export { defineTool } from './model/define-tool.ts';
export {
  CancelledError,
  DeadlineError,
  DeniedError,
  ERROR_CODES,
  type ErrorCode,
  IndeterminateError,
  InterruptedError,
  isLeaseholdError,
  isRunResult,
  LeaseholdError,
  OperationTimeoutError,
  RefusedError,
  ScopeClosedError,
  stableResult,
  ToolError,
  unwrap,
} from './model/errors.ts';
export type { Event, Observer, OutputPiece, Progress, RequestEvent, SupervisorEvent } from './model/event.ts';
export type {
  Authorization,
  AuthorizeRequest,
  Authorizer,
  Bounds,
  Inspector,
  OutputLimits,
  RunOptions,
  ScopeOptions,
  Share,
  SupervisorOptions,
  ThreadLimits,
  Trace,
} from './model/option-shapes.ts';
export type { Permissions } from './model/permissions.ts';
export type {
  AttemptName,
  ClosedAttempt,
  HeldIntent,
  LoggedIntent,
  Reconcile,
  ReconcileContext,
  ReconciledIntent,
  Reconciliation,
  RecoveryFailure,
  RecoveryReport,
  RerunnableAttempt,
  SurvivingProcess,
} from './model/recovery.ts';
export type {
  Attempt,
  Diagnostic,
  Durability,
  Finding,
  FindingKind,
  IntentRecord,
  IntentState,
  LeaseRecord,
  LogLine,
  Output,
  RunError,
  RunResult,
  Stream,
  Timing,
} from './model/result.ts';
export { runResultSchema } from './model/run-result-schema.ts';
export type { LeaseState, Status, Stop, StopKind } from './model/stop.ts';
export type { BlobStore, EventLog, LogEvent, LogEventKind, NewLogEvent, OpenIntent } from './model/stores.ts';
export type { Clock, Timer } from './model/time.ts';
export type { Effects, Isolation, Tool, ToolDefinition } from './model/tool.ts';
export type { Hop } from './model/work.ts';
export { type FileBlobStoreOptions, fileBlobStore } from './record/file-blob-store.ts';
export { memoryBlobStore } from './record/memory-blob-store.ts';
export { memoryEventLog } from './record/memory-event-log.ts';
export type { CloseReport, Statistics } from './reports.ts';
export type { Group, GroupStatistics } from './run/groups.ts';
export type { ChildEnd, ShutdownReport } from './scope/child.ts';
export type {
  CoordinateOptions,
  Coordination,
  CoordinationError,
  Done,
  NextTurn,
  Turn,
} from './scope/coordinate.ts';
export type { Ctx, Deadline } from './scope/ctx.ts';
export type { ClaimOptions } from './scope/desk.ts';
export type { RunScope } from './scope/scope-handle.ts';
export type { Child, SpawnOptions } from './scope/spawned.ts';
export { createSupervisor, type Supervisor } from './supervisor.ts';
