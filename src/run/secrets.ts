/**
 * The secrets of an input: what its tool says must never be seen.
 *
 * Invariant: fails closed: where they cannot be known, the request is refused with words that hold nothing of the input.
 * Deliberately absent: hiding them (`output/redaction.ts`), and any call with an input that no schema has accepted.
 */
import { isString } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import { FORMS_BYTES, type Redactor } from '../output/redaction.ts';
import { toFailure } from '../wire/failure.ts';
import type { Complaint } from './explain.ts';

const TOO_MUCH: Complaint = {
  message: `secrets() of the tool returned more than can be hidden: ${FORMS_BYTES} bytes with all encodings, about 40 KiB.`,
};

/** A redactor that hides the secrets of `input` as well, or why there is none. */
export function redactorFor(tool: Tool, input: unknown, redactor: Redactor): Redactor | Complaint {
  if (tool.secrets === null) return redactor;
  try {
    const secrets: unknown = tool.secrets(input);
    if (Array.isArray(secrets) && secrets.every(isString)) return redactor.with(secrets) ?? TOO_MUCH;
    // An asynchronous one is refused, and how it settles interests nobody.
    Promise.resolve(secrets).catch(() => undefined);
    return { message: 'secrets() of the tool must return an array of strings, and at once.' };
  } catch (error) {
    return { message: `secrets() of the tool threw a ${toFailure(error, 'TOOL_ERROR').name}.` };
  }
}
