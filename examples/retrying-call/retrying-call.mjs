// An HTTP call that is tried again, and why it charges once all the same.
//
//   node examples/retrying-call/retrying-call.mjs
//
// A payment server in this process takes the charge and never answers; then it is busy; then it answers. The first failure
// leaves open what happened, so the effect says that it may be repeated under its key. All three calls carry that one key.
import { createServer } from 'node:http';
import { createSupervisor, defineTool, unwrap } from 'leasehold';
import { z } from 'zod';

const charges = new Map();
const keys = [];
const payments = createServer((request, response) => {
  const key = request.headers['idempotency-key'];
  keys.push(key);
  if (!charges.has(key)) charges.set(key, `charge ${charges.size + 1}`);
  // Taken, and never answered.
  if (keys.length === 1) return;
  response.writeHead(keys.length === 2 ? 503 : 200).end(charges.get(key));
});
await new Promise((listening) => payments.listen(0, '127.0.0.1', listening));

const charge = defineTool({
  name: 'charge',
  module: new URL('./charge.mjs', import.meta.url),
  input: z.object({ url: z.url() }),
  effects: 'declared',
  runTimeoutMs: 400,
  graceMs: 200,
});

const supervisor = createSupervisor({ isolates: 1 });
const result = await supervisor.runTool(
  charge,
  { url: `http://127.0.0.1:${payments.address().port}` },
  {
    idempotencyKey: 'order-7',
    // One budget over all attempts and the waits between them.
    operationTimeoutMs: 20_000,
    retry: {
      attempts: 5,
      backoff: { initialMs: 50 },
      // Asked after each attempt that may be repeated. While the first call is open, so is the request.
      when: ({ status }) => status === 'indeterminate',
    },
  },
);
for (const { number, status } of result.request.attempts) console.log(`attempt ${number}: ${status}`);
console.log(`answer: ${unwrap(result)}`);
console.log(`${keys.length} calls, ${new Set(keys).size} key, ${charges.size} charge`);

await supervisor.close();
payments.closeAllConnections();
payments.close();
