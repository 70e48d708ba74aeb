/**
 * Validation of what enters and leaves a tool, by its schemas.
 *
 * Invariants: total: a schema that throws refuses; synchronous when the schema is, so that most requests never wait.
 * Deliberately absent: a bound on synchronous schemas, which nothing can give, and the clock: the caller bounds the wait.
 */
import { z } from 'zod';
import { toFailure } from '../wire/failure.ts';

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly fields?: Readonly<Record<string, unknown>> };

const MAX_ISSUES = 16;

/** `what` begins the message of a refusal: "The input", "The value". */
export function validate(schema: z.ZodType, x: unknown, what: string): Validated | Promise<Validated> {
  try {
    return told(schema.safeParse(x), what);
  } catch (error) {
    if (!(error instanceof z.core.$ZodAsyncError)) return threw(error, what);
    return schema.safeParseAsync(x).then(
      (parsed) => told(parsed, what),
      (thrown: unknown) => threw(thrown, what),
    );
  }
}

function told(parsed: z.ZodSafeParseResult<unknown>, what: string): Validated {
  if (parsed.success) return { ok: true, value: parsed.data };
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message, code }) => {
    const at = path.map(String).join('.');
    return { path: at, code: String(code), message };
  });
  const words = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return { ok: false, message: `${what} was refused by the schema: ${words}`, fields: { issues } };
}

function threw(error: unknown, what: string): Validated {
  return { ok: false, message: `${what} could not be validated: ${toFailure(error, 'TOOL_ERROR').message}` };
}
