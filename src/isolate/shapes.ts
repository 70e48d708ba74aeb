/**
 * The shape of each fleet: how many, how kept, and where its tenures come from.
 *
 * Invariant: the one place that knows every kind of tenure; a shape follows from the options and the lane alone.
 * Deliberately absent: the fleets (`fleets.ts`), and which lane a tool has (`decide/lanes.ts`).
 */
import { POST_KILL_MS } from '../decide/bounds.ts';
import type { Lane } from '../decide/lanes.ts';
import type { SupervisorConfig } from '../model/options.ts';
import type { Tool } from '../model/tool.ts';
import { CommandSource } from './command.ts';
import type { FleetShape } from './fleet-shape.ts';
import { InlineCalls } from './inline.ts';
import { NodeProcessPool } from './node-process.ts';
import type { TenureSource } from './tenure.ts';
import { ThreadPool } from './thread-pool.ts';

/** A file that blocks keeps a thread of libuv's pool: as many stay free as name look-ups and the rest of Node need. */
const POOL_RESERVE = 2;
const POOL_SIZE = Number(process.env.UV_THREADPOOL_SIZE) || 4;
const ONCE = { standby: 0, isEager: false, isOnce: true, share: 'none', keepsPlace: false } as const;

/** @param source instead of Piscina's threads */
export function threadShape(config: SupervisorConfig, source: TenureSource = threadPool(config)): FleetShape {
  const { isolates: leases, standby, share, defaults } = config;
  const { killMs } = defaults;
  return { kind: 'thread', leases, standby, isEager: true, isOnce: false, share, keepsPlace: false, killMs, source };
}

function threadPool(config: SupervisorConfig): ThreadPool {
  const { clock, isolates, standby, maxAbandoned, resourceLimits, health } = config;
  const maxThreads = isolates + standby + maxAbandoned;
  const onError = () => undefined;
  return new ThreadPool({
    ...{ clock, maxThreads, resourceLimits: { ...resourceLimits }, health, tailBytes: tailBytesOf(config), onError },
  });
}

/** How many leases at once a lane may have that is made when it is first needed. */
export function leasesOf(lane: Lane, { limits }: SupervisorConfig): number {
  if (lane === 'disk') return Math.min(limits.inline, Math.max(1, POOL_SIZE - POOL_RESERVE));
  return lane === 'network' ? limits.inline : limits.process;
}

/** The shape of a fleet that is made when `tool` is the first to need it. */
export function shapeOf(lane: Lane, { work, permissions }: Tool, config: SupervisorConfig): FleetShape {
  const { clock, standby, share, defaults, resourceLimits, health } = config;
  const { killMs, sweepMs } = defaults;
  const leases = leasesOf(lane, config);
  const untilGone = killMs + POST_KILL_MS + sweepMs;
  switch (lane) {
    case 'command': {
      const source = new CommandSource({ clock, killMs, sweepMs });
      return { ...ONCE, kind: 'process', leases, killMs: untilGone, source };
    }
    case 'network':
      return { ...ONCE, kind: 'inline', leases, killMs, source: new InlineCalls(clock) };
    case 'disk':
      // A call that hangs has a thread of the pool for as long as it does, whoever waits for it.
      return { ...ONCE, kind: 'inline', leases, keepsPlace: true, killMs, source: new InlineCalls(clock) };
    default: {
      const modules = work.kind === 'module' ? [work.module] : [];
      const bounds = { clock, tailBytes: tailBytesOf(config), sweepMs };
      const source = new NodeProcessPool({
        ...{ ...bounds, resourceLimits: { ...resourceLimits }, health, permissions, modules },
      });
      const kept = { standby, isEager: false, isOnce: false, share, keepsPlace: false };
      return { ...kept, kind: 'process', leases, killMs: untilGone, source };
    }
  }
}

/** What an isolate keeps of a stream while the host does not read. */
function tailBytesOf({ output }: SupervisorConfig): number {
  return Math.max(output.stdoutBytes, output.stderrBytes);
}
