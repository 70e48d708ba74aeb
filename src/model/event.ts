/**
 * Events: what observers hear of requests and of the supervisor.
 *
 * Invariants: `seq` grows by one per supervisor; every request, `rejected` and `denied` ones included, has exactly one
 * `request.started` and one `request.ended`, and nothing after it. Deliberately absent: delivery (`run/observers.ts`).
 */
import type { Attempt, Finding, RunResult } from './result.ts';
import type { Stop } from './stop.ts';

interface Stamp {
  /** Position among all events of this supervisor, from 1. */
  readonly seq: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** What every event of a request names. */
interface RequestStamp extends Stamp {
  readonly requestId: string;
  readonly tool: string;
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
}

/** Progress a tool told: `value` from 0 to 1, or null when it cannot know. */
export interface Progress {
  readonly value: number | null;
  readonly note?: string;
}

/**
 * Output as it came, redacted; no border of two pieces tears a character or a known value. What could still become one is held
 * back until it cannot, or until the end of the attempt. A piece has at most 65 536 UTF-16 units: longer text comes as several.
 */
export interface OutputPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  /** Bytes that were dropped just before this piece. */
  readonly omittedBytes: number;
}

export type RequestEvent = RequestStamp &
  /** Of a tool with `secrets` without its labels, which its result tells once they are known to hide nothing. */
  (
    | { readonly type: 'request.started'; readonly labels: Readonly<Record<string, string>> }
    | { readonly type: 'lease.queued'; readonly lease: string; readonly attempt: number }
    | { readonly type: 'lease.granted'; readonly lease: string; readonly isolate: string }
    | ({ readonly type: 'tool.progress' } & Progress)
    | ({ readonly type: 'tool.output' } & OutputPiece)
    /** `accepted` is false when the outcome was already decided. */
    | { readonly type: 'stop.recorded'; readonly stop: Stop; readonly accepted: boolean }
    | {
        readonly type: 'lease.quarantined';
        readonly lease: string;
        readonly isolate: string;
        readonly findings: readonly Finding[];
      }
    | { readonly type: 'attempt.ended'; readonly attempt: Attempt }
    | { readonly type: 'request.ended'; readonly result: RunResult }
  );

export type SupervisorEvent = Stamp &
  (
    | { readonly type: 'isolate.replaced'; readonly isolate: string }
    | { readonly type: 'isolate.abandoned'; readonly isolate: string }
    | { readonly type: 'supervisor.degraded' }
    | { readonly type: 'supervisor.healed' }
  );

/** Everything an observer can hear. Frozen. */
export type Event = RequestEvent | SupervisorEvent;

/** Hears events in order, synchronously. One that throws is told once through a diagnostic and hears no more. */
export interface Observer {
  onEvent(event: Event): void;
}
