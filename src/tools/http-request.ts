/**
 * What an HTTP tool is about to send: the user's request checked, and what a redirect makes of it.
 *
 * Invariants: what leaves here can be put on the wire as it is; no check tells a header's value. Redirects change a request
 * as `fetch` does, and take no credentials to another origin. Deliberately absent: whether a hop is allowed.
 */
import { types } from 'node:util';
import { httpFailure } from './http-failure.ts';

/** What the `request` of an HTTP tool returns. */
export interface HttpRequest {
  /** Default `'GET'`. Any but CONNECT and TRACE. */
  readonly method?: string;
  /** `http:` or `https:`, without user and password. */
  readonly url: string | URL;
  /** Without those the library sets: lengths, and all that concern the connection. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Text is sent as UTF-8. None for GET and HEAD. */
  readonly body?: string | Uint8Array | null;
}

export interface Outgoing {
  readonly method: string;
  /** Without a fragment. */
  readonly url: URL;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array | null;
}

const FIELDS: ReadonlySet<string> = new Set(['method', 'url', 'headers', 'body']);
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/** One byte each; line breaks and NUL would end the header early. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const OURS: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OF_ORIGIN = ['authorization', 'cookie', 'host', 'proxy-authorization'];
const OF_BODY = ['content-encoding', 'content-language', 'content-location', 'content-type', 'idempotency-key'];

/** GET and HEAD ask for nothing to be changed. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Checks what the user's function returned. @throws a `RequestInvalidError` */
export function outgoingOf(request: unknown): Outgoing {
  try {
    return checked(request);
  } catch (error) {
    forget(request);
    throw error;
  }
}

function checked(request: unknown): Outgoing {
  if (typeof request !== 'object' || request === null || types.isPromise(request))
    throw invalid('request must return an object with a url, and not a promise');
  const unknown = Object.keys(request).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) throw invalid(`it has an unknown field; known are ${[...FIELDS].join(', ')}`);
  const { method = 'GET', url, headers = {}, body = null } = request as HttpRequest;
  if (typeof method !== 'string' || !TOKEN.test(method)) throw invalid('its method is not a word');
  const verb = method.toUpperCase();
  if (verb === 'CONNECT' || verb === 'TRACE') throw invalid(`the method ${verb} is not supported`);
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array))
    throw invalid('its body is neither a string nor a Uint8Array');
  const bytes = body === null || body.length === 0 ? null : Buffer.from(body);
  if (bytes !== null && isSafe(verb)) throw invalid(`${verb} takes no body`);
  return { method: verb, url: addressOf(url), headers: headersOf(headers), body: bytes };
}

/**
 * The request that follows a redirect, or null where the response is none. 301 and 302 make a POST a GET, 303 makes all but
 * HEAD a GET, 307 and 308 keep method and body. @throws a `RedirectRefusedError` where it may not lead
 */
export function redirectOf(from: Outgoing, status: number, location: unknown): Outgoing | null {
  if (!REDIRECTS.has(status) || typeof location !== 'string') return null;
  if (!URL.canParse(location, from.url.href)) throw refused(from, 'to what is not an address');
  const url = new URL(location, from.url);
  url.hash = '';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused(from, `to ${url.protocol}`);
  if (from.url.protocol === 'https:' && url.protocol === 'http:') throw refused(from, 'from https: to http:');
  if (url.username !== '' || url.password !== '') throw refused(from, 'to an address with a user or password');
  const becomesGet =
    ((status === 301 || status === 302) && from.method === 'POST') || (status === 303 && !isSafe(from.method));
  const headers = { ...from.headers };
  if (url.origin !== from.url.origin) for (const name of OF_ORIGIN) delete headers[name];
  if (becomesGet) for (const name of OF_BODY) delete headers[name];
  return becomesGet ? { method: 'GET', url, headers, body: null } : { ...from, url, headers };
}

/** What is refused may hold promises: how they settle interests nobody, and a rejection is not to end the host. */
function forget(refused: unknown, depth = 3): void {
  if (typeof refused !== 'object' || refused === null || ArrayBuffer.isView(refused)) return;
  try {
    if (types.isPromise(refused)) void Promise.prototype.then.call(refused, undefined, () => undefined);
    else if (depth > 0) for (const part of Object.values(refused)) forget(part, depth - 1);
  } catch {
    // A getter that throws hides what is behind it.
  }
}

function addressOf(given: unknown): URL {
  const text = given instanceof URL ? given.href : given;
  if (typeof text !== 'string' || !URL.canParse(text)) throw invalid('its url is not an absolute address');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalid('its url is neither http: nor https:');
  if (url.username !== '' || url.password !== '')
    throw invalid('its url holds a user or password; give them as a header');
  url.hash = '';
  return url;
}

function headersOf(given: unknown): Record<string, string | string[]> {
  // Lists, maps, promises and the platform's `Headers` have no properties to be read here.
  if (typeof given !== 'object' || given === null || Symbol.iterator in given || types.isPromise(given))
    throw invalid('its headers are not a plain object');
  const headers: Record<string, string | string[]> = { __proto__: null } as never;
  for (const [written, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!TOKEN.test(written)) throw invalid('the name of a header holds a character it may not');
    const name = written.toLowerCase();
    if (OURS.has(name)) throw invalid(`the header ${name} is set by the library`);
    if (name in headers) throw invalid(`the header ${name} is given twice; use a list`);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!values.every((one) => typeof one === 'string' && VALUE.test(one)))
      throw invalid(`the value of the header ${name} is no text of one line`);
    headers[name] = Array.isArray(value) ? [...value] : value;
  }
  headers['accept-encoding'] ??= 'identity';
  return headers;
}

function invalid(why: string): Error {
  return httpFailure('RequestInvalidError', `The HTTP request cannot be sent: ${why}.`);
}
function refused(from: Outgoing, where: string): Error {
  return httpFailure('RedirectRefusedError', `${from.url.origin} redirects ${where}, which is not followed.`);
}
