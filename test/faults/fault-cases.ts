/**
 * The fault matrix as a table: one call of one misbehaving tool per row, and what must be told of it in a thread and in a
 * process.
 *
 * Invariant: a row names the one status and code it must end with, and what becomes of the isolate; `any` stands only
 * where the platform decides; where a process differs, the row says in what, and why.
 * Deliberately absent: faults that need several calls (`fault-sequences.test.ts`), and what only a process may be put
 * through (`process-cases.ts`).
 */
import {
  CANCELLED,
  EXHAUSTED,
  EXITED,
  type FaultCase,
  GOOD,
  HONEST,
  KILLED,
  NOT_CLONEABLE,
  row,
  SPOILED,
  TOOL_ERROR,
  TOOL_LOAD,
  UNCAUGHT,
} from './fault-row.ts';
import { bigBuffer, blockedFifo, blockedHost, cancelWhenRunning, given, sharedMemory } from './fault-scenes.ts';

export const FAULT_CASES: readonly FaultCase[] = [
  row('throws an error', 'throw.mjs', 'throwError', TOOL_ERROR),
  row('throws null', 'throw.mjs', 'throwNull', TOOL_ERROR),
  row('throws undefined', 'throw.mjs', 'throwUndefined', TOOL_ERROR),
  row('throws 0', 'throw.mjs', 'throwZero', TOOL_ERROR),
  row('throws an empty string', 'throw.mjs', 'throwEmptyString', TOOL_ERROR),
  row('throws a symbol', 'throw.mjs', 'throwSymbol', TOOL_ERROR),
  row('throws a function', 'throw.mjs', 'throwFunction', TOOL_ERROR),
  row('throws an error that holds itself', 'throw.mjs', 'throwCircular', TOOL_ERROR),
  row('throws an error that holds a function', 'throw.mjs', 'throwErrorHoldingFunction', TOOL_ERROR),
  row('throws an error whose getters throw', 'throw.mjs', 'throwHostileGetters', TOOL_ERROR),
  row('throws a proxy that refuses everything', 'throw.mjs', 'throwHostileProxy', TOOL_ERROR),
  row('rejects with null', 'throw.mjs', 'rejectNull', TOOL_ERROR),
  row('throws an abort error that nobody asked for', 'throw.mjs', 'throwForeignAbort', TOOL_ERROR),

  row('answers a function', 'answer.mjs', 'answerFunction', NOT_CLONEABLE),
  row('answers an object that holds a function', 'answer.mjs', 'answerDeepFunction', NOT_CLONEABLE),
  row('answers a symbol', 'answer.mjs', 'answerSymbol', NOT_CLONEABLE),
  row('answers a WeakMap', 'answer.mjs', 'answerWeakMap', NOT_CLONEABLE),
  row('answers a port', 'answer.mjs', 'answerPort', NOT_CLONEABLE),
  row('answers shared memory', 'answer.mjs', 'answerSharedMemory', {
    ...GOOD,
    inProcess: { why: 'no memory is shared between processes', ...NOT_CLONEABLE },
  }),
  row('answers an object whose getter throws', 'answer.mjs', 'answerThrowingGetter', NOT_CLONEABLE),
  row('answers an object that holds itself', 'answer.mjs', 'answerCircular', GOOD),
  row('answers null', 'answer.mjs', 'answerNull', { ...GOOD, value: null }),
  row('answers undefined', 'echo.mjs', 'nothing', { ...GOOD, value: undefined }),
  row('is a plain function that returns a promise', 'echo.mjs', 'promised', { ...GOOD, value: 'kept' }),
  row('takes a transferred buffer of 64 MB', 'echo.mjs', 'sizeOf', {
    ...GOOD,
    scene: bigBuffer,
    value: 64 * 1024 * 1024,
    moves: true,
    inProcess: { why: 'memory does not move between processes: it is copied', moves: false },
  }),
  row('is given shared memory', 'echo.mjs', 'sizeOf', {
    ...GOOD,
    scene: sharedMemory,
    value: 8,
    inProcess: {
      why: 'no memory is shared between processes: the input is refused before anything runs',
      ...{ status: 'rejected', code: 'NOT_CLONEABLE', fate: 'kept', value: undefined },
    },
  }),
  row('answers while the host is blocked past the deadline', 'answer.mjs', 'answerWhileNobodyLooks', {
    ...GOOD,
    scene: blockedHost,
    limits: { runTimeoutMs: 250 },
    value: 'in time',
  }),

  row('exits with 0', 'exit.mjs', 'exitZero', EXITED),
  row('exits with 3', 'exit.mjs', 'exitThree', EXITED),
  row('exits again in an exit handler', 'exit.mjs', 'exitInExitHandler', EXITED),
  row('leaves an exit handler that exits', 'exit.mjs', 'leaveExitHandler', {
    ...SPOILED,
    value: 'done',
    finding: 'process-listener',
  }),
  row('throws where nothing catches', 'exit.mjs', 'throwLater', UNCAUGHT),
  row('throws null where nothing catches', 'exit.mjs', 'throwNullLater', UNCAUGHT),
  row('leaves a rejection unheard', 'exit.mjs', 'rejectUnheard', UNCAUGHT),
  row('removes all listeners, then throws uncaught', 'exit.mjs', 'removeListenersThenThrow', UNCAUGHT),
  row('exhausts its heap', 'exit.mjs', 'exhaustHeap', EXHAUSTED),
  row('exhausts its heap by text', 'exit.mjs', 'exhaustHeapByText', {
    ...EXHAUSTED,
    limits: { maxOldGenerationSizeMb: 256 },
    inProcess: { why: 'what a process may add at its limit costs its host nothing', limits: {} },
  }),

  row('loops for ever', 'hang.mjs', 'loopForever', KILLED),
  row('loops for ever and is cancelled', 'hang.mjs', 'loopForever', { ...CANCELLED, scene: cancelWhenRunning() }),
  row('waits for ever in Atomics.wait', 'hang.mjs', 'waitForever', KILLED),
  row('spins in microtasks for ever', 'hang.mjs', 'spinMicrotasks', KILLED),
  row('never settles', 'hang.mjs', 'neverSettle', KILLED),
  row('never settles and is cancelled', 'hang.mjs', 'neverSettle', { ...CANCELLED, scene: cancelWhenRunning() }),
  row('never settles with a ticking timer', 'hang.mjs', 'neverSettleTicking', KILLED),
  row('backtracks in a regular expression', 'hang.mjs', 'backtrack', KILLED),
  row('blocks in execFileSync', 'hang.mjs', 'sleepBlocking', {
    ...KILLED,
    scene: given({ seconds: 1 }),
  }),
  row('blocks in native code and is cancelled', 'hang.mjs', 'hashBlocking', {
    ...CANCELLED,
    fate: 'any',
    limits: { graceMs: 80, killMs: 300 },
    scene: cancelWhenRunning({ iterations: 1_500_000 }),
    inProcess: { why: 'a process is killed in native code too, at once', fate: 'condemned' },
  }),
  row('blocks in a read of a FIFO', 'hang.mjs', 'readFifo', {
    ...KILLED,
    scene: blockedFifo,
    fate: 'abandoned',
    limits: { runTimeoutMs: 1_000, graceMs: 80, killMs: 300 },
    inProcess: { why: 'a kill ends what blocks in the system, and is proven', fate: 'condemned' },
  }),
  row('stops within its grace', 'hang.mjs', 'obey', {
    ...KILLED,
    fate: 'kept',
    limits: { runTimeoutMs: 100, graceMs: 5_000 },
  }),
  row('stops within its grace when cancelled', 'hang.mjs', 'obey', {
    ...CANCELLED,
    fate: 'kept',
    limits: { graceMs: 5_000 },
    scene: cancelWhenRunning(),
  }),
  row('asks in a busy loop whether to stop', 'hang.mjs', 'obeyInLoop', {
    ...KILLED,
    fate: 'kept',
    limits: { runTimeoutMs: 100, graceMs: 5_000 },
  }),
  row('answers within the grace', 'hang.mjs', 'answerWhenStopped', {
    ...GOOD,
    limits: { runTimeoutMs: 100, graceMs: 5_000 },
    value: 'all the same',
  }),
  row('fails by itself within the grace', 'hang.mjs', 'failWhenStopped', {
    ...TOOL_ERROR,
    limits: { runTimeoutMs: 100, graceMs: 5_000 },
  }),

  row('never finishes loading', 'load/never-loads.mjs', 'default', KILLED),
  row('loops while loading', 'load/loops-at-load.mjs', 'default', KILLED),
  row('throws while loading', 'load/throws-at-load.mjs', 'default', TOOL_LOAD),
  row('exits while loading', 'load/exits-at-load.mjs', 'default', EXITED),
  row('has a syntax error', 'load/syntax-error.mjs', 'default', TOOL_LOAD),
  row('does not exist', 'load/nowhere.mjs', 'default', TOOL_LOAD),
  row('lacks the export', 'load/lacks-export.mjs', 'default', TOOL_LOAD),
  row('exports something that is no function', 'load/lacks-export.mjs', 'something', TOOL_LOAD),
  row('sets up a timer while loading', 'load/leaves-interval-at-load.mjs', 'default', GOOD),

  row('leaves an interval', 'leak.mjs', 'leaveInterval', { ...SPOILED, finding: 'residual-handle' }),
  row('leaves a timer that will throw', 'leak.mjs', 'leaveThrowingTimer', SPOILED),
  row('leaves a server', 'leak.mjs', 'leaveServer', { ...SPOILED, finding: 'residual-handle' }),
  row("leaves an unref'ed server", 'leak.mjs', 'leaveHiddenServer', { ...SPOILED, finding: 'residual-handle' }),
  row('leaves a nested thread', 'leak.mjs', 'leaveThread', { ...SPOILED, finding: 'nested-thread' }),
  row('leaves a child process', 'leak.mjs', 'leaveChild', { ...SPOILED, finding: 'child-process' }),
  row('leaves a global', 'leak.mjs', 'leaveGlobal', { ...SPOILED, finding: 'global-added' }),
  row('leaves a symbol on the global', 'leak.mjs', 'leaveSymbolGlobal', { ...GOOD, finding: 'global-symbol-added' }),
  row('pollutes Object.prototype', 'leak.mjs', 'pollutePrototype', { ...SPOILED, finding: 'intrinsic-changed' }),
  row('replaces an intrinsic', 'leak.mjs', 'replaceIntrinsic', { ...SPOILED, finding: 'intrinsic-changed' }),
  row('leaves a listener on process', 'leak.mjs', 'leaveProcessListener', { ...SPOILED, finding: 'process-listener' }),
  row('changes the environment', 'leak.mjs', 'changeEnv', { ...GOOD, finding: 'env-changed' }),
  row('leaves microtasks that end', 'leak.mjs', 'leaveManyMicrotasks', { ...GOOD, value: 'done' }),
  row('breaks its own reset', 'hooks.mjs', 'default', {
    ...SPOILED,
    scene: given({ broken: 'reset' }),
    finding: 'reset-failed',
  }),
  row('hangs in its reset', 'hooks.mjs', 'default', {
    ...SPOILED,
    scene: given({ broken: 'reset-hangs' }),
    finding: 'reset-failed',
  }),
  row('fails its health check', 'hooks.mjs', 'default', {
    ...SPOILED,
    scene: given({ broken: 'health' }),
    finding: 'health-failed',
  }),

  row('posts forged answers to parentPort', 'tamper.mjs', 'postToParentPort', { ...GOOD, ...HONEST, fate: 'any' }),
  row('posts forged answers to the ports it finds', 'tamper.mjs', 'postToHandles', {
    ...SPOILED,
    ...HONEST,
    finding: 'nonce-violation',
    inProcess: { why: 'it has no port to find; its link has a row of its own', fate: 'kept', finding: null },
  }),
  row('closes the ports it finds', 'tamper.mjs', 'closeHandles', {
    ...EXITED,
    status: 'any',
    code: 'any',
    inProcess: { why: 'it has no port to find; its link has a row of its own', ...GOOD, ...HONEST },
  }),
  row('patches postMessage to forge its answer', 'tamper.mjs', 'patchPostMessage', { ...SPOILED, ...HONEST }),
  row('silences postMessage and emit', 'tamper.mjs', 'silencePostMessage', { ...SPOILED, ...HONEST }),
  row('removes all listeners from process', 'tamper.mjs', 'removeProcessListeners', {
    ...GOOD,
    ...HONEST,
    fate: 'any',
  }),
  row('breaks the intrinsics', 'tamper.mjs', 'breakIntrinsics', { ...SPOILED, ...HONEST }),
  row('breaks Promise.prototype.then', 'tamper.mjs', 'breakPromises', { ...SPOILED, ...HONEST }),
  row('answers a thenable that settles twice', 'tamper.mjs', 'thenableTwice', { ...GOOD, ...HONEST }),
  row('floods its progress', 'tamper.mjs', 'floodProgress', { ...GOOD, ...HONEST }),
  row('floods its logger', 'tamper.mjs', 'floodLogger', { ...GOOD, ...HONEST }),
  row('floods its output and returns', 'exit.mjs', 'floodThenReturn', {
    ...GOOD,
    scene: given({ lines: 20_000 }),
  }),
  row('floods its output and throws', 'exit.mjs', 'floodThenThrow', {
    ...TOOL_ERROR,
    scene: given({ lines: 20_000 }),
  }),
  row('floods its output and exits', 'exit.mjs', 'floodThenExit', {
    ...EXITED,
    scene: given({ lines: 20_000 }),
  }),
  row('floods its output and hangs', 'exit.mjs', 'floodThenHang', {
    ...KILLED,
    limits: { runTimeoutMs: 1_000, graceMs: 80 },
    scene: given({ lines: 20_000 }),
  }),
];
