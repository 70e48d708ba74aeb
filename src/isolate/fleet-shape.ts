/**
 * What a fleet is made of, and who is told of it and says what it may. Types only.
 *
 * Invariant: a shape never changes; what several fleets share is asked of the owner each time.
 * Deliberately absent: the lives themselves (`fleet.ts`).
 */
import type { IsolateState } from '../../machines/index.ts';
import type { Share } from '../model/option-shapes.ts';
import type { Isolation } from '../model/work.ts';
import type { TenureSource } from './tenure.ts';

/** What kind of isolates a fleet is made of, and how many. */
export interface FleetShape {
  readonly kind: Isolation;
  /** Leases at once. */
  readonly leases: number;
  /** Kept booted beyond those; of a kind that is booted on demand, from the first demand on. */
  readonly standby: number;
  /** Booted before anybody asks. */
  readonly isEager: boolean;
  /** Each is made for one lease and ends with it. */
  readonly isOnce: boolean;
  readonly share: Share;
  /** One that was given up keeps what it was given: its place is free only once its end was seen. */
  readonly keepsPlace: boolean;
  /** From the kill to the proof of the end. Milliseconds. */
  readonly killMs: number;
  readonly source: TenureSource;
}

/** Who is told of the fleet's changes, and who says what it may. */
export interface FleetOwner {
  /** Capacity may have changed. */
  onCapacity(): void;
  onViolation(): void;
  onIsolateEvent(type: 'isolate.replaced' | 'isolate.abandoned', isolate: string): void;
  /** `impairment` may have changed, or the number of the abandoned. */
  onImpairment(): void;
  /** Whether somebody waits for isolates to boot: a wait before the next boot then holds the process open. */
  isAwaited(): boolean;
  /** How many requests wait for this fleet. */
  waiting(): number;
  /** Whether one more may be held, by limits it shares with other fleets. */
  mayHold(): boolean;
  /** Whether one more may be booted, by limits it shares with other fleets. `forStandby`: nobody waits for it. */
  mayBoot(forStandby: boolean): boolean;
}

/** What is known of an isolate that outlived its kill. */
export interface IsolateInfo {
  readonly id: string;
  readonly kind: Isolation;
  readonly state: IsolateState;
  readonly leases: number;
}
