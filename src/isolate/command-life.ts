/**
 * CommandLife: one command, from its start to the proof that nothing of it is left.
 *
 * Invariants: its answer is told at once when the leader ended, except where the plan makes it depend on what is left;
 * `drained` and `looked` follow, once each, within the bounds of the plan and the source; KILL is sent to a group that is
 * not known to be gone, and only there. Deliberately absent: the search itself (`process/sweep.ts`), and words.
 */
import type { Clock, Timer } from '../model/time.ts';
import type { ProcessBackend, ProcessListener, RunningProcess, Survivor } from '../process/backend.ts';
import { Clearance } from '../process/clearance.ts';
import { type DrainBounds, type DrainEnd, PipeDrain, POST_KILL_DRAIN } from '../process/drain.ts';
import { ProcessGroup } from '../process/group.ts';
import { childEnv } from '../process/marker.ts';
import { holdersAmong, lookWithin, NOTHING_FOUND, type SweepReport, type SweepTarget } from '../process/sweep.ts';
import { type Failure, toFailure } from '../wire/failure.ts';
import type { WireFinding } from '../wire/protocol.ts';
import {
  answer,
  type CommandHearer,
  drained,
  failureOfExit,
  failureOfOrphans,
  failureOfStart,
  failureOfStop,
  findingOfRest,
  findingsOf,
  hasLeft,
  NEVER_ENDED,
  type ProcessExit,
  type Told,
} from './command-words.ts';
import type { CommandRun } from './tenure.ts';

export interface CommandBounds {
  readonly clock: Clock;
  readonly killMs: number;
  readonly sweepMs: number;
  readonly backend: ProcessBackend;
}

/** The first pause between looks at a group that has its grace; each is twice the one before. Milliseconds. */
const GRACE_LOOK_MS = 5;
const LONGEST_LOOK_MS = 100;

/** In turn: its end was not seen; its answer depends on what it left; was given; all is told; and nothing of it is left. */
type Phase = 'running' | 'judged' | 'answered' | 'told' | 'clear' | 'gone';

export class CommandLife implements ProcessListener {
  readonly #bounds: CommandBounds;
  readonly #run: CommandRun;
  readonly #hearer: CommandHearer;
  readonly #startedAt: number;
  readonly #process: RunningProcess;
  readonly #group: ProcessGroup | null;
  #phase: Phase = 'running';
  /** The most that its host asked of it. */
  #order: 'none' | 'stop' | 'kill' = 'none';
  #exit: ProcessExit | null = null;
  #exitAt = 0;
  /** When it was first told to end, if it ran then. */
  #stoppedAt: number | null = null;
  /** Its standard input broke, which is why it was told to end. */
  #broken: Failure | null = null;
  #timer: Timer | null = null;
  #drain: PipeDrain | null = null;
  #drainEnd: DrainEnd = 'eof';
  #holders: readonly string[] = [];
  #orphans: readonly Survivor[] | null = [];
  #sweepLeftMs: number;
  #clearance: Clearance | null = null;

  constructor(bounds: CommandBounds, run: CommandRun, hearer: CommandHearer) {
    const { backend, clock, sweepMs } = bounds;
    this.#bounds = bounds;
    this.#run = run;
    this.#hearer = hearer;
    this.#sweepLeftMs = sweepMs;
    this.#startedAt = clock.now();
    this.#process = backend.start({ ...run.plan, env: childEnv(run.plan.env) }, this);
    const { leader } = this.#process;
    this.#group = leader === null ? null : new ProcessGroup(backend, leader);
    if (leader !== null) hearer.onRecord({ t: 'started' });
  }

