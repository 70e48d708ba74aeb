/**
 * CommandLife: one command, from its start to the proof that nothing of it is left.
 *
 * Invariants: its answer is told at once when the leader ended, except where the plan makes it depend on what is left;
 * `drained` and `looked` follow, once each, within the bounds of the plan and the source; KILL is sent to a group that is
 * not known to be gone, and only there. Deliberately absent: the search itself (`process/sweep.ts`), and words.
 */
import type { Clock, Timer } from '../model/time.ts';
import type { ProcessBackend, ProcessListener, RunningProcess, Survivor } from '../process/backend.ts';
import { type DrainBounds, type DrainEnd, PipeDrain, POST_KILL_DRAIN } from '../process/drain.ts';
import { ProcessGroup } from '../process/group.ts';
import { childEnv } from '../process/marker.ts';
import { Reaper } from '../process/reaper.ts';
import {
  holdersAmong,
  lookWithin,
  NOTHING_FOUND,
  type SweepReport,
  type SweepTarget,
  sweep,
} from '../process/sweep.ts';
import type { Failure } from '../wire/failure.ts';
import type { WireFinding } from '../wire/protocol.ts';
import {
  answer,
  type CommandHearer,
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

export class CommandLife implements ProcessListener {
  readonly #bounds: CommandBounds;
  readonly #run: CommandRun;
  readonly #hearer: CommandHearer;
  readonly #startedAt: number;
  readonly #process: RunningProcess;
  readonly #group: ProcessGroup | null;
  #exit: ProcessExit | null = null;
  #exitAt = 0;
  /** When it was told to stop while it ran. */
  #stoppedAt: number | null = null;
  #isStopped = false;
  #isKilled = false;
  #killSent = false;
  #hasSettled = false;
  /** Everything is told; what is left to do is to be gone. */
  #isOver = false;
  #isGone = false;
  #timer: Timer | null = null;
  #drain: PipeDrain | null = null;
  #drainEnd: DrainEnd = 'eof';
  #holders: readonly string[] = [];
  #orphans: readonly Survivor[] | null = [];
  #sweepLeftMs: number;
  #reaper: Reaper | null = null;

  constructor(bounds: CommandBounds, run: CommandRun, hearer: CommandHearer) {
    const { backend, clock, sweepMs } = bounds;
    const { file, args, cwd, env, stdin } = run.plan;
    this.#bounds = bounds;
    this.#run = run;
    this.#hearer = hearer;
    this.#sweepLeftMs = sweepMs;
    this.#startedAt = clock.now();
    this.#process = backend.start({ file, args, cwd, env: childEnv(env), stdin }, this);
    const { leader } = this.#process;
    this.#group = leader === null ? null : new ProcessGroup(backend, leader);
    if (leader !== null) hearer.onRecord({ t: 'started' });
  }

  /** Asks it to end: standard input is at its end, and its group gets TERM. */
  stop(): void {
    if (this.#isOver || this.#isStopped) return;
    this.#isStopped = true;
    const { leader } = this.#process;
    this.#process.closeStdin();
    // One that has ended already, though nobody has heard of it yet, has ended by itself.
    const isRunning = this.#exit === null && leader !== null && !this.#bounds.backend.hasEnded(leader);
    if (isRunning) this.#stoppedAt = this.#now();
    // A stopped process takes a signal only when it goes on.
    this.#group?.signal('SIGTERM', 'SIGCONT');
  }

  /** Ends it and all it started, whatever the plan allows; `onGone` follows once that is seen. */
  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    if (this.#isOver && this.#reaper === null) this.#leave();
    if (this.#isOver || this.#group === null) return;
    const { backend, killMs } = this.#bounds;
    if (this.#exit === null) {
      if (this.#stoppedAt === null && !backend.hasEnded(this.#group.leader)) this.#stoppedAt = this.#now();
      this.#process.closeStdin();
      this.#sendKill();
      this.#arm(killMs, () => this.#giveUp());
      return;
    }
    this.#sendKill();
    // A drain or the rest of a grace is cut short; a search goes on, and it is bounded.
    if (this.#timer !== null || this.#drain !== null) this.#drainAndSweep();
  }

  onFailed(failure: Parameters<ProcessListener['onFailed']>[0]): void {
    this.#settle(failureOfStart(this.#run.plan, failure), { recalled: true, clean: true });
    this.#isOver = true;
    if (this.#isKilled) this.#leave();
  }

  onChunk(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    if (this.#isOver) return;
    const postKill = this.#killSent ? { postKill: true as const } : {};
    this.#hearer.onRecord({ t: 'output', stream, bytes, omittedBytes: 0, ...postKill, credit: 0 });
    this.#drain?.noteChunk();
  }

  onEnd(): void {
    if (this.#process.isRead) this.#drain?.noteEnd();
  }

  onExit(code: number | null, signal: string | null): void {
    if (this.#isGone) return;
    const exit = { code, signal };
    this.#exit = exit;
    this.#exitAt = this.#now();
    const { plan } = this.#run;
    if (this.#isOver) {
      // It was given up, and has died after all.
      this.#settle(failureOfStop(plan, exit), { exit });
      this.#reaper?.hurry();
      return;
    }
    this.#disarm();
    const isOwn = this.#stoppedAt === null;
    const failure = isOwn ? failureOfExit(plan, exit) : failureOfStop(plan, exit);
    if (failure !== null || plan.onOrphans !== 'fail') this.#settle(failure, { exit });
    if (this.#killSent) this.#drainAndSweep();
    else if (!isOwn) this.#giveRest(GRACE_LOOK_MS);
    else this.#drainThen(plan.drain, () => void this.#endNaturally());
  }

  ref(): void {
    this.#process.ref();
  }
  unref(): void {
    this.#process.unref();
  }
  /** Lets go of everything, and tells nothing more. */
  close(): void {
    this.#isOver = true;
    this.#isGone = true;
    this.#disarm();
    this.#drain?.cut();
    this.#reaper?.stop();
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
    if (isAlive) this.#sendKill();
    this.#drainAndSweep();
  }

  /** It ended by itself, and what it wrote has been read as far as the plan waits for it. */
  async #endNaturally(): Promise<void> {
    const { state } = this.#group as ProcessGroup;
    if (this.#process.isRead && state === 'gone') return this.#finish(NOTHING_FOUND);
    if (this.#process.isRead && state === 'unknown') return this.#sweep();
    const from = this.#now();
    this.#orphans = await lookWithin(this.#target());
    this.#sweepLeftMs = Math.max(0, this.#sweepLeftMs - (this.#now() - from));
    if (this.#isOver) return;
    if (this.#orphans?.length === 0 && this.#process.isRead) return this.#finish(NOTHING_FOUND);
    this.#holders = holdersAmong(this.#orphans ?? []);
    if (this.#run.plan.onOrphans === 'allow' && !this.#isKilled) return this.#conclude([findingOfRest(this.#orphans)]);
    // With the group gone there is nobody whose last words a kill could bring: the search ends the others.
    if (state === 'gone') return this.#sweep();
    this.#sendKill();
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
    void sweep(this.#target()).then((report) => this.#finish(report));
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
    if (report.verdict === 'contaminated') this.#reap();
    else if (this.#isKilled) this.#leave();
  }

  #conclude(findings: readonly WireFinding[], hasOrphans = true): void {
    const { plan } = this.#run;
    const exit = this.#exit;
    if (exit !== null) this.#settle(hasOrphans ? failureOfOrphans(plan, exit) : null, { exit });
    const { stdout, stderr } = this.#process.isAtEnd;
    const ms = exit === null ? 0 : this.#now() - this.#exitAt;
    this.#hearer.onRecord({
      ...{ t: 'drained', ended: this.#drainEnd, ms, holders: this.#holders },
      ...{ stdoutEof: stdout, stderrEof: stderr },
    });
    this.#hearer.onRecord({ t: 'looked', findings, heapBytes: null });
    this.#isOver = true;
    // Whoever still writes is not heard, and finds the pipe closed.
    this.#process.close();
  }

  #reap(): void {
    const { clock, sweepMs: withinMs } = this.#bounds;
    const verify = async () =>
      this.#exit !== null && (await sweep({ ...this.#target(), withinMs, isRead: null })).verdict !== 'contaminated';
    this.#reaper = new Reaper(clock, verify, () => {
      this.#reaper = null;
      if (this.#isKilled) this.#leave();
    });
  }

  #settle(failure: Failure | null, told: Told): void {
    if (this.#hasSettled) return;
    this.#hasSettled = true;
    this.#hearer.onRecord(answer(failure, this.#now() - this.#startedAt, told));
  }

  #sendKill(): void {
    this.#group?.signal('SIGKILL');
    this.#killSent = true;
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#process.close();
    this.#hearer.onGone(this.#exit ?? NEVER_ENDED);
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
