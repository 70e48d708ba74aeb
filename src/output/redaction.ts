/**
 * The one door that all text passes on its way into a result, an event or a log: known values and key names are hidden.
 *
 * Invariants: total, and fails closed: what cannot be read is hidden whole. Redaction comes before truncation, and where
 * a text was cut already, a value's torn rest at the cut is hidden too. Known values are searched in UTF-8, so that bytes and
 * text are judged alike. Deliberately absent: the forms of a value (`known-forms.ts`) and the search (`form-matcher.ts`).
 */
import { invalidOption } from '../model/errors.ts';
import { type Cut, FormMatcher, type Span, united } from './form-matcher.ts';
import { PLACEHOLDER, veiled } from './placeholder.ts';
import { plainCopy } from './plain-copy.ts';
import { RedactedStream } from './redacted-stream.ts';

export type { Cut } from './form-matcher.ts';
export { PLACEHOLDER } from './placeholder.ts';

export interface Redactor {
  /** `s` without any known value. A lone surrogate becomes U+FFFD where something was hidden. */
  text(s: string, cut?: Cut): string;
  /** A plain copy of `x`, without known values and without the values of hidden keys, at any depth. `cut`: of any text in it. */
  plain(x: unknown, cut?: Cut): unknown;
  /** Where known values stand in bytes of UTF-8: ascending, without overlap. */
  spans(bytes: Uint8Array, cut?: Cut): readonly Span[];
  /** The same for bytes that come piece by piece. */
  stream(): RedactedStream;
  /** Bytes of the longest form of any known value; 0 when nothing is known. */
  readonly longest: number;
  /** A redactor that knows these values as well; null when all it would know is over `FORMS_BYTES`. */
  with(values: readonly string[]): Redactor | null;
}

/** The most that all forms of all known values may have together, in bytes: about 40 KiB of values. */
export const FORMS_BYTES = 512 * 1024;

/** Compared without case, dashes, underscores and dots; a longer name that ends so is hidden as well. */
const HIDDEN_KEYS = [
  ...['password', 'passwords', 'passwd', 'passphrase', 'secret', 'secrets', 'token', 'authorization', 'apikey'],
  ...['accesskey', 'privatekey', 'secretkey', 'signingkey', 'encryptionkey', 'cookie', 'cookies'],
  ...['credential', 'credentials', 'jwt', 'bearer'],
];
const NO_SPANS: readonly Span[] = Object.freeze([]);

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Hides `values` wherever they occur, also encoded, and the values under `keys` beside the built-in names. Short values
 * are hidden as well: one of a single character makes text unreadable, which is the caller's choice. Empty ones are
 * ignored.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` when the forms of all values are over `FORMS_BYTES`
 */
export function createRedactor(known: { values?: readonly string[]; keys?: readonly string[] } = {}): Redactor {
  const keys = [...HIDDEN_KEYS, ...(known.keys ?? []).map(squashed).filter((key) => key !== '')];
  const redactor = new KnownValues([], new RegExp(`(?:${keys.map(literal).join('|')})$`)).with(known.values ?? []);
  if (redactor !== null) return redactor;
  const range = `values whose encoded forms have at most ${FORMS_BYTES} bytes together, about 40 KiB of values`;
  throw invalidOption('redact.values', known.values, range);
}

class KnownValues implements Redactor {
  readonly longest: number;
  /** One per set of values that came together, so that a request does not pay for the supervisor's again. */
  readonly #layers: readonly FormMatcher[];
  readonly #keys: RegExp;

  constructor(layers: readonly FormMatcher[], keys: RegExp) {
    this.#layers = layers;
    this.#keys = keys;
    this.longest = layers.reduce((most, { longest }) => Math.max(most, longest), 0);
  }

  with(values: readonly string[]): Redactor | null {
    const distinct = new Set(values);
    distinct.delete('');
    if (distinct.size === 0) return this;
    const room = this.#layers.reduce((left, { size }) => left - size, FORMS_BYTES);
    const layer = FormMatcher.of([...distinct], room);
    return layer && new KnownValues([...this.#layers, layer], this.#keys);
  }

  text(s: string, cut?: Cut): string {
    if (this.#layers.length === 0 || s === '') return s;
    try {
      const bytes = Buffer.from(s);
      const spans = this.spans(bytes, cut);
      return spans.length === 0 ? s : decoder.decode(veiled(bytes, spans).bytes);
    } catch {
      return PLACEHOLDER;
    }
  }

  plain(x: unknown, cut?: Cut): unknown {
    return plainCopy(x, { text: (s) => this.text(s, cut), isHidden: (key) => this.#keys.test(squashed(key)) });
  }

  spans(bytes: Uint8Array, cut?: Cut): readonly Span[] {
    if (this.#layers.length === 0) return NO_SPANS;
    const spans: Span[] = [];
    for (const layer of this.#layers) {
      const state = layer.scan(bytes, 0, 0, spans);
      if (cut !== undefined) layer.addTorn(bytes, state, cut, spans);
    }
    return united(spans);
  }

  stream(): RedactedStream {
    return new RedactedStream(this.#layers);
  }
}

/** Hides the built-in key names only. */
export const NOTHING_KNOWN: Redactor = createRedactor();

function literal(s: string): string {
  return s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
function squashed(key: string): string {
  return key.toLowerCase().replace(/[-_.\s]+/g, '');
}
