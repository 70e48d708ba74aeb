/**
 * Channel: awaited calls between the host and an isolate, one per tag. The only file that imports Comlink.
 *
 * Invariants: a call settles exactly once, at the latest when the channel ends (Comlink alone would leave it pending);
 * an error keeps its name, message and code (Comlink drops the code), since failures cross as plain values; of what
 * Comlink can do only the call of a named method is let through. Nothing of Comlink is made before the first call.
 * Deliberately absent: the port. What the peer posted comes in by `receive`.
 */
import { type Endpoint, expose, wrap } from 'comlink';
import { type Failure, toFailure } from './failure.ts';
import { MAX_CALLS_IN_FLIGHT } from './protocol.ts';

export interface ChannelEnds {
  /** Posts one message to the peer. */
  readonly post: (d: unknown) => void;
  /** The methods the peer may call. */
  readonly expose?: object | undefined;
}

export interface Channel<Remote extends object = object> {
  /**
   * The peer's methods. Each call rejects with the peer's error (name, message, code), when the channel ends, or at
   * once when `MAX_CALLS_IN_FLIGHT` calls are unanswered.
   */
  readonly remote: Remote;
  /** Takes one message of the peer. Never throws, whatever it is given. */
  receive(d: unknown): void;
  /** Rejects what is pending and every later call. Idempotent. */
  end(reason: string): void;
}

type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly failure: Failure };
type Invoke = (method: string, args: readonly unknown[]) => Promise<Reply>;
type Hear = (event: { readonly data: unknown }) => void;

/** Opens this side of a channel. */
export function openChannel<Remote extends object = object>(ends: ChannelEnds): Channel<Remote> {
  const pending = new Set<(error: Error) => void>();
  let ended: string | null = null;
  let invoke: Invoke | null = null;
  let hearReply: Hear | null = null;
  let hearRequest: Hear | null = null;

  /** Comlink posts a release when its proxies are collected, also long after the end: nothing leaves then. */
  const endpoint = (hear: (listener: Hear) => void): Endpoint => ({
    postMessage: (d: unknown) => {
      if (ended === null) ends.post(d);
    },
    addEventListener: (_type: string, listener: unknown) => hear(listener as Hear),
    removeEventListener: () => {},
  });
  const connect = (): Invoke =>
    wrap<{ invoke: Invoke }>(endpoint((listener) => (hearReply = listener))).invoke as unknown as Invoke;
  const serve = (methods: object): Hear => {
    expose(
      { invoke: (method: string, args: readonly unknown[]) => answer(methods, method, args) },
      endpoint((listener) => (hearRequest = listener)),
    );
    return hearRequest as unknown as Hear;
  };

  const call = (method: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (ended !== null) return reject(new Error(`${method}: ${ended}`));
      if (pending.size >= MAX_CALLS_IN_FLIGHT) {
        return reject(new Error(`${method}: ${MAX_CALLS_IN_FLIGHT} calls are unanswered already`));
      }
      pending.add(reject);
      invoke ??= connect();
      // The peer may answer with anything, and then reading the answer fails.
      invoke(method, args)
        .then((reply) => (reply.ok ? resolve(reply.value) : reject(toError(reply.failure))))
        .catch(reject)
        .finally(() => pending.delete(reject));
    });

  return {
    remote: remoteOf<Remote>(call),
    receive(d) {
      if (ended !== null) return;
      if (isRequest(d)) {
        if (ends.expose !== undefined) (hearRequest ?? serve(ends.expose))({ data: d });
      } else if (isReply(d)) {
        hearReply?.({ data: d });
      }
    },
    end(reason) {
      if (ended !== null) return;
      ended = reason;
      for (const reject of pending) reject(new Error(reason));
      pending.clear();
    },
  };
}

function remoteOf<Remote extends object>(call: (method: string, args: readonly unknown[]) => Promise<unknown>): Remote {
  return new Proxy({} as Remote, {
    // Without the exception of `then`, awaiting the remote itself would be a call.
    get: (_, name) =>
      typeof name === 'string' && name !== 'then' ? (...args: unknown[]) => call(name, args) : undefined,
  });
}

async function answer(methods: object, method: string, args: readonly unknown[]): Promise<Reply> {
  try {
    const found: unknown = method in Object.prototype ? undefined : Reflect.get(methods, method);
    if (typeof found !== 'function') throw new TypeError(`no method ${method}`);
    return { ok: true, value: await (Reflect.apply(found, methods, args) as unknown) };
  } catch (error) {
    return { ok: false, failure: toFailure(error, 'TOOL_ERROR') };
  }
}

function toError(failure: Failure): Error {
  const error = new Error(failure.message);
  error.name = failure.name;
  const code = failure.fields?.['code'];
  return code === undefined ? error : Object.assign(error, { code });
}

/** Comlink would also read, assign and construct along any path, and throws outside its own guard on other arguments. */
function isRequest(d: unknown): boolean {
  const { type, path, argumentList } = (d ?? {}) as { type?: unknown; path?: unknown; argumentList?: unknown };
  return (
    type === 'APPLY' &&
    Array.isArray(path) &&
    path.length === 1 &&
    path[0] === 'invoke' &&
    Array.isArray(argumentList) &&
    argumentList.every((argument: { type?: unknown } | null) => argument?.type === 'RAW') &&
    typeof argumentList[0]?.value === 'string' &&
    Array.isArray(argumentList[1]?.value)
  );
}

function isReply(d: unknown): boolean {
  const { type, id, name } = (d ?? {}) as { type?: unknown; id?: unknown; name?: unknown };
  return typeof id === 'string' && (type === 'RAW' || (type === 'HANDLER' && name === 'throw'));
}
