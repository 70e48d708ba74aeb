/**
 * What every sweep of blobs agrees on: how long a blob that nobody names yet is safe.
 *
 * Invariant: one default for all stores. Deliberately absent: the sweeping.
 */
import { durationOr } from '../model/option-checks.ts';
import type { SweepOptions } from '../model/stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function recentMsOf({ recentMs }: SweepOptions): number {
  return durationOr('recentMs', recentMs, DAY_MS);
}
