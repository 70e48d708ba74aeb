/**
 * Isolate: one thread's, process's, command's or inline call's life as the rest of the host sees it: machine, tenure and channel.
 *
 * Invariants: at most one occupant at a time; every record is checked before anybody hears of it; a condemned isolate is
 * never leased again, and its kill has been issued; the port is ref'ed exactly while it boots, is occupied or is dying.
 * Deliberately absent: who gets it next (`fleet.ts`) and what a run's records mean to a request (`run/`).
 */
import type { IsolateEvent, IsolateState } from '../../machines/index.ts';
import { mintId } from '../model/ids.ts';
import type { Isolation } from '../model/work.ts';
import { checkedHooks } from '../wire/hooks.ts';
import { type IsolateHooks, type RunMessage, type WireFinding, WORD } from '../wire/protocol.ts';
import { isIsolateMessage } from '../wire/records.ts';
import type { IsolateActor } from './actor-tree.ts';
import { LeaseChannels } from './channels.ts';
import { ChildProcesses } from './child-processes.ts';
import type { IsolateSetting, KeeperOf } from './isolate-setting.ts';
import { KillWait } from './kill-wait.ts';
import type { Occupant } from './occupant.ts';
import type { CommandRun, InlineRun, Tenure, TenureExit } from './tenure.ts';

/** Who owns the isolate. */
export type Keeper = KeeperOf<Isolate>;

export class Isolate {
  readonly id = mintId('isolate');
  readonly kind: Isolation;
  /** Whom it may serve, once it has served somebody. */
  tenant: string | null = null;
  tool: string | null = null;
  leases = 0;
  idleSince = 0;
  /** Heap in use after each lease that measured it, newest last. Bytes. */
  readonly heapHistory: number[] = [];

  readonly #setting: IsolateSetting<Isolate>;
  readonly #tenure: Tenure;
  readonly #actor: IsolateActor;
  readonly #children: ChildProcesses;
  #occupant: Occupant | null = null;
  /** Whose lease was the last, once it has let go without the isolate being fit. */
  #former: Occupant | null = null;
  #seq = 0;
  #found: WireFinding[] = [];
  #channels: LeaseChannels | null = null;
  readonly #killWait: KillWait;

  constructor(setting: IsolateSetting<Isolate>, tenure: Tenure) {
    this.kind = setting.kind;
    this.#setting = setting;
    this.#tenure = tenure;
    this.#children = new ChildProcesses(tenure.pid);
    this.#actor = setting.actors.isolate(this.id);
    this.#killWait = new KillWait(setting.clock, () => this.#onKillUnseen());
    tenure.listen({
      onRecord: (record) => this.#take(record),
      onRemains: (exit, reason) => this.#onRemains(exit, reason),
      onExit: (exit) => this.#onExit(exit),
    });
    tenure.ref();
    tenure.installed.then(
      () => {
        if (this.state !== 'booting') return;
        this.#become('BOOTED');
        this.#rest();
      },
      (error: unknown) => {
        if (this.state !== 'booting') return;
        this.#setting.keeper.onUnusedDeath(error);
        this.#become('BOOT_FAILED');
        this.#kill();
      },
    );
  }

  get state(): IsolateState {
    return this.#actor.getSnapshot().value;
  }
  /** What was seen of it that no lease has been told yet. */
  get found(): readonly WireFinding[] {
    return this.#found;
  }

  /** Keeps what a full look measured. Bytes; null when none was due. */
  noteHeap(bytes: number | null): void {
    if (bytes !== null && this.heapHistory.push(bytes) > 3) this.heapHistory.shift();
  }

  /** Binds it to an occupant. Nothing has run. */
  occupy(occupant: Occupant): number {
    this.#become('LEASED');
    this.#occupant = occupant;
    this.#former = null;
    this.#channels = new LeaseChannels((message) => this.#tenure.post(message), occupant.calls);
    this.#seq += 1;
    this.#tenure.ref();
    return this.#seq;
  }

  isHeldBy(occupant: Occupant): boolean {
    return this.#occupant === occupant;
  }

