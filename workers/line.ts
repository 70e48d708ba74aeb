/**
 * Line: what waits, first come first served, in a process that is shared with a tool.
 *
 * Invariant: nothing that waits can be met by a tool: no place of the line is found by an index or along a prototype.
 * Deliberately absent: a limit.
 */

interface Place<T> {
  readonly item: T;
  next: Place<T> | null;
}

export interface Line<T> {
  /** The one that came first; null when nobody waits. */
  first(): T | null;
  add(item: T): void;
  /** Takes the first out. */
  drop(): void;
}

export function openLine<T>(): Line<T> {
  let first: Place<T> | null = null;
  let last: Place<T> | null = null;
  return {
    first: () => (first === null ? null : first.item),
    add(item) {
      const place = { item, next: null };
      if (last === null) first = place;
      else last.next = place;
      last = place;
    },
    drop() {
      if (first === null) return;
      first = first.next;
      if (first === null) last = null;
    },
  };
}
