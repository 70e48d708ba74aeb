/**
 * The failures of an HTTP call, as the names a user can tell them apart by.
 *
 * Invariant: no message and no field holds a header's value, a body, or more of an address than its origin. Deliberately
 * absent: the parser's own errors as causes, since they carry pieces of what the server sent.
 */

export type HttpFailureName =
  /** What `request` returned cannot be sent. */
  | 'RequestInvalidError'
  /** No connection: nothing of the request has left. */
  | 'ConnectError'
  | 'ConnectTimeoutError'
  | 'HeadersTimeoutError'
  | 'HeadersTooLargeError'
  | 'BodyTimeoutError'
  /** The connection ended before the response did. */
  | 'ResponseCutError'
  /** What came is not HTTP, or not an answer to this request. */
  | 'ResponseInvalidError'
  /** The body is encoded in a way that is not decoded, or wrongly. */
  | 'EncodingError'
  /** The server sent the request on to where it may not go. */
  | 'RedirectRefusedError'
  /** The status is not among `okStatuses`. */
  | 'StatusError';

/** `fields` are kept beside the message in a result's error. */
export function httpFailure(name: HttpFailureName, message: string, fields: Record<string, unknown> = {}): Error {
  const failure = Object.assign(new Error(message), fields);
  Object.defineProperty(failure, 'name', { value: name, configurable: true, writable: true });
  return failure;
}

/** The code of an error of the platform or the parser; without one, its name. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return String(code ?? name ?? 'UNKNOWN');
}
