/**
 * The three charts as the tests take them: an event of each type, and a shortest word into each state.
 *
 * Invariant: complete by type. Deliberately absent: what the charts answer; that is the matter of each test.
 */
import {
  type IsolateEvent,
  type IsolateState,
  isolateMachine,
  type LeaseEvent,
  type LeaseState,
  leaseMachine,
  type SupervisorEvent,
  type SupervisorState,
  supervisorMachine,
} from '../../machines/index.ts';
import type { Subject } from './table.ts';

export const lease: Subject<LeaseState, LeaseEvent> = {
  machine: leaseMachine,
  samples: {
    GRANTED: { type: 'GRANTED', isolate: 'isolate-1', kind: 'thread' },
    STARTED: { type: 'STARTED' },
    SETTLED: { type: 'SETTLED' },
    STOP: { type: 'STOP', kind: 'cancel' },
    FAILED: { type: 'FAILED' },
    LOST: { type: 'LOST' },
    EXITED: { type: 'EXITED' },
    ABANDONED: { type: 'ABANDONED' },
    CLEAN: { type: 'CLEAN' },
    DIRTY: { type: 'DIRTY' },
  },
  words: {
    queued: [],
    acquired: ['GRANTED'],
    running: ['GRANTED', 'STARTED'],
    terminating: ['GRANTED', 'STARTED', 'STOP'],
    draining: ['GRANTED', 'STARTED', 'SETTLED'],
    completed: ['STOP'],
    quarantined: ['GRANTED', 'STARTED', 'SETTLED', 'DIRTY'],
  },
};

export const isolate: Subject<IsolateState, IsolateEvent> = {
  machine: isolateMachine,
  samples: {
    BOOTED: { type: 'BOOTED' },
    BOOT_FAILED: { type: 'BOOT_FAILED' },
    LEASED: { type: 'LEASED' },
    RELEASED: { type: 'RELEASED' },
    FIT: { type: 'FIT' },
    CONDEMNED: { type: 'CONDEMNED' },
    RETIRE: { type: 'RETIRE' },
    EXITED: { type: 'EXITED' },
    ABANDONED: { type: 'ABANDONED' },
  },
  words: {
    booting: [],
    idle: ['BOOTED'],
    leased: ['BOOTED', 'LEASED'],
    resetting: ['BOOTED', 'LEASED', 'RELEASED'],
    quarantined: ['CONDEMNED'],
    retiring: ['RETIRE'],
    abandoned: ['RETIRE', 'ABANDONED'],
    gone: ['EXITED'],
  },
};

export const supervisor: Subject<SupervisorState, SupervisorEvent> = {
  machine: supervisorMachine,
  samples: {
    OPENED: { type: 'OPENED' },
    DEGRADE: { type: 'DEGRADE', reason: 'replacements' },
    HEAL: { type: 'HEAL' },
    DRAIN: { type: 'DRAIN' },
    CLOSE: { type: 'CLOSE' },
    CLOSED: { type: 'CLOSED' },
    REQUEST: { type: 'REQUEST', request: 'req-1' },
    STOP: { type: 'STOP', request: 'req-1', kind: 'cancel' },
    EXIT: { type: 'EXIT', isolate: 'isolate-1' },
    SETTLEMENT: { type: 'SETTLEMENT', request: 'req-1', status: 'succeeded' },
  },
  words: {
    opening: [],
    open: ['OPENED'],
    degraded: ['OPENED', 'DEGRADE'],
    draining: ['DRAIN'],
    closing: ['CLOSE'],
    closed: ['CLOSE', 'CLOSED'],
  },
};

export const subjects = { lease, isolate, supervisor };