  /** Asks it to end: standard input is at its end, and its group gets TERM. */
  stop(): void {
    if (this.#isOver || this.#order !== 'none') return;
    this.#order = 'stop';
    this.#process.closeStdin();
    this.#noteStop();
    // A stopped process takes a signal only when it goes on; one whose input broke has been told.
    if (this.#broken === null) this.#group?.signal('SIGTERM', 'SIGCONT');
  }

  /** Ends it and all it started, whatever the plan allows; `onGone` follows once that is seen. */
  kill(): void {
    if (this.#order === 'kill') return;
    this.#order = 'kill';
    if (this.#phase === 'clear') this.#leave();
    if (this.#isOver || this.#group === null) return;
    this.#noteStop();
    this.#group.signal('SIGKILL');
    if (this.#phase === 'running') {
      this.#process.closeStdin();
      this.#arm(this.#bounds.killMs, () => this.#giveUp());
      // A drain or the rest of a grace is cut short; a search goes on, and it is bounded.
    } else if (this.#timer !== null || this.#drain !== null) this.#drainAndSweep();
  }

  onFailed(failure: Parameters<ProcessListener['onFailed']>[0]): void {
    this.#settle(failureOfStart(this.#run.plan, failure), { recalled: true, clean: true });
    this.#phase = 'told';
    this.#clear();
  }

  onChunk(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    if (this.#isOver) return;
    const wasKilled = this.#order === 'kill' || this.#group?.wasKilled === true;
    const postKill = wasKilled ? { postKill: true as const } : {};
    this.#hearer.onRecord({ t: 'output', stream, bytes, omittedBytes: 0, ...postKill, credit: 0 });
    this.#drain?.noteChunk();
  }

  onEnd(): void {
    if (this.#process.isRead) this.#drain?.noteEnd();
  }

  /** It is stopped as its host would stop it, but that its input stays open: an end would make a part look like the whole. */
  onBrokenStdin(error: unknown): void {
    if (this.#phase !== 'running' || this.#order !== 'none') return;
    this.#noteStop();
    if (this.#stoppedAt === null) return;
    this.#broken = toFailure(error, 'TOOL_ERROR');
    this.#group?.signal('SIGTERM', 'SIGCONT');
    this.#arm(this.#run.graceMs, () => this.#group?.signal('SIGKILL'));
  }

  onExit(code: number | null, signal: string | null): void {
    if (this.#phase === 'gone') return;
    const exit = { code, signal };
    const { plan } = this.#run;
    this.#exit = exit;
    this.#exitAt = this.#now();
    const isOwn = this.#stoppedAt === null;
    const failure = isOwn ? failureOfExit(plan, exit) : (this.#broken ?? failureOfStop(plan, exit));
    if (this.#isOver) {
      // It was given up, and has died after all.
      this.#settle(failure, { exit });
      this.#sweep();
      return;
    }
    this.#disarm();
    this.#phase = failure === null && plan.onOrphans === 'fail' ? 'judged' : 'answered';
    if (this.#phase === 'answered') this.#settle(failure, { exit });
    if (this.#order === 'kill' || this.#group?.wasKilled === true) this.#drainAndSweep();
    else if (!isOwn) this.#giveRest(GRACE_LOOK_MS);
    else this.#drainThen(plan.drain, () => void this.#endNaturally());
  }

  hold(how: 'ref' | 'unref'): void {
    this.#process[how]();
  }
  /** Lets go of everything, and tells nothing more. */
  close(): void {
    this.#phase = 'gone';
    this.#disarm();
    this.#drain?.cut();
    this.#clearance?.stop();
    this.#process.close();
  }

  /** The members of its group outlive a leader that was told to stop: they have the rest of the grace. */
  #giveRest(pauseMs: number): void {
    const leftMs = (this.#stoppedAt ?? 0) + this.#run.graceMs - this.#now();
    const isAlive = this.#group?.state === 'alive';
    if (isAlive && leftMs > 0) {
      this.#arm(Math.min(pauseMs, leftMs, LONGEST_LOOK_MS), () => this.#giveRest(pauseMs * 2));
      return;
    }
    if (isAlive) this.#group?.signal('SIGKILL');
    this.#drainAndSweep();
  }

  /** It ended by itself, and what it wrote has been read as far as the plan waits for it. */
  async #endNaturally(): Promise<void> {
    const group = this.#group as ProcessGroup;
    const { state } = group;
    if (this.#process.isRead && state === 'gone') return this.#finish(NOTHING_FOUND);
    if (this.#process.isRead && state === 'unknown') return this.#sweep();
    const from = this.#now();
    this.#orphans = await lookWithin(this.#target());
    this.#sweepLeftMs = Math.max(0, this.#sweepLeftMs - (this.#now() - from));
    if (this.#isOver) return;
    if (this.#orphans?.length === 0 && this.#process.isRead) return this.#finish(NOTHING_FOUND);
    this.#holders = holdersAmong(this.#orphans ?? []);
    if (this.#run.plan.onOrphans === 'allow' && this.#order !== 'kill') {
      this.#conclude([findingOfRest(this.#orphans)]);
      return this.#clear();
    }
    // With the group gone there is nobody whose last words a kill could bring: the search ends the others.
    if (state === 'gone') return this.#sweep();
    group.signal('SIGKILL');
    this.#drainAndSweep();
  }

  #drainThen(bounds: DrainBounds, then: () => void): void {
    this.#disarm();
    this.#drain?.cut();
    const onEnd = (ended: DrainEnd) => {
      this.#drain = null;
      // How it was when the command had ended counts, not that a kill has ended the rest.
      if (this.#drainEnd === 'eof') this.#drainEnd = ended;
      then();
    };
    this.#drain = this.#process.isRead ? null : new PipeDrain(this.#bounds.clock, bounds, onEnd);
    if (this.#drain === null) then();
  }

  #drainAndSweep(): void {
    this.#drainThen(POST_KILL_DRAIN, () => this.#sweep());
  }
  #sweep(): void {
    const target = this.#target();
    // Once all is told nobody reads any more, and the look alone decides.
    const again = { ...target, withinMs: this.#bounds.sweepMs, isRead: null };
    this.#clearance = new Clearance(this.#isOver ? again : target, again, {
      onSwept: (report) => this.#finish(report),
      onClear: () => this.#clear(),
    });
  }
  #target(): SweepTarget {
    const { backend, clock } = this.#bounds;
    const group = this.#group as ProcessGroup;
    return { backend, group, clock, withinMs: this.#sweepLeftMs, isRead: () => this.#process.isRead };
  }

  #giveUp(): void {
    this.#drainEnd = 'cap';
    this.#finish({ ...NOTHING_FOUND, verdict: 'contaminated', reason: 'its exit was not seen' });
  }

  #finish(report: SweepReport): void {
    if (this.#isOver) return;
    if (this.#holders.length === 0) this.#holders = report.holders;
    this.#conclude(findingsOf(report, this.#orphans), hasLeft(report, this.#orphans));
    if (report.verdict !== 'contaminated') this.#clear();
  }

  #conclude(findings: readonly WireFinding[], hasOrphans = true): void {
    const exit = this.#exit;
    if (this.#phase === 'judged' && exit !== null)
      this.#settle(hasOrphans ? failureOfOrphans(this.#run.plan, exit) : null, { exit });
    const ms = exit === null ? 0 : this.#now() - this.#exitAt;
    this.#hearer.onRecord(drained(this.#drainEnd, ms, this.#holders, this.#process.isAtEnd));
    this.#hearer.onRecord({ t: 'looked', findings, heapBytes: null });
    this.#phase = 'told';
    // Whoever still writes is not heard, and finds the pipe closed.
    this.#process.close();
  }

  #clear(): void {
    if (this.#phase !== 'told') return;
    this.#phase = 'clear';
    if (this.#order === 'kill') this.#leave();
  }

  #settle(failure: Failure | null, told: Told): void {
    this.#hearer.onRecord(answer(failure, this.#now() - this.#startedAt, told));
  }

  /** One that has ended already, though nobody has heard of it yet, has ended by itself. */
  #noteStop(): void {
    const { leader } = this.#process;
    if (this.#phase !== 'running' || leader === null || this.#bounds.backend.hasEnded(leader)) return;
    this.#stoppedAt ??= this.#now();
  }

  #leave(): void {
    this.#phase = 'gone';
    this.#process.close();
    this.#hearer.onGone(this.#exit ?? NEVER_ENDED);
  }

  get #isOver(): boolean {
    return this.#phase === 'told' || this.#phase === 'clear' || this.#phase === 'gone';
  }

  #now(): number {
    return this.#bounds.clock.now();
  }
  #arm(ms: number, fire: () => void): void {
    this.#disarm();
    this.#timer = this.#bounds.clock.setTimeout(fire, ms);
  }
  #disarm(): void {
    if (this.#timer !== null) this.#bounds.clock.clearTimeout(this.#timer);
    this.#timer = null;
  }
}
