/**
 * Server: the leases of one isolate, one at a time.
 *
 * Invariants: the record of how a tool ended is posted before anything is looked at that a tool could hold up, and never
 * more than once per lease; `clean` is said only after a look, or when nothing ran; a full look never delays the record; what is posted after
 * a tool ran is made without code the tool could have replaced.
 * Deliberately absent: what findings mean and what becomes of the isolate, which the host decides.
 */
import type { StopKind } from '../src/model/stop.ts';
import { type Failure, toFailure } from '../src/wire/failure.ts';
import {
  type HostCalls,
  type InstallTask,
  type IsolateHooks,
  type RunMessage,
  type StopMessage,
  type WireFinding,
  WORD,
} from '../src/wire/protocol.ts';
import type { Capture } from './capture.ts';
import type { Link } from './link.ts';
import { type LoadedTool, type Loader, loadFailure } from './load.ts';
import type { Outbox } from './outbox.ts';
import type { Probes } from './probes.ts';
import {
  atomicsLoad,
  atomicsStore,
  clearImmediate,
  Error,
  now,
  onRejected,
  Promise,
  setImmediate,
  setQuietTimeout,
} from './references.ts';
import { StopWatch } from './stop-watch.ts';
import { createToolContext, type LiveContext } from './tool-context.ts';

/** What clean I/O holds at return is gone after two turns of the loop, or a little later. 0 is a turn. Milliseconds. */
const LOOK_AGAIN_MS = [0, 0, 1, 2, 5, 10, 20, 50] as const;
/** A full look is due for a lease that loaded its module or ran this long, in milliseconds, and for every sixteenth. */
const LONG_RUN_MS = 1;
const SAMPLE = 16;

/** The answer to a run that was taken back before it began. */
const RECALLED: Failure = {
  code: 'TOOL_ERROR',
  name: 'AbortError',
  message: 'The run was stopped before it began.',
  ofStop: true,
  truncated: false,
};

/**
 * How long an isolate watches for its next lease before its loop may sleep, in milliseconds; and how many leases it lets
 * pass unwatched after it watched in vain.
 */
const WATCH_MS = 0.06;
const UNWATCHED = 15;

const OVER = 'the lease of this call is over';

export interface Server {
  run(message: RunMessage): void;
  stop(message: StopMessage): void;
  /** An error that nothing caught. */
  fatal(error: unknown): void;
  readonly hooks: IsolateHooks;
}

export interface Far {
  readonly link: Link;
  readonly words: Int32Array;
  readonly health: InstallTask['health'];
  readonly outbox: Outbox;
  readonly capture: Capture;
  readonly probes: Probes;
  readonly loader: Loader;
  /** Opens the calls of one lease. */
  readonly openCalls: () => Calls<HostCalls>;
}

/** Calls of the host, of one lease. */
export interface Calls<Remote extends object> {
  remote(): Remote;
  /** Rejects what is unanswered and every later call. */
  end(reason: string): void;
}

