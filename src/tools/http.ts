/**
 * `httpTool`: HTTP and HTTPS requests as a tool, on the host's loop.
 *
 * Invariants: a request that may change something is an intent, recorded before it leaves; a request whose fate nobody can
 * know leaves its intent open. Every wait ends on a stop or a bound. Deliberately absent: proxies, cookies, retries, and
 * which addresses may be asked, which the authorizer decides.
 */
import type { z } from 'zod';
import { outputRules, toolTerms } from '../model/define-tool.ts';
import { invalidOption } from '../model/errors.ts';
import { NotAppliedError } from '../model/not-applied.ts';
import { countOr, durationOr, functionOr, isString, listOf, nested, wordOr } from '../model/option-checks.ts';
import type { Tool, ToolTerms } from '../model/tool.ts';
import type { InlineContext } from '../model/work.ts';
import { Exchange, type ExchangeTerms, type Head } from './http-exchange.ts';
import { httpFailure } from './http-failure.ts';
import { type HttpRequest, isSafe, type Outgoing, outgoingOf, redirectOf } from './http-request.ts';

export type { HttpRequest } from './http-request.ts';

/** Bytes. Redirects share one `wireBytes`. */
export interface HttpLimits {
  /** Of the head of each response. Passing it always fails the run. Default 16 KiB. */
  readonly headerBytes: number;
  /** Of the body as it comes. Default 10 MiB. */
  readonly wireBytes: number;
  /** Of the body decoded. Default 10 MiB. */
  readonly bodyBytes: number;
}

/** What `httpTool` takes. Milliseconds. */
export interface HttpToolDefinition<I extends z.ZodType = z.ZodType> extends ToolTerms<I> {
  /** Called on the host, once per attempt, with an accepted input. What it throws fails the attempt; nothing has left then. */
  readonly request: (input: z.output<I>) => HttpRequest;
  readonly limits?: Partial<HttpLimits>;
  /** What passing a limit of the body does: a shorter body, or a failure with `ERR_LEASEHOLD_OUTPUT_LIMIT`. Default `'truncate'`. */
  readonly onLimit?: 'truncate' | 'stop';
  /**
   * How many redirects are followed, 0 to 20; the authorizer is asked before each. What is not followed, also after the
   * last, is the response. One from https: to http:, or to what is not HTTP, fails the run. Default 0.
   */
  readonly redirects?: number;
  /** Any other status fails the run. Default: every status is a value. */
  readonly okStatuses?: readonly number[];
  /** For the name, the connection and TLS, of each hop. Default 5 000. */
  readonly connectTimeoutMs?: number;
  /** Until the head of the response, from when the last of the request moved. Default 10 000. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of the body. Default 10 000. */
  readonly idleTimeoutMs?: number;
  /** Certificates of authorities, as PEM, trusted instead of Node's own. */
  readonly ca?: readonly string[];
}

/** A response, of any status. */
export interface HttpResponse {
  readonly status: number;
  /** By lower-case name; a list where one came more than once. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Decoded from gzip, deflate or br. */
  readonly body: Uint8Array;
  /** The address that answered, without a fragment. */
  readonly url: string;
  /** A limit was passed: `body` is only its beginning. */
  readonly truncated: boolean;
  /** Bytes of bodies that came, before decoding, of all hops. */
  readonly wireBytes: number;
}

interface HttpTerms extends ExchangeTerms {
  readonly redirects: number;
  readonly okStatuses: readonly number[] | null;
}

const FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'input', 'runTimeoutMs', 'graceMs', 'secrets', 'request', 'limits', 'onLimit', 'redirects', 'okStatuses'],
  ...['connectTimeoutMs', 'headersTimeoutMs', 'idleTimeoutMs', 'ca'],
]);
const LIMITS: ReadonlySet<string> = new Set(['headerBytes', 'wireBytes', 'bodyBytes']);
const MIB = 1_048_576;

/**
 * Describes a tool that sends one HTTP request per run, on a connection of its own. GET and HEAD have no effects; every other
 * method is one intent per hop, named by method and host, with its key as `idempotency-key` unless that header is given.
 * It settles when the head of a response came, whatever its status, or when nothing left; otherwise it stays open.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the field
 */
export function httpTool<I extends z.ZodType>(definition: HttpToolDefinition<I>): Tool<z.input<I>, HttpResponse> {
  const named = toolTerms(definition, FIELDS, 'httpTool');
  const request = functionOr('request', definition.request as ((input: unknown) => unknown) | undefined);
  if (request === null) throw invalidOption('request', undefined, 'a function');
  const terms = termsOf(definition);
  return Object.freeze<Tool<z.input<I>, HttpResponse>>({
    ...named,
    work: Object.freeze({
      kind: 'inline',
      occupiesPool: false,
      serve: async (input: unknown, context: InlineContext) => follow(outgoingOf(request(input)), terms, context),
    }),
    output: null,
    effects: 'declared',
    isolation: 'inline',
    permissions: null,
    outputRules: outputRules('limits', undefined, {}),
  });
}

