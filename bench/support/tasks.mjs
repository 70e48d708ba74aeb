// The work every contender does: plain functions of one argument, the same module for all of them.
export function add({ a, b }) {
  return a + b;
}

export function empty() {}

export function measureBytes(bytes) {
  return bytes.byteLength;
}

/** Keeps the thread busy for so many milliseconds. */
export function spin(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Tells through shared memory that it runs, and never ends. */
export function hang(started) {
  Atomics.store(new Int32Array(started), 0, 1);
  for (;;);
}
