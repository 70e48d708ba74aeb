// A tool with a declared effect, and what `indeterminate` looks like.
//
//   node examples/charge-once/charge-once.mjs
//
// The charge goes to a small payment server in this process. Three orders: one is charged, one is refused, and one gets
// no answer before its deadline. Only the last may not be repeated blindly, and only the last says so.
import { createServer } from 'node:http';
import { createSupervisor, defineTool, unwrap } from 'leasehold';
import { z } from 'zod';

const payments = createServer((request, response) => {
  const order = request.headers['idempotency-key'];
  if (order === 'order-1') response.end();
  if (order === 'order-2') response.writeHead(402).end();
  // order-3: taken, and never answered.
});
await new Promise((listening) => payments.listen(0, '127.0.0.1', listening));

const charge = defineTool({
  name: 'charge',
  module: new URL('./charge.mjs', import.meta.url),
  input: z.object({ url: z.url(), order: z.string() }),
  effects: 'declared',
  runTimeoutMs: 500,
  graceMs: 200,
});

const supervisor = createSupervisor({ isolates: 1 });
const url = `http://127.0.0.1:${payments.address().port}`;
for (const order of ['order-1', 'order-2', 'order-3']) {
  const result = await supervisor.runTool(charge, { url, order });
  const effects = result.intents.map(({ name, key, state }) => `${name} ${key} ${state}`).join(', ');
  console.log(`${order}: ${result.status}; ${effects}`);
  try {
    unwrap(result);
  } catch (error) {
    console.log(`  ${error.name}: retrySafe ${error.retrySafe}`);
  }
}

await supervisor.close();
payments.closeAllConnections();
payments.close();
