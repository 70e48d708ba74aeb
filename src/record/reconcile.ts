/**
 * Asks a `reconcile` hook whether an effect happened: again when it throws or does not know, and all of it within one budget.
 *
 * Invariants: settles within the budget, or when it is ended, whatever the hook does; what it said is redacted and bounded
 * before anybody sees it. Deliberately absent: writing the answer down.
 */
import { CancelledError } from '../model/errors.ts';
import type { Reconcile, ReconcileContext } from '../model/recovery.ts';
import type { BlobStore, OpenIntent } from '../model/stores.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import { boundText, deepFrozen } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';

/** After the first time. */
const MOST_RETRIES = 3;
/** Before the first of them; each pause is twice the one before. Milliseconds. */
const PAUSE_MS = 100;
const EVIDENCE_BYTES = 2 * 1024;
const MESSAGE_BYTES = 512;
const VERDICTS: ReadonlySet<unknown> = new Set(['applied', 'not-applied', 'unknown']);

/** `failure`: why there is no answer, in words; the verdict is `unknown` then. */
export interface Answer {
  readonly verdict: 'applied' | 'not-applied' | 'unknown';
  readonly evidence: unknown;
  readonly failure: string | null;
}

export interface Asking {
  readonly clock: Clock;
  readonly blobs: BlobStore;
  readonly redactor: Redactor;
  readonly budgetMs: number;
  /** Ends the wait. */
  readonly ended: AbortSignal;
}

/** Never rejects. */
export async function askHook(hook: Reconcile, intent: OpenIntent, asking: Asking): Promise<Answer> {
  const { clock, blobs, budgetMs, ended, redactor } = asking;
  const until = clock.now() + budgetMs;
  const controller = new AbortController();
  const ctx: ReconcileContext = Object.freeze({
    signal: controller.signal,
    blobs: Object.freeze({ get: (digest: string) => blobs.get(intent.tenant, digest) }),
  });
  const end = () => controller.abort(new CancelledError('CANCELLED', 'The answer is awaited no longer.'));
  ended.addEventListener('abort', end, { once: true });
  try {
    let pauseMs = PAUSE_MS;
    for (let retries = 0; ; retries += 1) {
      const answer = await answerWithin(Math.max(0, until - clock.now()), () => hook(intent, ctx), asking);
      const isOver = ended.aborted || retries === MOST_RETRIES || clock.now() + pauseMs >= until;
      if (answer.verdict !== 'unknown' || isOver) return answer;
      await settlesWithin(clock, pauseMs, untilAborted(ended));
      pauseMs *= 2;
    }
  } catch (error) {
    return unanswered(wordsOf(error, redactor));
  } finally {
    ended.removeEventListener('abort', end);
    end();
  }
}

async function answerWithin(ms: number, ask: () => unknown, { clock, redactor, ended }: Asking): Promise<Answer> {
  const got: { answer: Answer } = { answer: unanswered(`it did not answer within the budget`) };
  const asked = (async () => {
    got.answer = answerOf(await ask(), redactor);
  })().catch((error: unknown) => {
    got.answer = unanswered(`it threw: ${wordsOf(error, redactor)}`);
  });
  await settlesWithin(clock, ms, firstOf(asked, ended));
  return got.answer;
}

/** Settles with the work, or when it is ended. */
function firstOf(work: Promise<void>, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      ended.removeEventListener('abort', settle);
      resolve();
    };
    ended.addEventListener('abort', settle, { once: true });
    if (ended.aborted) settle();
    void work.then(settle);
  });
}
function untilAborted(ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) resolve();
    else ended.addEventListener('abort', () => resolve(), { once: true });
  });
}

function answerOf(said: unknown, redactor: Redactor): Answer {
  const { verdict, evidence } = (typeof said === 'object' && said !== null ? said : {}) as Partial<Answer>;
  if (!VERDICTS.has(verdict)) return unanswered('it answered with no verdict');
  return { verdict: verdict as Answer['verdict'], evidence: told(evidence, redactor), failure: null };
}

/** Plain, redacted, and within its bytes: what is longer becomes the beginning of its JSON. */
function told(evidence: unknown, redactor: Redactor): unknown {
  if (evidence === undefined) return null;
  const plain = redactor.plain(evidence);
  const text = JSON.stringify(plain);
  if (Buffer.byteLength(text) <= EVIDENCE_BYTES) return deepFrozen(plain);
  // Each character may need an escape in front of it.
  return Object.freeze({ truncated: boundText(text, EVIDENCE_BYTES / 2) });
}

function unanswered(failure: string): Answer {
  return { verdict: 'unknown', evidence: null, failure };
}

export function wordsOf(error: unknown, redactor: Redactor): string {
  let words = 'something that cannot be told';
  try {
    words = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    // A hostile error tells nothing.
  }
  return boundText(redactor.text(words), MESSAGE_BYTES);
}
