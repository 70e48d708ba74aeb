// A batch in a scope: everything that belongs together is started through one scope, and ends with it.
//
//   node examples/cancellable-batch/cancellable-batch.mjs
//
// Counts primes in twelve ranges and cancels the batch after the fourth answer. What was finished is kept, what ran is
// stopped, what waited never starts, and `shutdown` returns only after all of it has ended.
import { createSupervisor, defineTool } from 'leasehold';
import { z } from 'zod';

const countPrimes = defineTool({
  name: 'count-primes',
  module: new URL('./count-primes.mjs', import.meta.url),
  input: z.object({ from: z.int(), to: z.int() }),
  output: z.int(),
  effects: 'none',
  graceMs: 200,
});

const supervisor = createSupervisor({ isolates: 2 });
const batch = supervisor.openScope({ tenant: 'acme', run: 'primes', deadlineMs: 30_000 });

let answered = 0;
const results = await Promise.all(
  Array.from({ length: 12 }, async (_, index) => {
    const result = await batch.runTool(countPrimes, { from: index * 100_000, to: (index + 1) * 100_000 });
    if (result.ok && ++answered === 4) batch.cancel('four answers are enough');
    return result;
  }),
);
await batch.shutdown();

for (const [index, result] of results.entries()) {
  const ran = result.lease?.path.includes('running') ? 'had started' : 'never started';
  console.log(`range ${index + 1}: ${result.status} ${result.ok ? `(${result.value} primes)` : `(${ran})`}`);
}
const count = (status) => results.filter((result) => result.status === status).length;
console.log(`${count('succeeded')} succeeded, ${count('cancelled')} cancelled: ${results.length} of 12 answered`);

await supervisor.close();
