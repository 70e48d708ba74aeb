/**
 * Channels: the events of a supervisor on `node:diagnostics_channel`, for whoever watches a process from outside its code.
 *
 * Invariants: messages are frozen and hold names, numbers and kinds alone, never an input, a value, output, a reason or the words
 * of an error; nothing is built without a subscriber; the messages of one request are told whole, or not at all when nobody
 * listened as it began. Deliberately absent: protection from a subscriber that throws, which Node reports as uncaught.
 */
import { type Channel, channel } from 'node:diagnostics_channel';
import type { Event, Observer, RequestEvent } from '../model/event.ts';
import type { RunResult } from '../model/result.ts';

/** The first word of an event's type names its channel: `leasehold:request` tells `request.started` and `request.ended`. */
const OF_REQUESTS = ['request', 'lease', 'attempt', 'stop'] as const;
const OF_SUPERVISORS = ['isolate', 'supervisor'] as const;

export class Channels implements Observer {
  readonly #ofRequests = OF_REQUESTS.map((word) => channel(`leasehold:${word}`));
  readonly #ofSupervisors = OF_SUPERVISORS.map((word) => channel(`leasehold:${word}`));
  readonly #byWord: ReadonlyMap<string, Channel> = new Map(
    [...this.#ofRequests, ...this.#ofSupervisors].map((one) => [String(one.name).slice('leasehold:'.length), one]),
  );

  /** Somebody listens to what requests do. */
  get hearsRequests(): boolean {
    return this.#ofRequests.some(isHeard);
  }
  /** Somebody listens to what happens to isolates and to the supervisor. */
  get hearsSupervisors(): boolean {
    return this.#ofSupervisors.some(isHeard);
  }

  onEvent(event: Event): void {
    const told = this.#byWord.get(event.type.slice(0, event.type.indexOf('.')));
    if (told?.hasSubscribers === true) told.publish(Object.freeze(messageOf(event)));
  }
}

const isHeard = ({ hasSubscribers }: Channel): boolean => hasSubscribers;

/** What of an event anybody may see. */
function messageOf(event: Event): object {
  if (!('requestId' in event)) return { ...event };
  const { type, seq, at, requestId, tool, tenant, run, branch } = event;
  return { type, seq, at, requestId, tool, tenant, run, branch, ...detailsOf(event) };
}

function detailsOf(event: RequestEvent): object {
  switch (event.type) {
    case 'lease.queued':
      return { lease: event.lease, attempt: event.attempt };
    case 'lease.granted':
      return { lease: event.lease, isolate: event.isolate };
    case 'lease.quarantined': {
      const findings = event.findings.map(({ kind, condemns }) => Object.freeze({ kind, condemns }));
      return { lease: event.lease, isolate: event.isolate, findings: Object.freeze(findings) };
    }
    case 'stop.recorded': {
      const { kind, atMs, state, scope } = event.stop;
      return { kind, atMs, state, ...(scope !== undefined && { scope }), accepted: event.accepted };
    }
    case 'attempt.ended': {
      const { number, status, cause, lease } = event.attempt;
      return { number, status, cause: cause?.kind ?? null, lease: lease?.id ?? null };
    }
    case 'request.ended':
      return endOf(event.result);
    default:
      return {};
  }
}

function endOf({ status, error, cause, late, request, timing, intents, durability }: RunResult): object {
  return {
    status,
    code: error?.code ?? null,
    cause: cause?.kind ?? null,
    late,
    ...(request.group !== undefined && { group: request.group }),
    attempts: request.attempts.length,
    totalMs: timing.totalMs,
    intents: Object.freeze(intents.map(({ name, state }) => Object.freeze({ name, state }))),
    durability,
  };
}
