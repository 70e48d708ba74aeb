/**
 * FormMatcher: finds every known form in bytes, in one pass (Aho and Corasick's automaton).
 *
 * Invariants: the time is linear in the bytes, whatever the values; overlapping forms are all found; after each byte it is
 * known how much of the end could still become a form, so a pass may stop and go on at any byte. The tables, about 22 bytes
 * for each byte of the forms, are made when the first bytes come. Deliberately absent: what is done about a find.
 */
import { formsOf } from './known-forms.ts';

/** Bytes from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a text lost what was before or after it. */
export interface Cut {
  readonly start?: boolean;
  readonly end?: boolean;
}

export class FormMatcher {
  /** Bytes of the longest form. */
  readonly longest: number;
  /** Bytes of all forms. */
  readonly size: number;
  readonly #forms: readonly Buffer[];
  #tables: Tables | null = null;

  private constructor(forms: readonly Buffer[], size: number) {
    this.#forms = forms;
    this.size = size;
    this.longest = forms.reduce((longest, { length }) => Math.max(longest, length), 0);
  }

  /** Null when the forms of `values` have more than `mostBytes` together. */
  static of(values: readonly string[], mostBytes: number): FormMatcher | null {
    const forms = new Map<string, Buffer>();
    let size = 0;
    for (const value of values) {
      // The value itself is one of its forms: what cannot fit is not even encoded.
      if (!forms.has(value) && size + value.length > mostBytes) return null;
      for (const form of formsOf(value)) {
        if (forms.has(form)) continue;
        const bytes = Buffer.from(form);
        forms.set(form, bytes);
        size += bytes.length;
      }
    }
    return size > mostBytes ? null : new FormMatcher([...forms.values()], size);
  }

  /**
   * Adds to `spans` each form that ends in `bytes`, which stand at `offset`; a form may begin before them. Starts in `state`, 0 at
   * the beginning, and returns the state at their end.
   */
  scan(bytes: Uint8Array, state: number, offset: number, spans: Span[]): number {
    this.#tables ??= tablesOf(this.#forms, this.size);
    const { root, byteOf, child, sibling, fail, found } = this.#tables;
    let at = state;
    for (let i = 0; i < bytes.length; i += 1) {
      const byte = bytes[i] as number;
      let next = 0;
      for (;;) {
        if (at === 0) {
          next = root[byte] as number;
          break;
        }
        next = child[at] as number;
        while (next !== 0 && byteOf[next] !== byte) next = sibling[next] as number;
        if (next !== 0) break;
        at = fail[at] as number;
      }
      at = next;
      const length = found[at] as number;
      if (length > 0) addFound(spans, offset + i + 1 - length, offset + i + 1);
    }
    return at;
  }

  /** How many bytes at the end, in this state, begin a form that is not there whole. */
  openIn(state: number): number {
    return this.#tables?.open[state] ?? 0;
  }

  /** Adds to `spans` what is left of a form at the cuts of `bytes`, which end in `state`; a few bytes tell too little to hide. */
  addTorn(bytes: Uint8Array, state: number, cut: Cut, spans: Span[]): void {
    const { length } = bytes;
    const ending = cut.start ? this.endsWithin(bytes) : 0;
    const open = cut.end ? this.openIn(state) : 0;
    if (ending >= SHORTEST_TORN) spans.push({ start: 0, end: ending });
    if (open >= SHORTEST_TORN) spans.push({ start: length - open, end: length });
    const isBetween =
      cut.start && cut.end && length >= SHORTEST_TORN && this.#forms.some((form) => form.indexOf(bytes) >= 0);
    if (isBetween) spans.push({ start: 0, end: length });
  }

  /** How many bytes at the beginning of `bytes` are the end of a form that is not there whole. */
  endsWithin(bytes: Uint8Array): number {
    const start = bytes.subarray(0, Math.max(0, this.longest - 1));
    const borders = bordersOf(start);
    let most = 0;
    for (const form of this.#forms) {
      let length = 0;
      for (let i = 1; i < form.length; i += 1) {
        while (length > 0 && (length === start.length || form[i] !== start[length])) length = borders[length - 1] ?? 0;
        if (form[i] === start[length]) length += 1;
      }
      most = Math.max(most, length);
    }
    return most;
  }
}

