/**
 * `runResultSchema`: accepts exactly the shape of a `RunResult`, as Zod.
 *
 * Invariants: what the schema lets through is a `RunResult` to the compiler as well; objects are strict, so a field
 * nobody described is refused. Deliberately absent: any check of `value`, which is the tool's own.
 */
import { z } from 'zod';
import { FINDING_KINDS, type RunError, type RunReport, type RunResult } from './result.ts';
import { LEASE_STATES, STATUSES, STOP_KINDS } from './stop.ts';

const count = z.int().nonnegative();
const ms = z.number().nonnegative();

const stop = z.strictObject({
  kind: z.enum(STOP_KINDS),
  // A deadline may have been due before the request began.
  atMs: z.number(),
  state: z.enum(LEASE_STATES),
  scope: z.string().exactOptional(),
  reason: z.string().exactOptional(),
});

const runError: z.ZodType<RunError> = z.strictObject({
  code: z.string().startsWith('ERR_LEASEHOLD_'),
  name: z.string(),
  message: z.string(),
  stack: z.string().exactOptional(),
  cause: z.lazy(() => runError).exactOptional(),
  fields: z.record(z.string(), z.unknown()).exactOptional(),
  truncated: z.boolean(),
});

const lease = z.strictObject({
  id: z.string(),
  isolate: z.strictObject({ id: z.string(), kind: z.enum(['thread', 'process', 'inline']) }).nullable(),
  path: z.array(z.enum(LEASE_STATES)),
  end: z.enum(['completed', 'quarantined']),
  findings: z.array(
    z.strictObject({ kind: z.enum(FINDING_KINDS), condemns: z.boolean(), detail: z.string().exactOptional() }),
  ),
});

const timing = z.strictObject({
  startedAt: z.iso.datetime(),
  queuedMs: ms,
  acquiredMs: ms,
  runningMs: ms,
  terminatingMs: ms,
  drainingMs: ms,
  totalMs: ms,
  boundMs: ms,
});

/** Bytes, or what `JSON.parse` makes of their JSON. */
const bytes = z.custom<Uint8Array>((x) => {
  if (x instanceof Uint8Array) return true;
  if (typeof x !== 'object' || x === null || Array.isArray(x)) return false;
  return Object.entries(x).every(([key, byte], i) => key === String(i) && (byte & 0xff) === byte);
});

const stream = z.strictObject({
  text: z.string(),
  bytes: bytes.exactOptional(),
  bytesRead: count,
  bytesKept: count,
  bytesOmitted: count,
  headBytes: count,
  truncated: z.boolean(),
  eof: z.boolean(),
  redactions: count,
});

/** The compiler holds the fields to the type; that some go together is checked below. */
type Fields = RunReport & Pick<RunResult, 'status' | 'ok' | 'value' | 'error'>;
const fields: z.ZodType<{ [K in keyof Fields]: Fields[K] }> = z.strictObject({
  status: z.enum(STATUSES),
  ok: z.boolean(),
  value: z.unknown().exactOptional(),
  error: runError.nullable(),
  cause: stop.nullable(),
  also: z.array(stop),
  late: z.enum(['within-grace', 'after-kill']).nullable(),
  request: z.strictObject({
    id: z.string(),
    tool: z.string(),
    tenant: z.string(),
    run: z.string(),
    branch: z.string(),
    group: z.string().exactOptional(),
    labels: z.record(z.string(), z.string()),
    attempts: z.array(
      z.strictObject({
        number: z.int().positive(),
        status: z.enum(STATUSES),
        cause: stop.nullable(),
        lease: lease.nullable(),
        timing,
      }),
    ),
  }),
  lease: lease.nullable(),
  timing,
  exit: z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() }).nullable(),
  output: z.strictObject({
    stdout: stream,
    stderr: stream,
    combinedBytes: count,
    postKill: stream,
    drain: z.strictObject({ ended: z.enum(['eof', 'settled', 'quiet', 'cap']), ms, holders: z.array(z.string()) }),
  }),
  intents: z.array(
    z.strictObject({
      name: z.string(),
      key: z.string(),
      state: z.enum(['dispatched', 'applied', 'not-applied', 'failed']),
      atMs: ms,
    }),
  ),
  durability: z.enum(['none', 'process', 'synced']),
  diagnostics: z.array(z.strictObject({ code: z.string(), message: z.string(), atMs: ms })),
  logs: z.array(
    z.strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']),
      message: z.string(),
      fields: z.record(z.string(), z.unknown()).exactOptional(),
      atMs: ms,
    }),
  ),
  dropped: z.strictObject({ diagnostics: count, logLines: count, lateEvents: count }),
});

/**
 * Zod schema of a result, before and after JSON: every field, and that `status`, `ok` and `error` agree. In a result nothing can be
 * written to but `value` and, with `encoding: 'bytes'`, the `bytes` of its streams: typed arrays cannot be frozen.
 */
export const runResultSchema = fields.refine(
  ({ status, ok, error }) => ok === (status === 'succeeded') && ok === (error === null),
  { error: 'status, ok and error do not agree' },
) as unknown as z.ZodType<RunResult>;