function termsOf(definition: HttpToolDefinition): HttpTerms {
  const limits = nested<Partial<HttpLimits>>('limits', definition.limits, LIMITS);
  const isStatus = (x: unknown): x is number => Number.isInteger(x) && (x as number) >= 200 && (x as number) <= 999;
  return Object.freeze<HttpTerms>({
    limits: Object.freeze({
      headerBytes: countOr('limits.headerBytes', limits.headerBytes, 16_384, 1),
      wireBytes: countOr('limits.wireBytes', limits.wireBytes, 10 * MIB),
      bodyBytes: countOr('limits.bodyBytes', limits.bodyBytes, 10 * MIB),
    }),
    onLimit: wordOr('onLimit', definition.onLimit, ['truncate', 'stop'], 'truncate'),
    redirects: countOr('redirects', definition.redirects, 0, 0, 20),
    okStatuses:
      definition.okStatuses === undefined
        ? null
        : listOf('okStatuses', definition.okStatuses, isStatus, 'statuses of 200 to 999'),
    connectTimeoutMs: durationOr('connectTimeoutMs', definition.connectTimeoutMs, 5_000),
    headersTimeoutMs: durationOr('headersTimeoutMs', definition.headersTimeoutMs, 10_000),
    idleTimeoutMs: durationOr('idleTimeoutMs', definition.idleTimeoutMs, 10_000),
    ca: listOf('ca', definition.ca, isString, 'strings'),
  });
}

/** Asks one address after the other until a response is not a redirect to follow. */
async function follow(first: Outgoing, terms: HttpTerms, context: InlineContext): Promise<HttpResponse> {
  const { limits, okStatuses } = terms;
  let outgoing = first;
  let passedBytes = 0;
  for (let number = 0; ; number += 1) {
    const left = { ...limits, wireBytes: Math.max(0, limits.wireBytes - passedBytes) };
    const { exchange, head } = await ask(outgoing, number, { ...terms, limits: left }, context);
    const { status, headers, body } = head;
    let next: Outgoing | null;
    try {
      next = number < terms.redirects ? redirectOf(outgoing, status, headers['location']) : null;
      if (next === null) {
        if (okStatuses?.includes(status) === false)
          throw httpFailure('StatusError', `${outgoing.url.host} answered with the status ${status}.`, { status });
        await body.ended;
        const { truncated, wireBytes } = body;
        const { href } = outgoing.url;
        return { status, headers, body: body.bytes(), url: href, truncated, wireBytes: passedBytes + wireBytes };
      }
    } finally {
      await exchange.close();
    }
    passedBytes += body.wireBytes;
    await context.authorizeHop({ url: next.url.href, method: next.method, number: number + 1 });
    outgoing = next;
  }
}

interface Asked {
  readonly exchange: Exchange;
  readonly head: Head;
}

/** Sends one request and waits for the head of its response. @throws why there is none */
async function ask(outgoing: Outgoing, number: number, terms: ExchangeTerms, context: InlineContext): Promise<Asked> {
  const { method, url } = outgoing;
  try {
    if (isSafe(method)) return await send(outgoing, terms, context);
    // Each hop is an effect of its own, so each has a name of its own.
    const name = `${method} ${number === 0 ? '' : `redirect ${number} `}${url.host}`.slice(0, 256);
    return await perform(context, name, (key) => send(withKey(outgoing, key), terms, context));
  } catch (error) {
    throw error instanceof NotAppliedError ? error.cause : error;
  }
}

async function send(outgoing: Outgoing, terms: ExchangeTerms, context: InlineContext): Promise<Asked> {
  const exchange = new Exchange(outgoing, terms, context);
  try {
    return { exchange, head: await exchange.head };
  } catch (error) {
    await exchange.close();
    throw error;
  }
}

function withKey(outgoing: Outgoing, key: string): Outgoing {
  return { ...outgoing, headers: { 'idempotency-key': key, ...outgoing.headers } };
}

/**
 * A request that left and got no answer may have been served: a cut connection proves as little as an aborted one. Such an
 * effect never settles, which leaves its intent open, while the run fails with what was seen.
 */
function perform<T>(context: InlineContext, name: string, effect: (key: string) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const settled = context.perform({ name }, (key) =>
      effect(key).catch((error: unknown) => {
        if (error instanceof NotAppliedError || context.signal.aborted) throw error;
        reject(error);
        return new Promise<never>(() => undefined);
      }),
    );
    settled.then(resolve, reject);
  });
}