function addFound(spans: Span[], start: number, end: number): void {
  const last = spans.at(-1);
  // A value that overlaps itself would be found at each byte.
  if (last !== undefined && start < last.end && last.start < end) {
    spans[spans.length - 1] = { start: Math.min(start, last.start), end: Math.max(end, last.end) };
  } else spans.push({ start, end });
}

/** A torn rest of fewer bytes would hide innocent text at every cut. */
const SHORTEST_TORN = 4;

/** Ascending, without overlap: those that overlap are one. Those that only touch are not. */
export function united(spans: readonly Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  const all: Span[] = [];
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1);
    if (last === undefined || start >= last.end) all.push({ start, end });
    else if (end > last.end) all[all.length - 1] = { start: last.start, end };
  }
  return all;
}

/** A tree of all forms by their bytes; node 0 is its root, and no node's child. */
interface Tables {
  /** The children of the root, by byte. */
  readonly root: Int32Array;
  readonly byteOf: Uint8Array;
  readonly child: Int32Array;
  readonly sibling: Int32Array;
  /** The node of the longest other end of a node's bytes that is in the tree. */
  readonly fail: Int32Array;
  /** Length of the longest form that a node's bytes end with; 0 for none. */
  readonly found: Int32Array;
  /** Length of the longest end of a node's bytes that a longer form begins with. */
  readonly open: Int32Array;
}

function tablesOf(forms: readonly Uint8Array[], size: number): Tables {
  const root = new Int32Array(256);
  const byteOf = new Uint8Array(size + 1);
  const [child, sibling, fail, found, open] = Array.from({ length: 5 }, () => new Int32Array(size + 1)) as [
    ...[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array],
  ];
  const childOf = (node: number, byte: number): number => {
    if (node === 0) return root[byte] as number;
    let next = child[node] as number;
    while (next !== 0 && byteOf[next] !== byte) next = sibling[next] as number;
    return next;
  };
  let nodes = 0;
  for (const form of forms) {
    let at = 0;
    for (const byte of form) {
      let next = childOf(at, byte);
      if (next === 0) {
        nodes += 1;
        next = nodes;
        byteOf[next] = byte;
        if (at === 0) root[byte] = next;
        else {
          sibling[next] = child[at] as number;
          child[at] = next;
        }
      }
      at = next;
    }
    found[at] = form.length;
  }
  // Level by level, since a node's `fail` is nearer to the root than the node.
  const order = new Int32Array(nodes);
  let filled = 0;
  for (const next of root) if (next !== 0) order[filled++] = next;
  const depth = new Int32Array(nodes + 1).fill(1);
  for (const node of order) {
    const other = fail[node] as number;
    if (found[node] === 0) found[node] = found[other] as number;
    open[node] = child[node] === 0 ? (open[other] as number) : (depth[node] as number);
    for (let next = child[node] as number; next !== 0; next = sibling[next] as number) {
      const byte = byteOf[next] as number;
      depth[next] = (depth[node] as number) + 1;
      let from = other;
      while (from !== 0 && childOf(from, byte) === 0) from = fail[from] as number;
      fail[next] = childOf(from, byte);
      order[filled++] = next;
    }
  }
  return { root, byteOf, child, sibling, fail, found, open };
}

/** For each beginning of `bytes`, the length of its longest other beginning that it also ends with. */
function bordersOf(bytes: Uint8Array): Int32Array {
  const borders = new Int32Array(bytes.length);
  let length = 0;
  for (let i = 1; i < bytes.length; i += 1) {
    while (length > 0 && bytes[i] !== bytes[length]) length = borders[length - 1] as number;
    if (bytes[i] === bytes[length]) length += 1;
    borders[i] = length;
  }
  return borders;
}
