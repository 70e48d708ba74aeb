/**
 * A value as text for standard output.
 *
 * Invariant: total: every value a tool can return has a text, and JSON-safe values have their JSON.
 * What JSON lacks is written as its nearest form: big integers as strings, bytes in base64, maps and sets as arrays.
 * Deliberately absent: what is to be hidden; `hide` takes it out of each text, and the text stays JSON.
 */
import { inspect } from 'node:util';

type Hide = (text: string) => string;
const NOTHING: Hide = (text) => text;

/** The JSON text of a value; the text of `util.inspect` where there is none; `''` for `undefined`. */
export function valueText(value: unknown, hide: Hide = NOTHING): string {
  if (value === undefined) return '';
  try {
    return hide(JSON.stringify(value, nearestOf(hide), 2) ?? inspect(value));
  } catch {
    return hide(inspect(value, { depth: 8 }));
  }
}

/** The JSON text of a result, its value included. A value without JSON becomes the text of `util.inspect`. */
export function resultText(result: { readonly value?: unknown }, hide: Hide = NOTHING): string {
  try {
    return hide(JSON.stringify(result, nearestOf(hide), 2));
  } catch {
    return hide(JSON.stringify({ ...result, value: inspect(result.value, { depth: 8 }) }, null, 2));
  }
}

/** A number that is to be hidden becomes a text: hidden in the JSON itself, it would be none any more. */
function nearestOf(hide: Hide): (key: string, value: unknown) => unknown {
  return (_key, value) => {
    if (typeof value === 'string') return hide(value);
    if (typeof value === 'number') return hide(String(value)) === String(value) ? value : hide(String(value));
    if (typeof value === 'bigint') return value.toString();
    if (value instanceof Map || value instanceof Set) return [...value];
    if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
    if (ArrayBuffer.isView(value))
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    return value;
  };
}
