/**
 * Intake: whether an input may run: its schema, its secrets, and the one call of the authorizer.
 *
 * Invariants: at once where nobody takes their time; every wait ends with a stop or its bound, and whoever waits looks at the stops
 * first. Deliberately absent: admission to the queue, and what becomes of a refusal.
 */
import { authorize, unanswered } from '../authorize/authorize.ts';
import { CancelledError } from '../model/errors.ts';
import type { Authorizer } from '../model/option-shapes.ts';
import { ALLOWED, type Ruling } from '../model/ruling.ts';
import type { Tool } from '../model/tool.ts';
import type { Hop } from '../model/work.ts';
import type { Redactor } from '../output/redaction.ts';
import type { Budget } from '../scope/budget.ts';
import { askedInput } from './asked-input.ts';
import type { End } from './conclusion.ts';
import type { Early } from './early.ts';
import type { Complaint } from './explain.ts';
import type { Particulars } from './particulars.ts';
import { redactorFor } from './secrets.ts';
import { unvalidated, type Validated, validate } from './validate.ts';

export interface Accepted {
  readonly ok: true;
  /** As the schema returned it. */
  readonly input: unknown;
  /** Hides the secrets of the input as well. */
  readonly redactor: Redactor;
  /** The buffers that are to be moved, where the input is a copy with buffers of its own. */
  readonly transfer?: readonly ArrayBuffer[];
}
export type Acceptance = Accepted | (Complaint & { readonly ok: false });
/**
 * `redactor`: what hides the secrets of an input that the authorizer refused. `'stopped'`: before the input was accepted, so that it
 * is neither shown nor asked for its secrets.
 */
export type Checked = Accepted | { readonly ok: false; readonly end: End; readonly redactor: Redactor } | 'stopped';

/** What a schema said comes to. Null stands for one that took longer than `validateMs`. */
export function acceptance(
  tool: Tool,
  validated: Validated | null,
  redactor: Redactor,
  validateMs: number,
): Acceptance {
  if (validated === null) return unvalidated('The input', validateMs);
  if (!validated.ok) return validated;
  const knowing = redactorFor(tool, validated.value, redactor);
  return 'message' in knowing ? { ok: false, ...knowing } : { ok: true, input: validated.value, redactor: knowing };
}

export class Intake {
  readonly #fixed: Particulars;
  readonly #budget: Budget;
  readonly #authorizer: Authorizer | null;
  readonly #early: Early;

  constructor(fixed: Particulars, budget: Budget, authorizer: Authorizer | null, early: Early) {
    this.#fixed = fixed;
    this.#budget = budget;
    this.#authorizer = authorizer;
    this.#early = early;
  }

  get #isStopped(): boolean {
    return this.#early.stops.length > 0;
  }

  /** Calls `then` once. */
  check(input: unknown, redactor: Redactor, then: (checked: Checked) => void): void {
    const { tool, bounds } = this.#fixed;
    const { validateMs } = bounds;
    const validated = validate(tool.input, input, 'The input');
    if (validated instanceof Promise)
      void this.#budget.within(validateMs, validated).then((settled) => {
        if (settled === null && this.#isStopped) then('stopped');
        else this.admit(acceptance(tool, settled, redactor, validateMs), redactor, then);
      });
    else this.admit(acceptance(tool, validated, redactor, validateMs), redactor, then);
  }

  /** The rest of it, for an input whose schema has spoken. After a stop nobody is asked. */
  admit(accepted: Acceptance, known: Redactor, then: (checked: Checked) => void): void {
    if (!accepted.ok) then({ ok: false, end: { rejected: 'INVALID_INPUT', complaint: accepted }, redactor: known });
    else if (this.#authorizer === null || this.#isStopped) then(accepted);
    else {
      const { redactor } = accepted;
      const asked = askedInput(this.#fixed, accepted.input);
      if ('message' in asked) {
        then({ ok: false, end: { rejected: 'NOT_CLONEABLE', complaint: asked }, redactor });
        return;
      }
      const shown: Accepted = { ...accepted, ...asked };
      const obey = (ruling: Ruling) =>
        then(ruling.allowed || this.#isStopped ? shown : { ok: false, end: { denied: ruling }, redactor });
      const ruling = this.ask(asked.input);
      if (ruling instanceof Promise) void ruling.then(obey);
      else obey(ruling);
    }
  }

  /** The one call of the authorizer. `hop` is null for the request itself; `leftMs` bounds the wait beside `authorizeMs`. */
  ask(input: unknown, hop: Hop | null = null, leftMs = Number.POSITIVE_INFINITY): Ruling | Promise<Ruling> {
    if (this.#authorizer === null) return ALLOWED;
    const controller = new AbortController();
    const { names, tool, options, bounds } = this.#fixed;
    const question = { names, tool, input, labels: options.labels, hop };
    const ruling = authorize(this.#authorizer, question, controller.signal);
    if (!(ruling instanceof Promise)) return ruling;
    return this.#budget.within(Math.min(leftMs, bounds.authorizeMs), ruling).then((settled) => {
      if (settled !== null) return settled;
      controller.abort(new CancelledError('CANCELLED', 'The answer of the authorizer is awaited no longer.'));
      return unanswered(bounds.authorizeMs);
    });
  }
}
