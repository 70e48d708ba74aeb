/**
 * Opening: from the making of a supervisor to its first grant, and the health of its log from then on.
 *
 * Invariants: where the log survives, nothing is granted before what it holds was decided; a log that cannot be read opens
 * nothing. Without such a log there is nothing to wait for.
 * Deliberately absent: the deciding (`record/recovery.ts`).
 */
import type { Impairments } from './impairments.ts';
import type { SupervisorConfig } from './model/options.ts';
import type { RecoveryReport } from './model/recovery.ts';
import type { BlobStore, EventLog, LogHealth } from './model/stores.ts';
import type { Redactor } from './output/redaction.ts';
import { survivorsOfLostHosts } from './process/survivors.ts';
import { recover } from './record/recovery.ts';

export interface OpeningParts {
  readonly config: SupervisorConfig;
  readonly eventLog: EventLog;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  readonly impairments: Impairments;
  /** It is decided what the log holds, or cannot be: once. `isOpen` tells which. */
  onDecided(): void;
}

const NOTHING: RecoveryReport = Object.freeze({
  closed: Object.freeze([]),
  held: Object.freeze([]),
  rerunnable: Object.freeze([]),
  reconciled: Object.freeze([]),
  failures: Object.freeze([]),
  survivors: Object.freeze([]),
});

export class Opening {
  /** Leases may be granted. */
  isOpen = false;
  readonly #parts: OpeningParts;
  readonly #ended = new AbortController();
  #recovery: Promise<RecoveryReport> | null = null;
  #unlisten: (() => void) | null = null;

  constructor(parts: OpeningParts) {
    this.#parts = parts;
  }

  /** At once when there is nothing to decide. What the log holds is read as it is now. */
  begin(): void {
    const { eventLog, onDecided } = this.#parts;
    this.#unlisten = eventLog.onHealth?.((health) => this.#noteHealth(health)) ?? null;
    this.#noteHealth(eventLog.health ?? 'writable');
    if (eventLog.durability === 'none') {
      this.#recovery = Promise.resolve(NOTHING);
      this.isOpen = true;
      onDecided();
    } else this.#recovery = this.#recover();
  }

  /** That of the start; once more when the log could not be read then. Never rejects. */
  recovered(): Promise<RecoveryReport> {
    this.#recovery ??= this.#recover();
    return this.#recovery;
  }

  /** Nothing more is decided, and the health of the log is of no interest. */
  end(): void {
    this.#ended.abort();
    this.#unlisten?.();
  }

  async #recover(): Promise<RecoveryReport> {
    const { config, eventLog, blobs, redactor, impairments, onDecided } = this.#parts;
    const { report, isRead } = await recover({
      eventLog,
      append: (event) => eventLog.append(event),
      blobs,
      redactor,
      clock: config.clock,
      hooks: config.reconcile,
      reconcileMs: config.defaults.reconcileMs,
      ended: this.#ended.signal,
      survivors: survivorsOfLostHosts,
    });
    if (this.#ended.signal.aborted) return report;
    // Whoever asks again may be luckier.
    if (!isRead) this.#recovery = null;
    this.isOpen = isRead;
    impairments.note('recovery', isRead ? null : 'what the event log holds cannot be read');
    onDecided();
    return report;
  }

  #noteHealth(health: LogHealth): void {
    this.#parts.impairments.note('log', health === 'writable' ? null : `the event log is ${health}`);
  }
}
