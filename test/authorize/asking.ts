/**
 * An authorizer that answers only when told, and what it was asked.
 *
 * Invariant: each question stays open until it is answered; nothing here takes time. Deliberately absent: expectations.
 */
import type { AuthorizeRequest, Authorizer } from '../../src/model/option-shapes.ts';

export interface Asked {
  readonly request: AuthorizeRequest;
  readonly signal: AbortSignal;
  readonly answer: (answer: unknown) => void;
  readonly fail: (error: unknown) => void;
}

export function patientAuthorizer() {
  const asked: Asked[] = [];
  const authorize: Authorizer = (request, { signal }) =>
    new Promise((answer, fail) => {
      asked.push({ request, signal, answer: answer as Asked['answer'], fail });
    });
  return { authorize, asked };
}
