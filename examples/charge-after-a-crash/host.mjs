// The host: recovers what an earlier one left open, then charges what is not charged yet.
import { join } from 'node:path';
import { createSupervisor, defineTool } from 'leasehold';
import { sqliteEventLog } from 'leasehold/sqlite';
import { z } from 'zod';

const [, , folder, url] = process.argv;
const charge = defineTool({
  name: 'charge',
  module: new URL('./charge.mjs', import.meta.url),
  input: z.object({ url: z.url(), order: z.string() }),
  effects: 'declared',
});

const eventLog = await sqliteEventLog({ file: join(folder, 'runs.db') });
const supervisor = createSupervisor({
  isolates: 2,
  eventLog,
  reconcile: {
    // Only asks. The key of the intent is what the server knows the charge by.
    async charge({ key }, { signal }) {
      const { status } = await fetch(`${url}/${key}`, { headers: { connection: 'close' }, signal });
      return { verdict: status === 200 ? 'applied' : 'not-applied', evidence: { status } };
    },
  },
});

const { closed, reconciled, rerunnable } = await supervisor.recover();
for (const { key, verdict } of reconciled) console.log(`${key}: nobody knew; the server says ${verdict}`);
for (const { input } of rerunnable) console.log(`${input.order}: had not begun`);

const orders = [
  ...reconciled.filter(({ verdict }) => verdict === 'not-applied').map(({ key }) => key),
  ...rerunnable.map(({ input }) => input.order),
];
if (closed.length === 0) orders.push('order-1', 'order-2', 'order-3', 'order-4');
// The first alone, so that it is answered before the crash.
await run(orders.shift());
await Promise.all(orders.map(run));
await supervisor.close();
await eventLog.close();

async function run(order) {
  const { status, durability } = await supervisor.runTool(charge, { url, order });
  console.log(`${order}: ${status}, ${durability}`);
}
