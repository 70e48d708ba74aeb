// Charges an order through one declared effect.
import { NotAppliedError } from 'leasehold/worker';

export default async function charge({ url, order }, ctx) {
  return ctx.perform({ name: 'charge', key: order }, async (key) => {
    const headers = { 'idempotency-key': key, connection: 'close' };
    const answer = await fetch(url, { method: 'POST', headers, signal: ctx.signal });
    // The server told us that nothing happened. An aborted fetch tells us nothing, and is left to throw.
    if (!answer.ok) throw new NotAppliedError(`refused with ${answer.status}`);
    return { charged: key };
  });
}