export function openServer(far: Far): Server {
  const { link, outbox, probes, loader } = far;
  let current: { readonly seq: number; readonly watch: StopWatch } | null = null;
  let last: { readonly seq: number; readonly tool: LoadedTool | null } = { seq: 0, tool: null };
  let toldFatal = -1;
  let unwatched = 0;
  let watching: NodeJS.Immediate | undefined;

  const serve = async (message: RunMessage): Promise<void> => {
    const { seq } = message;
    const startedAt = now();
    // It would count as something that the tool left.
    clearImmediate(watching);
    const watch = new StopWatch(far.words, seq, message.ctx.remainingMs, link);
    current = { seq, watch };
    last = { seq, tool: null };
    // The start is marked before the flag is read, the host sets the flag before it looks at the mark: one sees the other.
    // In a process both are its own: the flag is set for a stop that came with the run, the mark is the record below.
    atomicsStore(far.words, WORD.STARTED, seq);
    if (atomicsLoad(far.words, WORD.STOP) >= seq) {
      watch.end();
      current = null;
      outbox.post({
        t: 'settled',
        seq,
        ok: false,
        failure: RECALLED,
        recalled: true,
        clean: true,
        reset: false,
        healthCheck: false,
        ranMs: 0,
      });
      return;
    }
    if (!link.sharesWords) outbox.post({ t: 'started', seq });
    far.capture.attribute(seq);
    const calls = far.openCalls();
    const known = loader.known(message);
    // Before anything of this lease is there to be seen; before the first nothing has run that could have left anything.
    if (known === null && seq > 1) probes.beforeLoad();
    const turn = link.sharesWords ? setImmediate(() => outbox.post({ t: 'started', seq })) : undefined;

    let tool: LoadedTool | null = null;
    let live: LiveContext | null = null;
    let value: unknown;
    let failure: Failure | null = null;
    try {
      tool = known ?? (await loader.load(message));
    } catch (error) {
      failure = loadFailure(error, message);
    }
    if (tool !== null) {
      const { run } = tool;
      live = createToolContext(message, watch, outbox, calls.remote);
      try {
        value = await run(message.input, live.context);
      } catch (error) {
        failure = toFailure(error, 'TOOL_ERROR', watch.known());
      }
    }

    clearImmediate(turn);
    live?.end();
    far.capture.flush();
    far.capture.attribute(0);
    watch.end();
    current = null;
    last = { seq, tool };

    const ranMs = now() - startedAt;
    const cheap = probes.look();
    const sampled = known === null || far.health.full === 'every' || ranMs >= LONG_RUN_MS || seq % SAMPLE === 0;
    const hooks = { reset: tool?.reset != null, healthCheck: tool?.healthCheck != null };
    const clean = cheap.length === 0 && !sampled;
    if (failure === null) {
      try {
        outbox.post({ t: 'settled', seq, ok: true, value, clean, ...hooks, ranMs });
      } catch (error) {
        // A getter of the value threw, or something in it cannot be cloned; nothing was posted.
        failure = notCloneable(error);
      }
    }
    if (failure !== null) outbox.post({ t: 'settled', seq, ok: false, failure, clean: false, ...hooks, ranMs });
    else if (clean) {
      calls.end(OVER);
      // Not in this turn: a rejection that the tool left is to be seen before another lease could be blamed for it.
      if (!link.sharesWords) return;
      if (unwatched > 0) unwatched -= 1;
      else watching = setImmediate(() => watchForNext(seq));
      return;
    }
    await lookAgain(seq, cheap, failure !== null || sampled);
    // Not before: an effect that nobody awaited may still tell its end.
    calls.end(OVER);
  };

  /** Under a stream of short leases, waking a thread that sleeps costs more than watching; without one it is not tried. */
  const watchForNext = (seq: number): void => {
    if (last.seq !== seq || current !== null) return;
    const until = now() + WATCH_MS;
    while (atomicsLoad(far.words, WORD.POSTED) === seq) {
      if (now() < until) continue;
      unwatched = UNWATCHED;
      return;
    }
    link.readNow();
  };

  const lookAgain = async (seq: number, cheap: readonly WireFinding[], full: boolean): Promise<void> => {
    const findings = await settleLooks(probes, cheap, full);
    outbox.post({ t: 'looked', seq, findings, heapBytes: probes.heapBytes() });
  };

  const fatal = (error: unknown): void => {
    const seq = current?.seq ?? 0;
    if (seq === toldFatal) return;
    toldFatal = seq;
    outbox.post({ t: 'fatal', seq, failure: toFailure(error, 'UNCAUGHT', current?.watch.known()) });
  };

  const hook = (name: 'reset' | 'healthCheck', seq: number): unknown => {
    if (seq !== last.seq || current !== null) throw new Error(`${name}: another lease has begun`);
    return last.tool?.[name]?.();
  };

  return {
    run(message) {
      // The host sends one lease at a time, each with a greater number; anything else was not the host.
      if (current === null && message.seq > last.seq) onRejected(serve(message), fatal);
    },
    stop({ seq, kind, reason }) {
      if (current?.seq === seq) current.watch.stop(kind as StopKind, reason);
    },
    fatal,
    hooks: {
      async reset(seq) {
        await hook('reset', seq);
        return { findings: await settleLooks(probes, probes.look(), true) };
      },
      async healthCheck(seq) {
        await hook('healthCheck', seq);
      },
    },
  };
}

/** Looks until the first look that finds nothing which may go by itself. A finding of another kind will not. */
async function settleLooks(
  probes: Probes,
  first: readonly WireFinding[],
  full: boolean,
): Promise<readonly WireFinding[]> {
  let findings = first;
  for (let at = 0; at < LOOK_AGAIN_MS.length && mayPass(findings); at += 1) {
    await pause(LOOK_AGAIN_MS[at] as number);
    findings = probes.look();
  }
  return full || findings.length > 0 ? probes.lookFully() : findings;
}

function mayPass(findings: readonly WireFinding[]): boolean {
  for (let at = 0; at < findings.length; at += 1) {
    const kind = findings[at]?.kind;
    if (kind === 'residual-handle' || kind === 'child-process' || kind === 'nested-thread') return true;
    if (kind === 'process-listener') return true;
  }
  return false;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) setImmediate(resolve);
    else setQuietTimeout(resolve, ms);
  });
}

function notCloneable(error: unknown): Failure {
  const failure = toFailure(error, 'NOT_CLONEABLE');
  return { ...failure, message: `The result cannot be cloned: ${failure.message}` };
}
