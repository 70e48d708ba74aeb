/**
 * One request and its response, on a connection of its own, which ends with it.
 *
 * Invariants: until undici is about to write, nothing has left, and a failure then is a `NotAppliedError`; each phase has its
 * bound, on the lease's clock; after `close` no socket is left. Deliberately absent: undici's timers, which are coarse, its
 * connector, which keeps a socket that is still connecting, and its retries: there is one connection at most.
 */
import { createRequire } from 'node:module';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Dispatcher, Client as HttpClient } from 'undici';
import { NotAppliedError } from '../model/not-applied.ts';
import { settlesWithin, type Timer } from '../model/time.ts';
import type { InlineContext } from '../model/work.ts';
import { type BodyLimits, ResponseBody } from './http-body.ts';
import { codeOf, type HttpFailureName, httpFailure } from './http-failure.ts';
import type { Outgoing } from './http-request.ts';

// The package's entry would put a dispatcher of its own under the host's `fetch`, for the whole process.
const Client = createRequire(import.meta.url)('undici/lib/dispatcher/client.js') as typeof HttpClient;

/** How long the end of a socket is waited for. */
const CLOSE_MS = 500;
/** The body is sent in pieces of this many bytes, so that one can see whether it moves. */
const PIECE_BYTES = 65_536;

export interface ExchangeTerms {
  readonly limits: BodyLimits & { readonly headerBytes: number };
  readonly onLimit: 'truncate' | 'stop';
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly ca: readonly string[];
}

