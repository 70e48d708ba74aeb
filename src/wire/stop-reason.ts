/**
 * The reason an aborted signal carries, per kind of stop.
 *
 * Invariant: an `AbortError` or a `TimeoutError` with the public code of the stop, made of references that no tool can
 * replace. Deliberately absent: when anything stops.
 */
import type { StopKind } from '../model/stop.ts';
import { defineProperty } from './uncurried.ts';

const { Error } = globalThis;

/** Name and code. */
const REASONS: Readonly<Record<StopKind, readonly [name: 'AbortError' | 'TimeoutError', code: string]>> = {
  cancel: ['AbortError', 'CANCELLED'],
  shutdown: ['AbortError', 'SHUTDOWN'],
  'parent-deadline': ['TimeoutError', 'PARENT_DEADLINE'],
  'operation-timeout': ['TimeoutError', 'OPERATION_TIMEOUT'],
  'queue-timeout': ['TimeoutError', 'QUEUE_TIMEOUT'],
  'run-timeout': ['TimeoutError', 'RUN_TIMEOUT'],
  'output-limit': ['AbortError', 'OUTPUT_LIMIT'],
  'health-failure': ['AbortError', 'HEALTH'],
  'isolate-exit': ['AbortError', 'ISOLATE_EXITED'],
  'lease-unavailable': ['AbortError', 'LEASE_UNAVAILABLE'],
  'host-lost': ['AbortError', 'HOST_LOST'],
};

/** `kind` comes from the other side: an unknown one counts as a cancel. */
export function stopReason(kind: string, text: string | null): Error {
  const { 0: name, 1: code } = REASONS[kind as StopKind] ?? REASONS.cancel;
  const reason = new Error(text === null ? `stopped: ${kind}` : `stopped: ${kind}: ${text}`);
  const hidden = { enumerable: false, writable: true, configurable: true };
  defineProperty(reason, 'name', { value: name, ...hidden });
  defineProperty(reason, 'code', { value: `ERR_LEASEHOLD_${code}`, ...hidden, enumerable: true });
  return reason;
}
