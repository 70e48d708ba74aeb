/**
 * The door of a synchronous call: its options, its input and the authorizer, all in the caller's thread before anything is sent.
 *
 * Invariants: what needs the caller's loop is refused by its name and never skipped; an authorizer that does not answer at once
 * has said no. Deliberately absent: the words of a result (`answers.ts`).
 */
import { authorize } from '../authorize/authorize.ts';
import { LeaseholdError } from '../model/errors.ts';
import type { Authorization, AuthorizeRequest, RunOptions, SupervisorOptions } from '../model/option-shapes.ts';
import { parseRunOptions, type RunConfig } from '../model/options.ts';
import type { Denial, Ruling } from '../model/ruling.ts';
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Complaint } from '../run/explain.ts';
import { redactorFor } from '../run/secrets.ts';
import { validate } from '../run/validate.ts';

type Callbacks = 'signal' | 'onPrepared' | 'onProgress' | 'onOutput' | 'repair' | 'transfer' | 'observers';
/** As `RunOptions`, without what would call back or move something; of `retry`, neither `when` nor `backoff.random`. */
export type SyncRunOptions = Omit<RunOptions, Callbacks>;

/** As `Authorizer`, answering at once: a promise is a no. */
export type SyncAuthorizer = (request: AuthorizeRequest, context: { readonly signal: AbortSignal }) => Authorization;

type Unsendable = 'eventLog' | 'blobs' | 'observers' | 'clock' | 'inspect' | 'authorize';
/** As `SupervisorOptions`, without what cannot cross to another thread. Default `isolates`: 1, since one request runs at a time. */
export interface SyncRunnerOptions extends Omit<SupervisorOptions, Unsendable> {
  /** Asked in the caller's thread before anything is sent. Default: every request is allowed. */
  readonly authorize?: SyncAuthorizer;
}

const CALLBACKS: readonly string[] = [
  ...['signal', 'onPrepared', 'onProgress', 'onOutput', 'repair', 'transfer', 'observers'],
  ...['retry.when', 'retry.backoff.random'],
];
const UNSENDABLE: readonly string[] = [
  ...['eventLog', 'blobs', 'observers', 'clock', 'inspect', 'reconcile', 'retry.when', 'retry.backoff.random'],
];

/** @throws LeaseholdError `ERR_LEASEHOLD_NOT_AVAILABLE`, `ERR_LEASEHOLD_INVALID_OPTION` */
export function parseSyncRunOptions(options: SyncRunOptions | undefined): RunConfig {
  refuse(options, CALLBACKS, 'runToolSync', 'Its caller waits: nothing can be called back, and nothing moved');
  return parseRunOptions(options);
}

/** @throws LeaseholdError `ERR_LEASEHOLD_NOT_AVAILABLE` */
export function refuseUnsendable(options: SyncRunnerOptions): void {
  refuse(
    options,
    UNSENDABLE,
    'createSyncRunner',
    'Its supervisor lives in a thread of its own: functions cannot cross',
  );
}

/** What may be sent, or why not. */
export type Accepted =
  | { readonly input: unknown; readonly redactor: Redactor; readonly secrets: readonly string[] }
  | { readonly complaint: Complaint };

/** @throws LeaseholdError `ERR_LEASEHOLD_NOT_AVAILABLE` for inline work, whose function cannot cross, and asynchronous schemas */
export function accept(tool: Tool, input: unknown, redactor: Redactor): Accepted {
  if (tool.work.kind === 'inline') {
    throw new LeaseholdError(
      'NOT_AVAILABLE',
      `The tool "${tool.name}" runs on the host's own loop, which cannot turn while a synchronous caller waits.`,
    );
  }
  const validated = validate(tool.input, input, 'The input');
  if (validated instanceof Promise) {
    throw new LeaseholdError('NOT_AVAILABLE', `The input schema of "${tool.name}" is asynchronous.`);
  }
  if (!validated.ok) return { complaint: validated };
  let secrets: readonly string[] = [];
  const listening = (given: unknown): readonly string[] => {
    secrets = tool.secrets?.(given) ?? [];
    return secrets;
  };
  const found = redactorFor({ ...tool, secrets: tool.secrets && listening }, validated.value, redactor);
  return 'message' in found ? { complaint: found } : { input: validated.value, redactor: found, secrets };
}

/** Null without a no. */
export function denialOf(
  authorizer: SyncAuthorizer | null,
  names: Readonly<Record<'requestId' | 'tenant' | 'run' | 'branch', string>>,
  tool: Tool,
  input: unknown,
  labels: Readonly<Record<string, string>>,
): Denial | null {
  if (authorizer === null) return null;
  const ruling: Ruling | Promise<Ruling> = authorize(
    authorizer,
    { names, tool, input, labels, hop: null },
    new AbortController().signal,
  );
  if (ruling instanceof Promise) {
    return {
      allowed: false,
      code: 'AUTHORIZER_FAILED',
      message: 'The authorizer returned a promise; a synchronous call cannot wait for it, so its answer is no.',
      truncated: false,
    };
  }
  return ruling.allowed ? null : ruling;
}

function refuse(options: object | undefined, names: readonly string[], of: string, reason: string): void {
  for (const name of names) {
    const given = name
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], options);
    if (given === undefined) continue;
    throw new LeaseholdError('NOT_AVAILABLE', `Option "${name}" of ${of} is not available. ${reason}.`);
  }
}
