/**
 * Which records from a port are an isolate's own.
 *
 * Invariant: total; what passes has the isolate's nonce and every field its tag promises, since user code can reach the
 * port and post what it likes. Deliberately absent: what the records mean. Hand-written because each lease pays for it.
 */
import type { IsolateMessage } from './protocol.ts';

type Fields = Readonly<Record<string, unknown>>;
const isCount = (x: unknown): boolean => typeof x === 'number' && x >= 0;
const isPlain = (x: unknown): x is Fields => typeof x === 'object' && x !== null;
const isFailure = (x: unknown): boolean =>
  isPlain(x) && typeof x.code === 'string' && typeof x.name === 'string' && typeof x.message === 'string';

const FITS: Readonly<Record<IsolateMessage['t'], (record: Fields) => boolean>> = {
  started: (r) => isCount(r.seq),
  settled: (r) =>
    isCount(r.seq) && isCount(r.ranMs) && typeof r.clean === 'boolean' && (r.ok === true || isFailure(r.failure)),
  looked: (r) =>
    isCount(r.seq) && Array.isArray(r.findings) && r.findings.every((f) => isPlain(f) && typeof f.kind === 'string'),
  output: (r) => isCount(r.seq) && r.bytes instanceof Uint8Array && isCount(r.omittedBytes) && isCount(r.credit),
  drained: (r) => isCount(r.seq) && isCount(r.ms) && Array.isArray(r.holders),
  progress: (r) => isCount(r.seq) && (r.value === null || typeof r.value === 'number') && isCount(r.credit),
  log: (r) => isCount(r.seq) && typeof r.message === 'string' && typeof r.level === 'string' && isCount(r.credit),
  fatal: (r) => isCount(r.seq) && isFailure(r.failure),
  child: (r) => isCount(r.pid) && typeof r.alive === 'boolean',
  call: (r) => isPlain(r.d),
  hook: (r) => isPlain(r.d),
};

/** Whether `record` is a record of the isolate that holds `nonce`. */
export function isIsolateMessage(record: unknown, nonce: string): record is IsolateMessage {
  if (!isPlain(record) || record.n !== nonce || typeof record.t !== 'string') return false;
  return Object.hasOwn(FITS, record.t) && FITS[record.t as IsolateMessage['t']](record);
}
