/**
 * The record on disk that `--log` asks for: an event log, and beside it a directory for what is too large for an entry.
 *
 * Invariant: what lost hosts left open in it is decided before anything is run, and told in a few lines.
 * Deliberately absent: showing a log (`log-command.ts`).
 */
import type { RecoveryReport } from '../index.ts';
import { fileBlobStore } from '../record/file-blob-store.ts';
import { sqliteEventLog } from '../sqlite/index.ts';

/** @throws (rejects) when the log cannot be opened */
export async function openRecord(file: string) {
  const eventLog = await sqliteEventLog({ file });
  return { eventLog, blobs: fileBlobStore({ root: blobsOf(file) }) };
}

/** Where the blobs of a log are. */
export function blobsOf(file: string): string {
  return `${file}.blobs`;
}

/** Nothing where nothing was left. */
export function recoveredLines({ closed, held, failures, survivors }: RecoveryReport): string[] {
  const lines: string[] = [];
  if (closed.length > 0) lines.push(`leasehold: ${closed.length} attempts of lost hosts were closed in the log`);
  if (held.length > 0) lines.push(`leasehold: ${held.length} effects in the log may or may not have happened`);
  if (survivors.length > 0) lines.push(`leasehold: ${survivors.length} processes of lost hosts are still running`);
  for (const { message } of failures) lines.push(`leasehold: ${message}`);
  return lines;
}
