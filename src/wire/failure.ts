/**
 * How any thrown value becomes a plain record, and what the host may conclude from it.
 *
 * Invariant: `toFailure` is total: it never throws, whatever it is given, and what it returns can always be cloned.
 * Deliberately absent: redaction and size limits of results, which belong to the host (`output/`).
 */

/** A thrown value as plain data. */
export interface Failure {
  /** `TOOL_ERROR`, `TOOL_LOAD`, `NOT_CLONEABLE` or `UNCAUGHT`. */
  readonly code: FailureCode;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: Failure;
  /** Own enumerable JSON-safe properties, at most 32. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** True when the value was an abort error without a cause, or when its cause graph holds the very reason of the abort. */
  readonly ofStop: boolean;
  readonly truncated: boolean;
}
export type FailureCode = 'TOOL_ERROR' | 'TOOL_LOAD' | 'NOT_CLONEABLE' | 'UNCAUGHT';
