/**
 * The one door that all text passes on its way into a result, an event or a log: known values and key names are hidden.
 *
 * Invariants: total, and fails closed: what cannot be read is hidden whole. Redaction comes before truncation, and where
 * a text was cut already, a value's torn rest at the cut is hidden too. Deliberately absent: encodings of values
 * (base64, URL, JSON escapes) and values that only a stream's next piece completes.
 */

export const PLACEHOLDER = '[redacted]';

/** Where a text lost what was before or after it. */
export interface Cut {
  readonly start?: boolean;
  readonly end?: boolean;
}

export interface Redactor {
  /** `s` without any known value. */
  text(s: string, cut?: Cut): string;
  /** A plain copy of `x`, without known values and without the values of hidden keys, at any depth. `cut`: of any text in it. */
  plain(x: unknown, cut?: Cut): unknown;
  /** A redactor that knows these values as well, with a count of its own. */
  with(values: readonly string[]): Redactor;
  /** How often this redactor hid something. */
  readonly count: number;
}

/** Compared without case, dashes, underscores and dots; a longer name that ends so is hidden as well. */
const HIDDEN_KEYS = [
  ...['password', 'passwords', 'passwd', 'passphrase', 'secret', 'secrets', 'token', 'authorization', 'apikey'],
  ...['accesskey', 'privatekey', 'secretkey', 'signingkey', 'encryptionkey', 'cookie', 'cookies'],
  ...['credential', 'credentials', 'jwt', 'bearer'],
];
/** A torn rest shorter than this tells too little to hide, and would hide innocent text at every cut. */
const SHORTEST_TORN = 4;
const MAX_DEPTH = 32;
const MAX_NODES = 10_000;

/**
 * Hides `values` wherever they occur, longest first, and the values under `keys` beside the built-in names. Short values
 * are hidden as well: one of a single character makes text unreadable, which is the caller's choice. Empty ones are
 * ignored.
 */
export function createRedactor(known: { values?: readonly string[]; keys?: readonly string[] } = {}): Redactor {
  const keys = [...HIDDEN_KEYS, ...(known.keys ?? []).map(squashed).filter((key) => key !== '')];
  return new KnownValues(known.values ?? [], new RegExp(`(?:${keys.map(literal).join('|')})$`));
}

class KnownValues implements Redactor {
  readonly #values: readonly string[];
  readonly #keys: RegExp;
  readonly #pattern: RegExp | null;
  #count = 0;
  #nodes = 0;
  #cut: Cut | undefined;

  constructor(values: readonly string[], keys: RegExp) {
    this.#values = values.length === 0 ? values : [...new Set(values)].filter((value) => value !== '').sort(byLength);
    this.#keys = keys;
    this.#pattern = this.#values.length === 0 ? null : new RegExp(this.#values.map(literal).join('|'), 'g');
  }

  get count(): number {
    return this.#count;
  }

  with(values: readonly string[]): Redactor {
    return new KnownValues(values.length === 0 ? this.#values : [...this.#values, ...values], this.#keys);
  }

  text(s: string, cut?: Cut): string {
    if (this.#pattern === null) return s;
    try {
      const whole = s.replace(this.#pattern, () => this.#hidden());
      return cut === undefined ? whole : this.#mended(whole, cut);
    } catch {
      return this.#hidden();
    }
  }

  plain(x: unknown, cut?: Cut): unknown {
    this.#nodes = 0;
    this.#cut = cut;
    try {
      return this.#copy(x, []);
    } catch {
      return this.#hidden();
    }
  }

  #hidden(): string {
    this.#count += 1;
    return PLACEHOLDER;
  }

  /** Hides the longest beginning of a value at a cut end, and the longest end of one at a cut start. */
  #mended(s: string, cut: Cut): string {
    let end = s.length;
    let start = 0;
    for (const value of this.#values) {
      for (let length = value.length - 1; length >= SHORTEST_TORN; length -= 1) {
        if (cut.end && s.length - length < end && s.endsWith(value.slice(0, length))) end = s.length - length;
        if (cut.start && length > start && s.startsWith(value.slice(-length))) start = length;
      }
    }
    const rest = s.slice(start, Math.max(start, end));
    return `${start > 0 ? this.#hidden() : ''}${rest}${end < s.length ? this.#hidden() : ''}`;
  }

  #copy(x: unknown, path: readonly object[]): unknown {
    if (typeof x === 'string') return this.text(x, this.#cut);
    if (typeof x === 'number' || typeof x === 'bigint') return this.#number(x);
    if (typeof x === 'boolean' || x == null) return x ?? null;
    if (typeof x !== 'object') return `[${typeof x}]`;
    this.#nodes += 1;
    if (path.length >= MAX_DEPTH || this.#nodes > MAX_NODES) return '[truncated]';
    if (path.includes(x)) return '[circular]';
    const deeper = [...path, x];
    if (Array.isArray(x)) return x.map((item) => this.#copy(item, deeper));
    if (ArrayBuffer.isView(x)) return '[bytes]';
    if ('toJSON' in x && typeof x.toJSON === 'function') return this.#copy(x.toJSON(), deeper);
    const own = x instanceof Error ? { name: x.name, message: x.message, ...(x as object) } : x;
    return Object.fromEntries(
      Object.entries(own).map(([key, value]) => [
        this.text(key, this.#cut),
        value != null && this.#keys.test(squashed(key)) ? this.#hidden() : this.#copy(value, deeper),
      ]),
    );
  }

  #number(x: number | bigint): unknown {
    const text = String(x);
    if (this.text(text) !== text) return PLACEHOLDER;
    return typeof x === 'bigint' ? text : x;
  }
}

/** Hides the built-in key names only. */
export const NOTHING_KNOWN: Redactor = createRedactor();

function byLength(a: string, b: string): number {
  return b.length - a.length;
}
function literal(s: string): string {
  return s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
function squashed(key: string): string {
  return key.toLowerCase().replace(/[-_.\s]+/g, '');
}
