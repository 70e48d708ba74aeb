/**
 * RedactedStream: text from bytes that come piece by piece, with neither a character nor a known value torn by their borders.
 *
 * Invariants: all that was told together is what the whole would have become at once; held back is only what could still
 * become a known form, which is less than the longest of them, and the beginning of a character. Nothing of the pieces is kept
 * but copies. Deliberately absent: which streams there are, and who hears it.
 */
import { type Cut, type FormMatcher, type Span, united } from './form-matcher.ts';
import { joined, PLACEHOLDER } from './placeholder.ts';

const NOTHING = new Uint8Array(0);

export class RedactedStream {
  readonly #layers: readonly FormMatcher[];
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #states: number[];
  #held: Uint8Array = NOTHING;
  /** Known forms that begin in what is held. */
  #spans: readonly Span[] = [];
  /** How much of what is held stands behind a placeholder that was told. */
  #covered = 0;
  /** Bytes were lost before what is held, which may begin with the end of a known form. */
  #opening = false;

  constructor(layers: readonly FormMatcher[]) {
    this.#layers = layers;
    this.#states = layers.map(() => 0);
  }

  /** What may be seen of all that came, as far as it was not seen. */
  write(bytes: Uint8Array): string {
    const all = this.#held.length === 0 ? bytes : joined(this.#held, bytes);
    const spans = [...this.#spans];
    let open = 0;
    for (const [i, layer] of this.#layers.entries()) {
      const state = layer.scan(bytes, this.#states[i] ?? 0, this.#held.length, spans);
      this.#states[i] = state;
      open = Math.max(open, layer.openIn(state));
    }
    if (this.#opening) {
      if (all.length < this.#most) open = all.length;
      else this.#addTorn(all, { start: true }, spans);
    }
    return this.#tell(all, spans, all.length - open);
  }

  /** What was held back, torn at its end: after it bytes were lost. */
  cut(): string {
    const text = this.end(true);
    this.#opening = this.#most > 0;
    return text;
  }

  /** What was held back: nothing follows. `torn`: something would have. */
  end(torn: boolean): string {
    const held = this.#held;
    const spans = [...this.#spans];
    this.#addTorn(held, { start: this.#opening, end: torn }, spans);
    const text = this.#tell(held, spans, held.length) + this.#decoder.decode();
    this.#states.fill(0);
    this.#covered = 0;
    return text;
  }

  /** More bytes are never held back. */
  get #most(): number {
    return this.#layers.reduce((most, { longest }) => Math.max(most, longest - 1), 0);
  }

  #addTorn(all: Uint8Array, cut: Cut, spans: Span[]): void {
    this.#opening = false;
    for (const [i, layer] of this.#layers.entries()) layer.addTorn(all, this.#states[i] ?? 0, cut, spans);
  }

  /** Tells `all` up to `until`, and each known form that begins before it whole; the rest is held. */
  #tell(all: Uint8Array, spans: readonly Span[], until: number): string {
    if (until === 0) {
      this.#spans = spans;
      this.#held = new Uint8Array(all);
      return '';
    }
    const covered: readonly Span[] = this.#covered > 0 ? [{ start: 0, end: this.#covered }] : [];
    const later: Span[] = [];
    let text = '';
    let at = 0;
    for (const span of united([...covered, ...spans])) {
      if (span.start >= until) {
        later.push({ start: span.start - until, end: span.end - until });
        continue;
      }
      const told = span.start === 0 && covered.length > 0;
      if (!told) text += this.#decoded(all.subarray(at, span.start)) + PLACEHOLDER;
      at = span.end;
    }
    if (at < until) text += this.#decoder.decode(all.subarray(at, until), { stream: true });
    this.#covered = Math.max(0, at - until);
    this.#spans = later;
    this.#held = until === all.length ? NOTHING : new Uint8Array(all.subarray(until));
    return text;
  }

  /** Text that ends here, also within a character. */
  #decoded(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true }) + this.#decoder.decode();
  }
}
