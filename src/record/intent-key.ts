/**
 * The idempotency key of an intent.
 *
 * Invariants: the same effect of the same run has the same key in every attempt, process and version of the library;
 * total over any input. Deliberately absent: attempt and request ids, which change when a request is tried again.
 */
import { createHash } from 'node:crypto';

export interface IntentIdentity {
  readonly tenant: string;
  readonly run: string;
  readonly branch: string;
  readonly tool: string;
  readonly name: string;
  /** The key the tool gave, or null. */
  readonly key: string | null;
  readonly input: unknown;
  /** The caller's `idempotencyKey`, or null. It stands for run, branch and input. */
  readonly seed: string | null;
}

/** The tool's own key; else 64 hexadecimal digits of SHA-256. */
export function intentKey({ tenant, run, branch, tool, name, key, input, seed }: IntentIdentity): string {
  if (key !== null) return key;
  const parts = seed === null ? ['run', tenant, tool, name, run, branch, input] : ['seed', tenant, tool, name, seed];
  return createHash('sha256').update(canonicalJson(parts)).digest('hex');
}

/** JSON with sorted keys, total: what JSON cannot say is told by a tag, bytes by their digest, a cycle by its name. */
export function canonicalJson(x: unknown, path: readonly object[] = []): string {
  if (typeof x === 'bigint') return `{"$bigint":"${x}"}`;
  if (typeof x !== 'object' || x === null) return JSON.stringify(x) ?? `{"$${typeof x}":0}`;
  if (path.includes(x) || path.length > 64) return '{"$cycle":0}';
  const deeper = [...path, x];
  const list = (items: Iterable<unknown>): string =>
    `[${[...items].map((item) => canonicalJson(item, deeper)).join(',')}]`;
  if (Array.isArray(x)) return list(x);
  if (ArrayBuffer.isView(x)) return bytesOf(new Uint8Array(x.buffer, x.byteOffset, x.byteLength));
  if (x instanceof ArrayBuffer || x instanceof SharedArrayBuffer) return bytesOf(new Uint8Array(x));
  if (x instanceof Map || x instanceof Set) return `{"$entries":${list(x)}}`;
  if ('toJSON' in x && typeof x.toJSON === 'function') return canonicalJson(x.toJSON(), deeper);
  const record = x as Record<string, unknown>;
  const fields = Object.keys(record)
    .filter((field) => record[field] !== undefined)
    .sort()
    .map((field) => `${JSON.stringify(field)}:${canonicalJson(record[field], deeper)}`);
  return `{${fields.join(',')}}`;
}

function bytesOf(bytes: Uint8Array): string {
  return `{"$bytes":"${createHash('sha256').update(bytes).digest('hex')}"}`;
}
