/**
 * Faults that a thread cannot be put through: its host would end with it, or hang, or keep what it left.
 *
 * Invariant: as in `fault-cases.ts`; and each costs one process, whatever it did to itself, its link or its descendants.
 * Deliberately absent: what a thread survives as well.
 */
import { HAS_COMPILER } from '../support/fault-addon.ts';
import { CANCELLED, EXITED, type FaultCase, GOOD, HONEST, KILLED, row, SPOILED, TOOL_ERROR } from './fault-row.ts';
import { cancelWhenRunning, crashingAddon, given, unopenedFifo } from './fault-scenes.ts';

const endedBy = (signal: string) => ({
  ...EXITED,
  exit: { code: null, signal },
  says: new RegExp(`signal ${signal}\\b`),
});
const exitedBy = (code: number) => ({
  ...EXITED,
  exit: { code, signal: null },
  says: new RegExp(`exit code ${code}\\b`),
});
const FLOOD_BYTES = 8 * 1024 * 1024;

/** Where no compiler is, the signal of such a crash stands alone. */
const CRASH_IN_NATIVE_CODE = HAS_COMPILER
  ? [row('crashes in native code', 'crash.mjs', 'crashInNativeCode', { ...endedBy('SIGSEGV'), scene: crashingAddon })]
  : [];

export const PROCESS_CASES: readonly FaultCase[] = [
  ...CRASH_IN_NATIVE_CODE,
  row('aborts', 'crash.mjs', 'abort', endedBy('SIGABRT')),
  ...['SIGSEGV', 'SIGBUS', 'SIGTERM', 'SIGKILL'].map((signal) =>
    row(`ends itself by ${signal}`, 'crash.mjs', 'signalSelf', { ...endedBy(signal), scene: given({ signal }) }),
  ),
  row('stops itself by SIGSTOP', 'crash.mjs', 'signalSelf', { ...KILLED, scene: given({ signal: 'SIGSTOP' }) }),
  row('kills its process group', 'crash.mjs', 'signalGroup', {
    ...endedBy('SIGKILL'),
    scene: given({ signal: 'SIGKILL' }),
  }),
  row('blocks in an open of a FIFO', 'crash.mjs', 'openFifo', { ...KILLED, scene: unopenedFifo }),
  row('swells by a gibibyte outside its heap and is cancelled', 'crash.mjs', 'swellThenHang', {
    ...CANCELLED,
    scene: cancelWhenRunning({ mebibytes: 1_024 }),
  }),
  row('asks for more memory than the system grants', 'crash.mjs', 'askPastLimit', {
    ...TOOL_ERROR,
    scene: given({ mebibytes: 1_024 }),
    says: /allocation failed/,
  }),

  row('leaves children that have children', 'crash.mjs', 'leaveFamilies', {
    ...SPOILED,
    ...HONEST,
    scene: given({ count: 4 }),
    finding: 'child-process',
  }),
  row('starts children that have children and exits', 'crash.mjs', 'breedThenExit', {
    ...exitedBy(0),
    scene: given({ count: 4 }),
  }),
  row('leaves a child in a session of its own', 'crash.mjs', 'leaveSession', {
    ...SPOILED,
    ...HONEST,
    finding: 'child-process',
  }),
  row('leaves a grandchild in a session of its own', 'crash.mjs', 'leaveGrandchild', { ...GOOD, ...HONEST }),
  row('leaves its pipes to a child and exits', 'crash.mjs', 'leaveHolderThenExit', exitedBy(0)),

  row(
    'leaves its pipes to a child that has no marker and exits',
    'crash.mjs',
    'leaveUnmarkedHolderThenExit',
    exitedBy(0),
  ),
  row('closes its standard streams', 'crash.mjs', 'closeStreams', { ...GOOD, ...HONEST }),

  row('floods its descriptor past every stream', 'crash.mjs', 'floodDescriptor', {
    ...GOOD,
    ...HONEST,
    scene: given({ bytes: FLOOD_BYTES }),
    stdoutBytes: FLOOD_BYTES,
  }),
  row('has a child flood its descriptor', 'crash.mjs', 'floodThroughChild', {
    ...GOOD,
    ...HONEST,
    scene: given({ bytes: FLOOD_BYTES }),
    stdoutBytes: FLOOD_BYTES,
  }),

  row('closes its link', 'crash.mjs', 'closeLink', EXITED),
  row('destroys every handle it finds', 'crash.mjs', 'destroyHandles', EXITED),
  row('forges an answer on its link', 'crash.mjs', 'forgeOnLink', {
    ...SPOILED,
    ...HONEST,
    finding: 'nonce-violation',
  }),
  row('writes noise on its link', 'crash.mjs', 'writeNoiseOnLink', EXITED),
];
