/**
 * What the log holds of a lost attempt that somebody may try again.
 *
 * Invariant: an attempt whose recorded input is not the very input it had is never told as one that can be repeated.
 * Deliberately absent: repeating it, which is the application's to decide.
 */
import type { AttemptName, LoggedIntent, RerunnableAttempt } from '../model/recovery.ts';
import type { LostAttempt } from './lost-attempts.ts';

/** Why an attempt cannot be tried again from what the log holds; null when it can. */
export function withheldFrom({ prepared }: LostAttempt): string | null {
  const body = prepared?.body;
  if (body === undefined || !('isExact' in body)) return 'its input is not in the log';
  if (body['hadSecrets'] === true) return 'its input held a secret';
  if (body['isExact'] !== true) return 'its input cannot be told as JSON';
  return 'inputOmitted' in body ? 'its input was not stored' : null;
}

export function rerunnableOf(attempt: LostAttempt): RerunnableAttempt {
  const body = attempt.prepared?.body ?? {};
  const [inputBlob, labelsBlob, seed] = [blobOf(body['input']), blobOf(body['labels']), body['idempotencyKey']];
  return {
    ...attemptNameOf(attempt),
    ...(inputBlob !== null ? { inputBlob } : 'input' in body && { input: body['input'] }),
    idempotencyKey: typeof seed === 'string' ? seed : null,
    ...(labelsBlob === null
      ? { labels: (body['labels'] ?? {}) as Readonly<Record<string, string>> }
      : { labels: {}, labelsBlob }),
    intents: loggedIntentsOf(attempt),
  };
}

export function attemptNameOf({ first, prepared, open }: LostAttempt): AttemptName {
  const { tenant, run, branch, requestId, attempt } = first;
  const tool = prepared?.body['tool'] ?? open[0]?.open.tool ?? '';
  return { tenant, run, branch, requestId, attempt, tool: String(tool) };
}

export function loggedIntentsOf({ intents }: LostAttempt): LoggedIntent[] {
  return intents.map(({ name, key, state }) => ({ intent: name, key, state }));
}

function blobOf(part: unknown): string | null {
  if (typeof part !== 'object' || part === null || Object.keys(part).length !== 1) return null;
  const { blob } = part as { blob?: unknown };
  return typeof blob === 'string' ? blob : null;
}
