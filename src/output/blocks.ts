/**
 * A row of bytes that grows at its end and shrinks at its front.
 *
 * Invariants: a large piece is kept as it came, never copied; small ones are gathered, so a million single bytes cost a
 * million bytes. What was appended belongs to the row. Deliberately absent: limits.
 */

const SMALL = 1_024;
const ROOM = 8_192;

export class Blocks {
  #list: Uint8Array[] = [];
  /** The memory of the last block while small pieces may still be added to it. */
  #room: Uint8Array | null = null;
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    if (bytes.length >= SMALL) {
      this.#room = null;
      this.#list.push(bytes);
      return;
    }
    if (this.#room === null || this.#used + bytes.length > ROOM) {
      this.#room = new Uint8Array(ROOM);
      this.#used = 0;
      this.#list.push(this.#room.subarray(0, 0));
    }
    const last = this.#list.length - 1;
    const shown = this.#list[last]?.length ?? 0;
    this.#room.set(bytes, this.#used);
    this.#used += bytes.length;
    this.#list[last] = this.#room.subarray(this.#used - bytes.length - shown, this.#used);
  }

  /** Forgets the first `count` bytes. */
  dropFront(count: number): void {
    let left = Math.min(count, this.#length);
    this.#length -= left;
    let whole = 0;
    for (const block of this.#list) {
      if (block.length > left) break;
      left -= block.length;
      whole += 1;
    }
    if (whole > 0) this.#list.splice(0, whole);
    const first = this.#list[0];
    if (first === undefined) this.#room = null;
    else if (left > 0) this.#list[0] = first.subarray(left);
  }

  clear(): void {
    this.#list = [];
    this.#room = null;
    this.#length = 0;
  }

  /** All bytes, as one copy. */
  join(): Uint8Array {
    const joined = new Uint8Array(this.#length);
    let at = 0;
    for (const block of this.#list) {
      joined.set(block, at);
      at += block.length;
    }
    return joined;
  }
}
