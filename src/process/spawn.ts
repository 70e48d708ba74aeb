/**
 * Starting one process on Node's `spawn`, and hearing it.
 *
 * Invariants: all listeners are attached in the tick of the spawn and the pipes always flow; Node's own `timeout` and `signal`
 * are never used, since their error comes before the exit; exactly one of `onFailed` and `onExit` is told, once; nothing
 * throws once there is a process.
 * Deliberately absent: signals, and for how long anything is waited for.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Duplex, Readable } from 'node:stream';
import type { Leader, ProcessListener, ProcessRequest, RunningProcess, SpawnFailure } from './backend.ts';
import { feed } from './feed.ts';
import { MARKER, marked, mintMarker } from './marker.ts';
import { failureOfSpawn, objectionTo } from './spawn-failure.ts';

/** What a platform adds: what tells the leader from others, read right after the spawn. */
export interface Identifying {
  readonly hostStart: number | null;
  identify(pid: number, marker: string): Leader;
}

const ignore = (): void => undefined;

/** Starts a process. Never throws, and tells the listener nothing before it returned. */
export function startProcess(
  request: ProcessRequest,
  listener: ProcessListener,
  identifying: Identifying,
): RunningProcess {
  const objection = objectionTo(request);
  if (objection !== null) return unstarted(request, listener, objection);
  const marker = mintMarker(identifying.hostStart);
  let child: ChildProcess;
  try {
    child = spawn(request.file, [...request.args], {
      ...(request.cwd === null ? {} : { cwd: request.cwd }),
      env: { ...request.env, [MARKER]: marked(marker) },
      // A session and a group of its own, so that all it starts can be reached at once. Windows has neither.
      detached: process.platform !== 'win32',
      windowsHide: true,
      shell: false,
      stdio: [
        request.stdin === null ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(request.link === true ? ['pipe' as const] : []),
      ],
    });
  } catch (error) {
    return unstarted(request, listener, failureOfSpawn(request.file, error));
  }
  return new SpawnedProcess(child, request, listener, identifying, marker);
}

function unstarted({ stdin }: ProcessRequest, listener: ProcessListener, failure: SpawnFailure): RunningProcess {
  dropSource(stdin);
  queueMicrotask(() => listener.onFailed(failure));
  return {
    leader: null,
    link: null,
    isRead: true,
    isAtEnd: { stdout: true, stderr: true },
    closeStdin: ignore,
    close: ignore,
    ref: ignore,
    unref: ignore,
  };
}

function dropSource(stdin: ProcessRequest['stdin']): void {
  if (stdin instanceof Readable) stdin.on('error', ignore).destroy();
}

class SpawnedProcess implements RunningProcess {
  readonly leader: Leader | null;
  readonly link: Duplex | null;
  readonly isAtEnd = { stdout: false, stderr: false };
  readonly #child: ChildProcess;
  readonly #stdin: ProcessRequest['stdin'];
  #isClosed = false;

  constructor(
    child: ChildProcess,
    request: ProcessRequest,
    listener: ProcessListener,
    identifying: Identifying,
    marker: string,
  ) {
    this.#child = child;
    this.#stdin = request.stdin;
    const link = child.stdio?.[3];
    this.link = link instanceof Duplex ? link.on('error', ignore) : null;
    const { pid } = child;
    // Without a pid the error follows; a signal to 0 or 1 would reach the host's own group, or everything.
    this.leader = pid === undefined || pid <= 1 ? null : identifying.identify(pid, marker);
    const { leader } = this;
    child.on('error', (error) => {
      // Of a process that runs it tells of a signal that did not arrive; none is sent by Node here.
      if (leader === null) listener.onFailed(failureOfSpawn(request.file, error));
    });
    child.once('exit', (code, signal) => {
      dropSource(request.stdin);
      if (leader !== null) listener.onExit(code, signal);
    });
    for (const name of ['stdout', 'stderr'] as const) this.#read(name, listener);
    if (leader === null) dropSource(request.stdin);
    else void this.#feed(listener);
  }

  get isRead(): boolean {
    return this.isAtEnd.stdout && this.isAtEnd.stderr;
  }

  #read(name: 'stdout' | 'stderr', listener: ProcessListener): void {
    const stream = this.#child[name];
    const end = () => {
      if (this.isAtEnd[name] || this.#isClosed) return;
      this.isAtEnd[name] = true;
      if (this.leader !== null) listener.onEnd(name);
    };
    // Node has no streams for a process that failed for want of descriptors.
    stream?.on('data', (bytes: Uint8Array) => {
      if (!this.#isClosed) listener.onChunk(name, bytes);
    });
    stream?.once('end', end);
    // Nothing more can be read after an error.
    stream?.on('error', end);
  }

  async #feed(listener: ProcessListener): Promise<void> {
    const { stdin } = this.#child;
    if (stdin === null || stdin === undefined || this.#stdin === null) return;
    const broken = await feed(this.#stdin, stdin);
    if (broken !== null && !this.#isClosed) listener.onBrokenStdin?.(broken.error);
  }

  closeStdin(): void {
    dropSource(this.#stdin);
    this.#child.stdin?.destroy();
  }

  close(): void {
    this.#isClosed = true;
    this.closeStdin();
    this.link?.destroy();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#child.unref();
  }

  ref(): void {
    this.#hold('ref');
  }
  unref(): void {
    this.#hold('unref');
  }
  #hold(how: 'ref' | 'unref'): void {
    const { stdin, stdout, stderr } = this.#child;
    this.#child[how]();
    // Node's types do not tell that these are sockets.
    for (const pipe of [stdin, stdout, stderr, this.link] as (
      | Partial<Record<'ref' | 'unref', () => void>>
      | null
      | undefined
    )[]) {
      pipe?.[how]?.();
    }
  }
}
