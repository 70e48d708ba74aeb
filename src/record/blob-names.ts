/**
 * Which blobs the event log names: a large input stands in the body of `prepared` as `input: { blob: digest }`, a large
 * value in that of `closed` as `value: { blob: digest }`; large is over 2 KiB of canonical JSON.
 *
 * Invariant: it errs to the safe side, so that a sweep removes no blob whose digest stands anywhere in the log.
 * Deliberately absent: digests within blobs.
 */
import type { LogEvent, NamedBlob } from '../model/stores.ts';
import { isDigest } from './blob-digest.ts';

/** Every digest that is a whole string anywhere in the entry's body, once. */
export function blobsNamedBy({ body }: LogEvent): string[] {
  const found = new Set<string>();
  const seen = new Set<object>();
  const look = (x: unknown): void => {
    if (isDigest(x)) found.add(x);
    if (typeof x !== 'object' || x === null || seen.has(x)) return;
    seen.add(x);
    for (const part of Object.values(x)) look(part);
  };
  look(body);
  return [...found];
}

/** The same over a log, for `BlobStore.sweep`. */
export async function* blobsNamedIn(events: AsyncIterable<LogEvent>): AsyncGenerator<NamedBlob, void, void> {
  for await (const event of events) for (const digest of blobsNamedBy(event)) yield { tenant: event.tenant, digest };
}
