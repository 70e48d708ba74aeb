// Rounds: all contenders are measured in turn, several times, each round beginning with another one.
//
// So a machine that grows slow or warm meets all of them alike, and what is compared stems from one run.

/**
 * Opens every contender, warms it, measures it `rounds` times by `figure(pool)` and closes it.
 * Resolves with the raw figures by name.
 */
export async function alternate({ contenders, rounds, open, warm, figure }) {
  const names = Object.keys(contenders);
  const pools = new Map();
  try {
    for (const name of names) {
      const pool = contenders[name](open);
      pools.set(name, pool);
      await pool.ready?.();
      await warm(pool);
    }
    const figures = Object.fromEntries(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const index of names.keys()) {
        const name = names[(index + round) % names.length];
        figures[name].push(await figure(pools.get(name)));
      }
    }
    return figures;
  } finally {
    for (const [name, pool] of pools) await closeWithin(CLOSE_MS, name, pool);
  }
}

/** Not every peer bounds its close: poolifier's was seen to wait for ever. */
const CLOSE_MS = 1_000;

async function closeWithin(ms, name, pool) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(console.log(`  ${name} did not close within ${ms} ms`)), ms);
  });
  await Promise.race([pool.close(), late]);
  clearTimeout(timer);
}

export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Runs `count` tasks, at most `width` at once. */
export async function keepBusy(pool, count, width, task, argument) {
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await pool.run(task, argument);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** Collects garbage without a flag on the command line. */
export async function collectGarbage() {
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import('node:v8'), import('node:vm')]);
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  for (let pass = 0; pass < 3; pass += 1) {
    gc();
    await new Promise(setImmediate);
  }
}

/** Milliseconds that `work` takes. */
export async function timed(work) {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
