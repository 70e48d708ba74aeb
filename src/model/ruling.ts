/**
 * Ruling: what the answer of an authorizer comes to.
 *
 * Invariant: a yes is said, never implied by the absence of a no. Deliberately absent: how an answer is read
 * (`authorize/`), and redaction: the words of a no are the application's, and not fit to be told as they are.
 */

/** A no, and why. */
export interface Denial {
  readonly allowed: false;
  /** Said clearly; or the authorizer failed, which is a no as well. */
  readonly code: 'DENIED' | 'AUTHORIZER_FAILED';
  readonly message: string;
  /** The message was cut at its end. */
  readonly truncated: boolean;
}
export type Ruling = { readonly allowed: true } | Denial;

export const ALLOWED: Ruling = Object.freeze({ allowed: true });