/** The head of a response, whose body is on its way. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: ResponseBody;
}

export class Exchange {
  /** Rejects with a `NotAppliedError` when nothing has left. */
  readonly head: Promise<Head>;
  readonly #outgoing: Outgoing;
  readonly #terms: ExchangeTerms;
  readonly #signal: AbortSignal;
  readonly #clock: InlineContext['clock'];
  #phase: 'connecting' | 'sending' | 'receiving' | 'over' = 'connecting';
  #client: HttpClient | null = null;
  #socket: Socket | null = null;
  #closed: Promise<unknown> = Promise.resolve();
  #broken: Error | null = null;
  #body: ResponseBody | null = null;
  #timer: Timer | null = null;
  #movedAt = 0;
  #resolve!: (head: Head) => void;
  #reject!: (error: unknown) => void;

  constructor(outgoing: Outgoing, terms: ExchangeTerms, context: Pick<InlineContext, 'signal' | 'clock'>) {
    this.#outgoing = outgoing;
    this.#terms = terms;
    this.#signal = context.signal;
    this.#clock = context.clock;
    this.head = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.head.catch(() => undefined);
    if (this.#signal.aborted) this.#stop();
    else this.#begin();
  }

  /** Ends the connection, and resolves when the socket is gone, or after 500 ms. */
  async close(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#stop);
    this.#phase = 'over';
    this.#unwatch();
    this.#destroy();
    await settlesWithin(this.#clock, CLOSE_MS, this.#closed);
  }

  #begin(): void {
    const { method, url, headers, body } = this.#outgoing;
    this.#signal.addEventListener('abort', this.#stop, { once: true });
    this.#watch(this.#terms.connectTimeoutMs, 'ConnectTimeoutError', 'no connection');
    try {
      this.#client = new Client(url.origin, {
        connect: (_options, callback) => this.#connect(callback),
        // One request, and `connection: close`.
        pipelining: 0,
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: this.#terms.limits.headerBytes,
      });
      this.#client.dispatch(
        {
          method,
          path: `${url.pathname}${url.search}`,
          headers: body === null ? headers : { ...headers, 'content-length': String(body.length) },
          ...(body === null ? {} : { body: this.#pieces(body) as never }),
        },
        this.#handler(),
      );
    } catch (error) {
      this.#fail(unsendable(codeOf(error)));
    }
  }

  #handler(): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller) => {
        if (this.#phase !== 'connecting') {
          controller.abort(new Error('over'));
          return;
        }
        this.#phase = 'sending';
        this.#watch(this.#terms.headersTimeoutMs, 'HeadersTimeoutError', 'no response');
      },
      onResponseStart: (_controller, status, headers) => {
        // Also called for each 1xx before the response; they take from its time.
        if (status < 200 || this.#phase !== 'sending') return;
        this.#phase = 'receiving';
        this.#watch(this.#terms.idleTimeoutMs, 'BodyTimeoutError', 'nothing more of the body');
        this.#body = new ResponseBody(this.#terms.limits, this.#terms.onLimit, headers['content-encoding']);
        this.#resolve({ status, headers: headers as Head['headers'], body: this.#body });
      },
      onResponseData: (_controller, chunk) => {
        this.#movedAt = this.#clock.now();
        this.#body?.write(chunk);
      },
      onResponseEnd: () => {
        if (this.#phase !== 'receiving') return;
        // Without a length a body ends with its connection, which a reset does as well as an end.
        if (this.#broken !== null) {
          this.#fail(this.#cut(this.#broken));
          return;
        }
        this.#phase = 'over';
        this.#unwatch();
        this.#body?.finish();
      },
      onResponseError: (_controller, error) => this.#fail(this.#failureOf(error)),
    };
  }

  #connect(callback: (...result: [null, Socket] | [Error, null]) => void): void {
    if (this.#socket !== null || this.#phase !== 'connecting') {
      callback(new Error('one connection at most'), null);
      return;
    }
    const { protocol, hostname, port } = this.#outgoing.url;
    const { ca } = this.#terms;
    const isSecure = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const target = { host, port: port === '' ? (isSecure ? 443 : 80) : Number(port) };
    const named = { servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'] };
    const socket = isSecure
      ? connectSecurely({ ...target, ...named, ...(ca.length === 0 ? {} : { ca: [...ca] }) })
      : connectPlain(target);
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', resolve));
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      this.#broken ??= error;
      const { host: place } = this.#outgoing.url;
      if (this.#phase === 'connecting')
        this.#fail(
          httpFailure('ConnectError', `No connection to ${place}: ${codeOf(error)}.`, { code: codeOf(error) }),
        );
    });
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      if (this.#phase === 'connecting') callback(null, socket);
    });
  }

  *#pieces(body: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      this.#movedAt = this.#clock.now();
      yield body.subarray(at, at + PIECE_BYTES);
    }
  }

  /** The phase fails when nothing moves for `ms`. */
  #watch(ms: number, name: HttpFailureName, what: string): void {
    this.#unwatch();
    this.#movedAt = this.#clock.now();
    const look = (): void => {
      const left = this.#movedAt + ms - this.#clock.now();
      if (left > 0) this.#timer = this.#clock.setTimeout(look, left);
      else this.#fail(httpFailure(name, `${this.#outgoing.url.host}: ${what} within ${ms} ms.`, { timeoutMs: ms }));
    };
    this.#timer = this.#clock.setTimeout(look, ms);
  }
  #unwatch(): void {
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  readonly #stop = (): void => this.#fail(this.#signal.reason);

  #fail(error: unknown): void {
    const phase = this.#phase;
    this.#phase = 'over';
    this.#unwatch();
    if (phase === 'connecting') this.#reject(new NotAppliedError('The request did not leave.', { cause: error }));
    else if (phase === 'sending') this.#reject(error);
    else this.#body?.fail(error);
    this.#destroy();
  }

  #destroy(): void {
    this.#socket?.destroy();
    void this.#client?.destroy();
  }

  #failureOf(error: Error): Error {
    const { headerBytes } = this.#terms.limits;
    const { host } = this.#outgoing.url;
    const code = codeOf(error);
    // Undici refused it: how a connection fails is seen on the socket.
    if (this.#phase === 'connecting') return unsendable(code);
    if (code === 'UND_ERR_HEADERS_OVERFLOW')
      return httpFailure('HeadersTooLargeError', `The headers from ${host} pass ${headerBytes} bytes.`, {
        headerBytes,
      });
    const isForeign = /^bad (upgrade|response)$/.test(error.message);
    if (isForeign || (error.name === 'HTTPParserError' && !/EOF/.test(error.message)))
      return httpFailure('ResponseInvalidError', `What ${host} sent is no answer to the request.`, { code });
    return this.#cut(error);
  }

  #cut(error: Error): Error {
    const { wireBytes = 0, bodyBytes = 0 } = this.#body ?? {};
    const why = `The connection to ${this.#outgoing.url.host} ended before the response did.`;
    return httpFailure('ResponseCutError', why, { code: codeOf(error), wireBytes, bodyBytes });
  }
}

function unsendable(code: string): Error {
  return httpFailure('RequestInvalidError', 'The HTTP request cannot be sent.', { code });
}
