/**
 * Processes that are not there: `ProcessBackend` with a system written in the test.
 *
 * Invariants: as the seam promises: nothing is told from within `start`, a signalled group answers as the test says, and
 * every signal is recorded in order. Deliberately absent: time, and ends that the test did not ask for.
 */
import type {
  GroupSignal,
  GroupState,
  Leader,
  ProcessBackend,
  ProcessListener,
  ProcessRequest,
  Reach,
  RunningProcess,
  Survivor,
} from '../../src/process/backend.ts';

export const LEADER: Leader = Object.freeze({ pid: 4_242, marker: '1.1.abc', startTime: 100, pipes: ['socket:[1]'] });

export function survivor(more: Partial<Survivor> = {}): Survivor {
  return { pid: 4_300, startTime: 101, name: 'sleep', holdsPipe: false, isMember: false, isForeign: false, ...more };
}

export class FakeProcess implements RunningProcess {
  readonly leader = LEADER;
  readonly link = null;
  readonly isAtEnd = { stdout: false, stderr: false };
  readonly listener: ProcessListener;
  isClosed = false;
  isStdinClosed = false;
  isHeld = true;

  constructor(listener: ProcessListener) {
    this.listener = listener;
  }
  get isRead(): boolean {
    return this.isAtEnd.stdout && this.isAtEnd.stderr;
  }

  write(text: string, stream: 'stdout' | 'stderr' = 'stdout'): void {
    this.listener.onChunk(stream, Buffer.from(text));
  }
  /** Nobody holds its pipes any more. */
  endPipes(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.isAtEnd[stream]) continue;
      this.isAtEnd[stream] = true;
      this.listener.onEnd(stream);
    }
  }
  breakStdin(error: unknown): void {
    this.listener.onBrokenStdin?.(error);
  }
  end(code: number | null = 0, signal: string | null = null): void {
    this.listener.onExit(code, signal);
  }

  closeStdin(): void {
    this.isStdinClosed = true;
  }
  close(): void {
    this.isClosed = true;
  }
  ref(): void {
    this.isHeld = true;
  }
  unref(): void {
    this.isHeld = false;
  }
}

export class FakeBackend implements ProcessBackend {
  readonly started: FakeProcess[] = [];
  /** Signals to the group, and kills of single processes as their pids, in order. */
  readonly sent: (GroupSignal | number)[] = [];
  group: GroupState = 'gone';
  /** Whether the leader is a zombie. */
  ended = false;
  reach: (signal: GroupSignal | number) => Reach = () => 'sent';
  found: () => Promise<readonly Survivor[] | null> = async () => [];
  looks = 0;

  get process(): FakeProcess {
    const [last] = this.started.slice(-1);
    if (last === undefined) throw new Error('nothing was started');
    return last;
  }

  start(_request: ProcessRequest, listener: ProcessListener): RunningProcess {
    const started = new FakeProcess(listener);
    this.started.push(started);
    return started;
  }
  signal(_leader: Leader, signal: GroupSignal): Reach {
    this.sent.push(signal);
    return this.reach(signal);
  }
  probe(): GroupState {
    return this.group;
  }
  hasEnded(): boolean {
    return this.ended;
  }
  look(): Promise<readonly Survivor[] | null> {
    this.looks += 1;
    return this.found();
  }
  kill({ pid }: Survivor): Reach {
    this.sent.push(pid);
    return this.reach(pid);
  }
}
