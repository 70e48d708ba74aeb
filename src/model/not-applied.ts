/**
 * NotAppliedError: how an effect says that nothing happened outside, and how it is heard.
 *
 * Invariant: known by a brand, so that copies of this package in one isolate agree.
 * Deliberately absent: what follows for the intent (whoever lets the effect go).
 */
const brand = Symbol.for('leasehold.not-applied');

/** Thrown by an effect that knows that nothing happened outside. Recognised by a brand: copies of this class agree. */
export class NotAppliedError extends Error {
  override readonly name = 'NotAppliedError';
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, brand, { value: true });
  }
}

/** True for a `NotAppliedError` of any copy of this package. Never throws. */
export function isNotApplied(error: unknown): boolean {
  try {
    return typeof error === 'object' && error !== null && (error as Record<symbol, unknown>)[brand] === true;
  } catch {
    return false;
  }
}
