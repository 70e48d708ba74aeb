/**
 * The options `retry` and `repair`, parsed: checked by hand, completed, frozen.
 *
 * Invariant: every field is present and valid, and the waits that follow from them are finite. Deliberately absent: what follows
 * from them (`decide/retry.ts`).
 */
import type { BackoffOptions, Repair, RepairOptions, RetryOptions } from './control-shapes.ts';
import { invalidOption } from './errors.ts';
import { countOr, durationOr, functionOr, nested } from './option-checks.ts';

/** How long to wait before each further attempt. */
export interface Backoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** From 0 to 1. */
  readonly jitter: number;
  readonly random: () => number;
}
export interface RetryConfig {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly when: NonNullable<RetryOptions['when']> | null;
}
export interface RepairConfig {
  readonly with: Repair;
  readonly attempts: number;
  /** Null: `validateMs`. */
  readonly withinMs: number | null;
}

const MOST_ATTEMPTS = 100;
const RETRY: ReadonlySet<string> = new Set(['attempts', 'backoff', 'when']);
const BACKOFF: ReadonlySet<string> = new Set(['initialMs', 'factor', 'maxMs', 'jitter', 'random']);
const REPAIR: ReadonlySet<string> = new Set(['with', 'attempts', 'withinMs']);

/** Null when undefined. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function retryOf(value: RetryOptions | undefined): RetryConfig | null {
  if (value === undefined) return null;
  const given = nested<RetryOptions>('retry', value, RETRY);
  return Object.freeze<RetryConfig>({
    attempts: countOr('retry.attempts', given.attempts, 3, 1, MOST_ATTEMPTS),
    backoff: backoffOf(given.backoff),
    when: functionOr('retry.when', given.when),
  });
}

/** Null when undefined; a function is short for `{ with }`. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function repairOf(value: Repair | RepairOptions | undefined): RepairConfig | null {
  if (value === undefined) return null;
  const given = typeof value === 'function' ? { with: value } : nested<RepairOptions>('repair', value, REPAIR);
  const repair = functionOr('repair.with', given.with);
  if (repair === null) throw invalidOption('repair.with', given.with, 'a function');
  return Object.freeze<RepairConfig>({
    with: repair,
    attempts: countOr('repair.attempts', given.attempts, 3, 1, MOST_ATTEMPTS),
    withinMs: durationOr('repair.withinMs', given.withinMs, null),
  });
}

function backoffOf(value: BackoffOptions | undefined): Backoff {
  const given = nested<BackoffOptions>('retry.backoff', value, BACKOFF);
  const { jitter } = given;
  return Object.freeze<Backoff>({
    initialMs: numberOr('retry.backoff.initialMs', given.initialMs, 100, 0),
    factor: numberOr('retry.backoff.factor', given.factor, 2, 1),
    maxMs: numberOr('retry.backoff.maxMs', given.maxMs, 10_000, 0),
    jitter: jitter === 'full' || jitter === undefined ? 1 : jitter === 'none' ? 0 : share(jitter),
    random: functionOr('retry.backoff.random', given.random) ?? Math.random,
  });
}

function numberOr(name: string, value: unknown, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && value >= least && value < Number.POSITIVE_INFINITY) return value;
  throw invalidOption(name, value, `a finite number of at least ${least}`);
}

function share(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw invalidOption('retry.backoff.jitter', value, "'full', 'none', or a number from 0 to 1");
}
