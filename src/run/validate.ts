/**
 * Validation of what enters and leaves a tool, by its schemas.
 *
 * Invariants: total: a schema that throws refuses; synchronous when the schema is, so that most requests never wait.
 * Deliberately absent: a bound on synchronous schemas, which nothing can give, and the clock: the caller bounds the wait.
 */
import { z } from 'zod';
import type { Issue } from '../model/control-shapes.ts';
import { toFailure } from '../wire/failure.ts';

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly message: string;
      readonly fields?: { readonly issues: readonly Issue[] };
      readonly truncated?: boolean;
    };

const MAX_ISSUES = 16;

/** `what` begins the message of a refusal: "The input", "The value". The promise never rejects. */
export function validate(schema: z.ZodType, x: unknown, what: string): Validated | Promise<Validated> {
  const failed = (error: unknown): Validated => {
    const { message, truncated } = toFailure(error, 'TOOL_ERROR');
    return { ok: false, message: `${what} could not be validated: ${message}`, truncated };
  };
  try {
    // One run that may be asynchronous: `safeParse` would start an asynchronous check, drop its promise, and have it run again.
    const parsed = schema._zod.run({ value: x, issues: [] }, CTX);
    return parsed instanceof Promise ? parsed.then((late) => told(late, what)).catch(failed) : told(parsed, what);
  } catch (error) {
    return failed(error);
  }
}

/** What is said when a schema took too long. */
export function unvalidated(what: string, validateMs: number): Validated & { readonly ok: false } {
  return { ok: false, message: `${what} was not validated within validateMs (${validateMs} ms).` };
}

const CTX: z.core.ParseContextInternal = { async: true };

function told(parsed: z.core.ParsePayload, what: string): Validated {
  if (parsed.issues.length === 0) return { ok: true, value: parsed.value };
  const issues = parsed.issues.slice(0, MAX_ISSUES).map((raw) => {
    const { path, message, code } = z.core.util.finalizeIssue(raw, CTX, z.core.config());
    return { path: path.map(String).join('.'), code: String(code), message };
  });
  const words = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return { ok: false, message: `${what} was refused by the schema: ${words}`, fields: { issues } };
}
