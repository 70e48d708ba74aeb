/**
 * A value as text for standard output.
 *
 * Invariant: total: every value a tool can return has a text, and JSON-safe values have their JSON.
 * What JSON lacks is written as its nearest form: big integers as strings, bytes in base64, maps and sets as arrays.
 * Deliberately absent: redaction; a value is handed over as it came.
 */
import { inspect } from 'node:util';

/** The JSON text of a value; the text of `util.inspect` where there is none; `''` for `undefined`. */
export function valueText(value: unknown): string {
  if (value === undefined) return '';
  try {
    return JSON.stringify(value, nearest, 2) ?? inspect(value);
  } catch {
    return inspect(value, { depth: 8 });
  }
}

/** The JSON text of a result, its value included. A value without JSON becomes the text of `util.inspect`. */
export function resultText(result: { readonly value?: unknown }): string {
  try {
    return JSON.stringify(result, nearest, 2);
  } catch {
    return JSON.stringify({ ...result, value: inspect(result.value, { depth: 8 }) }, null, 2);
  }
}

function nearest(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  return value;
}