  /** @throws DataCloneError when the input cannot be cloned; nothing was posted then. */
  run(message: RunMessage | CommandRun | InlineRun, transfer: readonly ArrayBuffer[]): void {
    this.#tenure.post(message, transfer);
    Atomics.store(this.#tenure.words, WORD.POSTED, message.seq);
    this.leases += 1;
  }

  /** How its far side is reached. */
  get reach(): Pick<Tenure, 'sharesWords' | 'transitMs'> {
    return this.#tenure;
  }

  /** Calls back once what the far side has already said can be heard. At once where a sweep hears all. */
  poll(then: () => void): void {
    if (this.#tenure.poll === null) then();
    else this.#tenure.poll(then);
  }

  /** Whether the lease in progress has been taken up by the isolate. */
  hasStarted(): boolean {
    return Atomics.load(this.#tenure.words, WORD.STARTED) >= this.#seq;
  }

  /** Whether it holds output back that nobody will read if it ends now. */
  get holdsOutput(): boolean {
    return Atomics.load(this.#tenure.words, WORD.HELD) > 0;
  }

  /** Tells the lease in progress to stop: by flag for busy loops, by record for the rest. */
  tellStop(kind: string, reason: string | null): void {
    Atomics.store(this.#tenure.words, WORD.STOP, this.#seq);
    this.#tenure.post({ t: 'stop', seq: this.#seq, kind, reason });
  }

  /** Reads every record that is already here. */
  sweep(): void {
    for (let next = this.#tenure.receive(); next !== undefined; next = this.#tenure.receive()) this.#take(next.message);
  }

  /** What it may be asked between the answer of its tool and the end of the lease. Only while it is held. */
  hooks(): IsolateHooks {
    if (this.#channels === null) throw new Error('the isolate is not held');
    return checkedHooks(this.#channels.hooks());
  }

  /** The lease is over and the isolate is fit: it may be leased again at once. */
  vacate(): void {
    // It may have become unfit before this lease: an error of an earlier tool that nothing caught, for one.
    if (this.#found.some(({ kind }) => this.#setting.condemns(kind))) {
      this.disown();
      this.condemn();
      return;
    }
    this.#occupant = null;
    this.#found = [];
    this.#channels?.end('the lease is over');
    this.#channels = null;
    this.release();
    this.#become('FIT');
    this.#rest();
  }

  /** The lease is over and looks or hooks are still to come. */
  release(): void {
    if (this.state === 'leased') this.#become('RELEASED');
  }

  /** Sets it aside and issues its kill. The occupant, if any, hears `onExit` or `onAbandoned`. */
  condemn(): void {
    if (this.#killWait.hasBegun || this.#tenure.exit !== null) return;
    this.#become('CONDEMNED');
    this.#kill();
  }

  /** Ends an isolate that nobody holds. */
  retire(): void {
    if (this.#killWait.hasBegun || this.#tenure.exit !== null) return;
    this.#become('RETIRE');
    this.#kill();
  }

  /** The occupant no longer waits for this isolate's end. */
  disown(): void {
    this.#former = this.#occupant;
    this.#occupant = null;
  }

  /** Ends the wait for a kill early, as the close of the supervisor asks. */
  hurryKill(withinMs: number): void {
    if (this.#tenure.exit === null && this.state !== 'abandoned') this.#killWait.hurry(withinMs);
  }

  #rest(): void {
    this.idleSince = this.#setting.clock.now();
    this.#tenure.unref();
    this.#setting.keeper.onIsolateChange(this);
  }

  #kill(): void {
    this.#children.endAll();
    this.#tenure.terminate();
    this.#tenure.ref();
    this.#killWait.begin(this.#setting.killMs);
    this.#setting.keeper.onIsolateChange(this);
  }

  #onKillUnseen(): void {
    if (this.state === 'quarantined') this.#become('RETIRE');
    this.#become('ABANDONED');
    // An abandoned thread must not hold the process open through its port; Node itself may still wait for it.
    this.#tenure.unref();
    this.sweep();
    this.#occupant?.onAbandoned();
    this.#setting.keeper.onIsolateChange(this);
  }

  /** How it ended is told at once; for what it left it is killed, and then abandoned, until that is gone as well. */
  #onRemains(exit: TenureExit, reason: string): void {
    this.sweep();
    const asked = this.#killWait.hasBegun;
    if (!asked) this.#noteDeath();
    this.#note({ kind: 'contaminated', detail: reason });
    this.condemn();
    this.#tellEnd(exit, asked);
  }

  #onExit(exit: TenureExit): void {
    if (this.state === 'gone') return;
    // What was posted before the end is still in the port: reading it decides what happened.
    this.sweep();
    const asked = this.#killWait.hasBegun;
    this.#killWait.end();
    if (!asked) this.#noteDeath();
    this.#children.endAll();
    this.#become('EXITED');
    this.#tenure.close();
    this.#tellEnd(exit, asked);
    this.#setting.keeper.onIsolateChange(this);
  }

  #noteDeath(): void {
    if (this.leases === 0 && this.state !== 'leased') this.#setting.keeper.onUnusedDeath();
  }

  #tellEnd(exit: TenureExit, asked: boolean): void {
    this.#channels?.end('the isolate has ended');
    const occupant = this.#occupant;
    this.#occupant = null;
    occupant?.onExit(exit, asked);
  }

  #take(record: unknown): void {
    if (!isIsolateMessage(record, this.#tenure.nonce)) {
      this.#setting.keeper.onProtocolViolation();
      this.#note({ kind: 'nonce-violation' });
      return;
    }
    switch (record.t) {
      case 'output':
      case 'progress':
      case 'log':
        Atomics.sub(this.#tenure.words, WORD.CREDIT, record.credit);
        break;
      case 'child':
        this.#children.note(record.pid, record.alive);
        return;
      case 'call':
      case 'hook':
        // Between leases nobody answers.
        this.#channels?.receive(record);
        return;
      case 'fatal':
        this.#note({ kind: 'late-error', detail: record.failure.message });
    }
    if (!('seq' in record) || record.seq !== this.#seq) return;
    // Nobody awaits the looks of one that is being killed; what they found is told with its end.
    if (record.t === 'looked' && this.#killWait.hasBegun) for (const finding of record.findings) this.#note(finding);
    if (this.#occupant !== null) this.#occupant.onRecord(record);
    else this.#former?.onLate(record);
  }

  /** Something was seen outside what the looks report. Idle, it condemns at once; leased, the lease's end decides. */
  #note(finding: WireFinding): void {
    // One of a kind tells it all, and user code can make as many as it likes.
    if (!this.#found.some(({ kind }) => kind === finding.kind)) this.#found.push(finding);
    if (this.#occupant === null && this.state === 'idle' && this.#setting.condemns(finding.kind)) this.condemn();
  }

  #become(type: IsolateEvent['type']): void {
    this.#actor.send({ type });
  }
}
