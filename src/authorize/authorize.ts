/**
 * Authorize: the one question to the application, and what its answer comes to.
 *
 * Invariants: total, and fails closed: only exactly `{ allow: true }` allows, whatever else is thrown, returned or resolved;
 * the question holds what will run, frozen. Deliberately absent: waiting, its bound and its stops (the request has them),
 * redaction (a ruling's words pass the door of all text where they are told), and anything of the run time.
 */
import type { AuthorizeRequest, Authorizer } from '../model/option-shapes.ts';
import { ALLOWED, type Denial, type Ruling } from '../model/ruling.ts';
import type { Tool } from '../model/tool.ts';
import type { Hop } from '../model/work.ts';
import { toFailure } from '../wire/failure.ts';

/** What is asked about. */
export interface Question {
  readonly names: Readonly<Record<'requestId' | 'tenant' | 'run' | 'branch', string>>;
  readonly tool: Tool;
  /** Accepted by the schema. */
  readonly input: unknown;
  readonly labels: Readonly<Record<string, string>>;
  /** Null for the request itself. */
  readonly hop: Hop | null;
}

/** Asks once, now. Never throws; the promise, for an authorizer that returns a thenable, never rejects, and may never settle. */
export function authorize(authorizer: Authorizer, question: Question, signal: AbortSignal): Ruling | Promise<Ruling> {
  try {
    const answer: unknown = authorizer(requestOf(question), Object.freeze({ signal }));
    // A promise of our own: the thenable's `then` may be anything.
    return isThenable(answer) ? new Promise((resolve) => resolve(answer)).then(judged, threw) : judged(answer);
  } catch (error) {
    return threw(error);
  }
}

/** What a silent authorizer comes to. */
export function unanswered(authorizeMs: number): Denial {
  return failed(`The authorizer did not answer within authorizeMs (${authorizeMs} ms).`);
}

function requestOf({ names, tool, input, labels, hop }: Question): AuthorizeRequest {
  const { requestId, tenant, run, branch } = names;
  return Object.freeze<AuthorizeRequest>({
    kind: hop === null ? 'run' : 'redirect',
    requestId,
    tool: tool.name,
    input,
    tenant,
    run,
    branch,
    effects: tool.effects,
    isolation: tool.isolation,
    permissions: tool.permissions,
    labels,
    hop: hop === null ? null : Object.freeze({ ...hop }),
  });
}

function isThenable(x: unknown): boolean {
  if ((typeof x !== 'object' && typeof x !== 'function') || x === null) return false;
  return typeof (x as Partial<PromiseLike<unknown>>).then === 'function';
}

/** Reads own members only, and each once: what is inherited, or answers differently the second time, allows nothing. */
function judged(answer: unknown): Ruling {
  try {
    if (typeof answer !== 'object' || answer === null)
      return failed(`${NO_ANSWER}, but a value of type ${typeof answer}.`);
    const own: Readonly<Record<PropertyKey, unknown>> = Object.assign(Object.create(null), answer);
    const { allow, reason } = own;
    const isExact = Reflect.ownKeys(own).every((key) => key === 'allow' || key === 'reason');
    if (isExact && allow === true && reason === undefined) return ALLOWED;
    if (isExact && allow === false && (reason === undefined || typeof reason === 'string')) return refused(reason);
    return failed(`${NO_ANSWER}, but another object.`);
  } catch (error) {
    return failedBy('The answer of the authorizer could not be read', error);
  }
}
const NO_ANSWER = 'The authorizer answered neither { allow: true } nor { allow: false, reason? }';

function refused(reason: string | undefined): Denial {
  if (reason === undefined || reason === '')
    return { allowed: false, code: 'DENIED', message: 'The authorizer said no.', truncated: false };
  const { message, truncated } = toFailure(reason, 'TOOL_ERROR');
  return { allowed: false, code: 'DENIED', message: `The authorizer said no: ${message}`, truncated };
}

function threw(error: unknown): Denial {
  return failedBy('The authorizer threw', error);
}

function failedBy(what: string, error: unknown): Denial {
  const { message, truncated } = toFailure(error, 'TOOL_ERROR');
  return failed(`${what}: ${message}`, truncated);
}

function failed(message: string, truncated = false): Denial {
  return { allowed: false, code: 'AUTHORIZER_FAILED', message, truncated };
}
