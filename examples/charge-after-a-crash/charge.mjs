// Charges an order, once for each key. When its host dies while it waits, somebody can ask the server.
import { NotAppliedError } from 'leasehold/worker';

export default async function charge({ url, order }, ctx) {
  return ctx.perform({ name: 'charge', key: order, onAmbiguous: 'reconcile' }, async (key) => {
    const headers = { 'idempotency-key': key, connection: 'close' };
    const answer = await fetch(url, { method: 'POST', headers, signal: ctx.signal });
    if (!answer.ok) throw new NotAppliedError(`refused with ${answer.status}`);
    return { charged: key };
  });
}
